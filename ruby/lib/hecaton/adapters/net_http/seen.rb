# Requests of Net::HTTP are shown to WebMock's adapter for Net::HTTP, and not to its adapter for Hecaton.
module Hecaton
  class NetHTTP
    # Called around each request.
    module Seen
      module_function

      # Yields; past WebMock if the object is a Net::HTTP that was replaced. When WebMock's adapter for that is on it
      # has seen the request, and when it is off (`except: [:net_http]`) nobody is to see it.
      def once(http, &block)
        webmock_knows?(http) ? Interception.bypass(:webmock, &block) : yield
      end

      def webmock_knows?(http) = defined?(::WebMock::HttpLibAdapters::NetHttpAdapter) && !http.is_a?(NetHTTP)
      private_class_method :webmock_knows?
    end
  end
end
