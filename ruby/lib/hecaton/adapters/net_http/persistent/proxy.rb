# The proxy of a Hecaton::Persistent: a URI, or the environment's.

class Hecaton::Persistent
  # Included by Persistent.
  module Proxy
    # URI::HTTP or nil.
    attr_reader :proxy_uri
    # Array of Strings: ends of hosts, or of "host:port", that are reached without the proxy.
    attr_reader :no_proxy

    # Sets the proxy: a URI::HTTP, whose query may have no_proxy=…; :ENV; or nil. Connections are opened anew.
    def proxy=(proxy)
      @proxy_uri =
        case proxy
        when :ENV then proxy_from_env
        when URI::HTTP, nil then proxy
        else raise ArgumentError, "proxy must be :ENV or a URI::HTTP"
        end
      lists = URI.decode_www_form(@proxy_uri&.query || "").filter_map { |name, value| value if name == "no_proxy" }
      @no_proxy = lists.join(",").downcase.split(",").map(&:strip).reject(&:empty?)
      reconnect
    end

    # URI of the environment's http_proxy, with no_proxy in its query; nil for none.
    def proxy_from_env
      proxy = from_environment("http_proxy") or return
      unless_for = from_environment("no_proxy")
      return if unless_for == "*"

      uri = URI(normalize_uri(proxy))
      uri.query = URI.encode_www_form(no_proxy: unless_for) if unless_for
      unless uri.user || uri.password
        uri.user = escape(from_environment("http_proxy_user"))
        uri.password = escape(from_environment("http_proxy_pass"))
      end
      uri
    end

    # Whether this host is reached without the proxy.
    def proxy_bypass?(host, port)
      host = host.downcase
      @no_proxy.any? { |name| host.end_with?(name) || "#{host}:#{port}".end_with?(name) }
    end

    # The URI, a String, with http:// before it if it has no scheme.
    def normalize_uri(uri) = uri.match?(/\Ahttps?:/) ? uri : "http://#{uri}"

    # Percent-encoded; nil for nil.
    def escape(text) = (URI.encode_www_form_component(text) if text)

    # The text that was encoded; nil for nil.
    def unescape(text) = (URI.decode_www_form_component(text) if text)

    private

    def from_environment(name)
      value = ENV[name] || ENV[name.upcase]
      value unless value.nil? || value.empty?
    end

    # The proxy arguments of Net::HTTP.new, which come after host and port.
    def proxy_for(host, port)
      return [nil] if @proxy_uri.nil? || proxy_bypass?(host, port)

      [@proxy_uri.hostname, @proxy_uri.port, unescape(@proxy_uri.user), unescape(@proxy_uri.password)]
    end
  end
end
