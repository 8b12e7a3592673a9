# Requests that WebMock's adapter for Net::HTTP has seen are not shown to its adapter for Hecaton again.
module Hecaton
  class NetHTTP
    # Asked around each request.
    module Seen
      module_function

      # Yields, past WebMock if the object is of the class that it puts in the place of Net::HTTP.
      def once(http, &block)
        webmock?(http) ? Interception.bypass(:webmock, &block) : yield
      end

      def webmock?(http)
        return false unless defined?(::WebMock::HttpLibAdapters::NetHttpAdapter)

        stand_in = ::WebMock::HttpLibAdapters::NetHttpAdapter.instance_variable_get(:@webMockNetHTTP)
        stand_in ? http.is_a?(stand_in) : false
      end
      private_class_method :webmock?
    end
  end
end
