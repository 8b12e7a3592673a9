# Requests that WebMock's adapter for Net::HTTP has seen are not shown to its adapter for Hecaton again.
module Hecaton
  class NetHTTP
    # Asked around each request.
    module Seen
      module_function

      # Yields, past WebMock if the object is of the class that it puts in the place of Net::HTTP.
      def once(http, &block)
        webmock_knows?(http) ? Interception.bypass(:webmock, &block) : yield
      end

      def webmock_knows?(http) = defined?(::WebMock::HttpLibAdapters::NetHttpAdapter) && !http.is_a?(NetHTTP)
      private_class_method :webmock_knows?
    end
  end
end
