# The Cookie header that a jar adds, as far as interceptors may see it.
module Hecaton
  module Interception
    # Which cookies of a jar go to a URL (RFC 6265 §5.4).
    module Jar
      module_function

      # The value of Cookie, nil for none. list is the engine's: eight values a cookie.
      def cookie(list, url)
        scheme, host, path = url.match(%r{\A(https?)://(\[[^\]]*\]|[^:/?#]*)[^/?#]*([^?#]*)}).captures
        sent = list.select do |_, _, domain, host_only, of, secure, _, _|
          (host == domain || (!host_only && host.end_with?(".#{domain}"))) && (!secure || scheme == "https") && below?(path, of)
        end
        sent.sort_by.with_index { |cookie, index| [-cookie[4].size, index] }.map { |name, value, *| "#{name}=#{value}" }.join("; ") unless sent.empty?
      end

      def below?(path, of)
        path = "/" if path.empty?
        path == of || (path.start_with?(of) && (of.end_with?("/") || path[of.size] == "/"))
      end
      private_class_method :below?
    end
  end
end
