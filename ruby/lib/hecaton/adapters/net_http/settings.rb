# The settings of a Net::HTTP object → the settings of a client; a setting that cannot be honoured is refused by name.

class Hecaton::NetHTTP
  # The error for a setting that it cannot honour. The message names the setting and the reason.
  class Refused < ArgumentError; end

  # Called when an object starts, and again when one of its settings has changed.
  module Settings
    # A name, or an address without brackets.
    HOST = %r{\A[^\s\[\]/?#@\\%<>^`{|}"]+\z}
    # An address, which needs no look-up.
    ADDRESS = /\A(?:\d+\.\d+\.\d+\.\d+|.*:.*)\z/
    # Seconds that stand for no limit.
    FOREVER = 10 * 365 * 24 * 3600
    # Bodies have no limit in Net::HTTP.
    UNLIMITED = 2**62
    # Methods of requests that may be sent twice without doing more than once (RFC 9110 §9.2.2).
    IDEMPOTENT = %w[GET HEAD OPTIONS TRACE PUT DELETE].freeze
    private_constant :HOST, :ADDRESS, :FOREVER, :UNLIMITED

    module_function

    # A Hash for Clients. Raises Refused.
    def of(http)
      refuse(http)
      settings = times(http).merge(
        scheme: http.use_ssl? ? "https" : "http", decode: false, max_body: UNLIMITED, lenient: true,
        http: Hecaton::NetHTTP.http, proxy: proxy(http)
      )
      settings[:local_address] = addresses(http, http.local_host).first if http.local_host
      settings[:resolve] = { "#{http.address}:#{http.port}" => addresses(http, http.ipaddr) } if http.ipaddr
      settings.merge!(repeats(http))
      settings.merge!(Tls.of(http)) if http.use_ssl?
      settings.freeze
    end

    # Raises Refused for a setting that is not nil. why ends the sentence.
    def refuse_setting(name, why)
      raise Refused, "#{name} cannot be honoured: #{why}. See the table in docs/from-net-http.md"
    end

    # Raises ArgumentError unless this is a number of connections. or_else ends the sentence.
    def check_count(name, count, or_else = "")
      return if count.is_a?(Integer) && count.positive?

      raise ArgumentError, "#{name} is #{count.inspect}: give an Integer of at least 1#{or_else}"
    end

    # Raises Refused for an address or a port that is none, as Net::HTTP fails for them, and for a port of this side.
    private_class_method def refuse(http)
      if http.address.to_s.empty?
        raise Refused,
          "the address is #{http.address.inspect}: give a host (Net::HTTP takes this for the machine itself)"
      end
      raise Refused, "the address is a #{http.address.class}: give a String" unless http.address.is_a?(String)
      unless http.port.to_s.match?(/\A0*[1-9]\d{0,4}\z/) && http.port.to_i < 65_536
        raise Refused, "the port is #{http.port.inspect}: give a number from 1 to 65535"
      end
      unless http.address.match?(HOST)
        raise Failures.unresolved(http, "#{http.address.inspect} is not the name of a host")
      end

      refuse_setting(:local_port, "the system chooses the port of this side") unless http.local_port.nil?
    end

    # open_timeout holds for each of resolving, connecting and TLS. The wait for the response, and the wait between
    # two pieces of its body, have read_timeout. A timeout of nil is no limit but the total. The limit for writing holds
    # for the whole request, where Net::HTTP's is for each piece, so its default of 60 would end long uploads.
    private_class_method def times(http)
      open, read, write = http.open_timeout, http.read_timeout, http.hecaton_given(:write_timeout)
      open = nil if open == 0 # As by Timeout: no limit.
      total = http.total_timeout || Hecaton::NetHTTP.total_of([open, read, http.write_timeout].compact.sum)
      { timeout: total, connect_timeout: open || total, resolve_timeout: open, tls_timeout: open,
        send_timeout: write, first_byte_timeout: read, read_timeout: read,
        expect_timeout: http.continue_timeout || 0, idle_timeout: http.keep_alive_timeout || FOREVER }
    end

    # The addresses of ipaddr or local_host: itself, or those of a name, which Net::HTTP would look up as well.
    private_class_method def addresses(http, given)
      given = given.to_s
      return [given] if given.match?(ADDRESS)

      require "timeout"
      Timeout.timeout(http.open_timeout, Net::OpenTimeout) {
        Addrinfo.getaddrinfo(given, nil, nil, :STREAM).map(&:ip_address).uniq
      }
    rescue SocketError => error
      raise Failures.unresolved(http, error.message.delete_prefix("getaddrinfo: "))
    end

    # Net::HTTP sends again by itself, once; here that needs max_retries, or a connection that ended before a response.
    # With max_retries, a request is sent that often in all, as there, so the engine must not send it once more.
    private_class_method def repeats(http)
      count = http.hecaton_given(:max_retries) || (1 if http.hecaton_repeated)
      return {} if count.nil?
      return { reconnect: false } if count.zero?

      { reconnect: false,
        retry: { max: count, interval: 0, on: %i[timeout protocol body tls],
                 methods: IDEMPOTENT + http.hecaton_repeated.to_a } }
    end

    # Net::HTTP's own idea of the environment's proxy, false for none. A request that a proxy receives without TLS has
    # the proxy's credentials among its headers.
    private_class_method def proxy(http)
      return false unless http.proxy?

      scheme = http.respond_to?(:proxy_use_ssl) && http.proxy_use_ssl ? "https" : "http"
      login = [http.proxy_user, http.proxy_pass].compact.map { |part| Hecaton::RequestBuilder.escaped(part) }
      user = "#{login.join(":")}@" if http.use_ssl? && http.proxy_user
      host = http.proxy_address.to_s
      host = "[#{host}]" if host.include?(":") && !host.start_with?("[")
      "#{scheme}://#{user}#{host}:#{http.proxy_port}"
    end
  end
end
