# proxy and related options → the setting `proxy` of a client.

module Hecaton::Typhoeus
  # Included by Plan.
  module ProxyOptions
    TYPES = [:http, :http_1_0, :https, nil, :socks4, :socks5, :socks4a, :socks5_hostname].freeze
    SCHEMES = { http: "http", https: "https", socks4: "socks4",
                socks4a: "socks4a", socks5: "socks5", socks5_hostname: "socks5h" }.freeze
    # libcurl's, where a proxy is given without a port.
    PORT = 1080
    AUTH = %i[basic any anysafe].freeze
    OF_ENVIRONMENT = %w[http_proxy https_proxy all_proxy].freeze
    private_constant :TYPES, :SCHEMES, :PORT, :AUTH, :OF_ENVIRONMENT

    private

    def set_proxytype(name, value) = @proxy_type = enum(name, value, TYPES)

    def set_proxyuserpwd(_name, value) = @proxy_userpwd = value.to_s.split(":", 2)

    def set_noproxy(_name, value) = setting(:no_proxy, value.to_s)

    def set_proxyauth(name, value)
      kinds = Array(value).map { |kind| kind.is_a?(String) ? kind.to_sym : kind }
      only(name, value, kinds.empty? || (kinds & AUTH).any? || kinds == [1],
        "Hecaton shows itself to proxies by Basic alone.")
    end

    def set_httpproxytunnel(name, value)
      only(name, value, !on?(value),
        "A proxy is handed http requests, and makes a tunnel for https, as without this option.")
    end

    # Called after all options, so their order does not matter.
    def set_up_proxy
      unless @proxy
        return unless ENV.any? { |name, value| OF_ENVIRONMENT.include?(name.downcase) && !value.empty? }

        Refusals.value(:proxy, nil,
          "Give proxy too where proxyuserpwd or proxyusername is for a proxy of the environment.")
      end
      return setting(:proxy, false) if @proxy.empty?

      scheme, rest = @proxy.include?("://") ? @proxy.split("://", 2) : [scheme_of_type, @proxy]
      rest = rest.chomp("/")
      rest = "#{credentials}#{rest}" unless rest.include?("@")
      setting(:proxy, "#{scheme}://#{with_port(rest)}")
    end

    def scheme_of_type
      SCHEMES.fetch(@proxy_type || :http) do
        Refusals.value(:proxytype, @proxy_type, "There are #{SCHEMES.keys.map(&:inspect).join(", ")}.")
      end
    end

    def credentials
      user, password = @proxy_userpwd || [@proxy_user, @proxy_password]
      user ? "#{Query.escaped(user)}:#{Query.escaped(password)}@" : ""
    end

    def with_port(rest)
      return rest.sub(/(?::\d+)?\z/, ":#{@proxy_port}") if @proxy_port&.positive?

      rest.match?(/:\d+\z/) ? rest : "#{rest}:#{PORT}"
    end
  end
end
