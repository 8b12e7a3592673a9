# Makes the settings of a Hecaton::Client from a request of Faraday and the adapter's own options.
class Faraday::Adapter::Hecaton
  # Made by an adapter, once.
  class Settings
    # Seconds for a whole request without a timeout of its own.
    TOTAL = 300
    # Seconds for each phase of such a request, as in Net::HTTP.
    PHASE = 60
    # Settings that Faraday has itself, and settings that connections must not share.
    ELSEWHERE = {
      base_url: "give it to Faraday.new", headers: "give them to Faraday.new",
      basic_auth: "use Faraday's authorization", bearer: "use Faraday's authorization",
      user_agent: "give it to Faraday.new among the headers", raise_for_status: "use the middleware :raise_error",
      app_name: "give X-App-Name to Faraday.new among the headers",
      app_env: "give X-App-Env to Faraday.new among the headers"
    }.freeze
    # Setting → the option of a request that takes precedence over it.
    PHASES = {
      resolve_timeout: :open_timeout, connect_timeout: :open_timeout, tls_timeout: :open_timeout,
      send_timeout: :write_timeout, first_byte_timeout: :read_timeout, read_timeout: :read_timeout
    }.freeze
    # Seconds that no total reaches. The engine limits connecting by default, and Faraday does not.
    NEVER = 86_400
    private_constant :ELSEWHERE, :PHASES, :NEVER

    # options:: the adapter's, keywords of Hecaton::Client.new. With a block, yields them as a Hash to be filled.
    def initialize(options)
      @options = options.to_h.transform_keys(&:to_sym)
      yield @options if block_given?
      refused = @options.keys.find { |name| ELSEWHERE.key?(name) }
      Errors.refuse("adapter :hecaton: #{refused} is not an option of it: #{ELSEWHERE[refused]}") if refused
      if @options[:cookies] == true
        Errors.refuse("adapter :hecaton: cookies: true would share one jar " \
          "with all who have these settings: give a Hecaton::Cookies")
      end
      check_values
      @options.freeze
      @decode = @options[:decode] != false
      most = @options[:redirects]
      @redirects = most == true || (most.is_a?(Integer) && most.positive?)
    end

    # Whether bodies are decoded, unless a request sets that itself.
    def decode? = @decode

    # Whether redirects are followed by the engine.
    def redirects? = @redirects

    # Settings of the client for a request. The request's own options take precedence over the adapter's. plain:
    # whether the URL begins with http:.
    def of(request, ssl, plain = false)
      settings = { timeout: total(request), proxy: false, lenient: true }.merge!(@options)
      settings.merge!(times(request), tls(ssl, plain))
      proxy = request.proxy
      settings[:local_address] = address(request.bind) if request.bind
      settings[:proxy] = proxy_url(proxy) unless proxy&.uri.to_s.empty? # As "" is by Faraday 1, and nil by Faraday 2.
      settings.freeze
    end

    private

    # A client says what is wrong with a name or a value. This one sends nothing.
    def check_values
      ::Hecaton::Client.new(timeout: TOTAL, **@options) unless @options.empty?
    rescue ArgumentError => error
      # A name that is like one of Faraday's own.
      elsewhere = ELSEWHERE[error.message[/did you mean (\w+)\?\z/, 1]&.to_sym]
      Errors.refuse("adapter :hecaton: #{error.message}#{" That is not an option of it: #{elsewhere}" if elsewhere}")
    end

    # The address of this side.
    def address(bind)
      if bind[:port].to_i.positive?
        Errors.refuse("request: bind has a port: give host alone, because the system chooses the port")
      end

      bind[:host]
    end

    # An unsupported TLS option is an error only if the request may use TLS.
    def tls(ssl, plain)
      Ssl.settings(ssl)
    rescue Faraday::Error
      raise unless plain && !redirects?

      {}
    end

    # The total timeout of requests without one: at least the sum of the timeouts of their phases.
    def total(request)
      [TOTAL, [request.open_timeout, request.read_timeout, request.write_timeout].grep(Numeric).sum].max
    end

    # If the request or the adapter has a total timeout, phases without a limit of their own get none.
    def times(request)
      PHASES.each_value { |name| seconds(name, request[name]) }
      other = PHASE unless request.timeout || @options[:timeout]
      times = PHASES.to_h { |phase, own| [phase, request[own] || @options[phase] || other] }
      times[:connect_timeout] ||= NEVER
      times
    end

    # Refuses what is no time by the name that the program gave it.
    def seconds(name, value)
      ::Hecaton::Client.seconds(value, "request: #{name}")
    rescue ArgumentError => error
      Errors.refuse(error.message)
    end

    def proxy_url(proxy)
      uri = proxy.uri
      login = [proxy.user, proxy.password].compact.map { |part| ::Hecaton::RequestBuilder.escaped(part) }.join(":")
      "#{uri.scheme}://#{"#{login}@" unless login.empty?}#{uri.host}#{":#{uri.port}" if uri.port}"
    end
  end
end
