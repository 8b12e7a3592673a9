# A client: settings and a pool of connections, for one request or a batch of them.
%w[download many sending settings suggestion verbs].each { |name| require_relative name }

module Hecaton
  # Threads may share it. It keeps connections, and all requests to the same scheme, host and port share them. It works
  # on both sides of a fork: a child opens connections of its own.
  class Client
    include Verbs
    include Sending
    include Many
    include Downloads
    singleton_class.prepend Suggestion

    # Makes a client with these settings, yields it, closes it when the block is left, and returns what the block does.
    # Without a block it returns the client.
    def self.open(**settings)
      client = new(**settings)
      block_given? ? yield(client) : client
    ensure
      client&.close if block_given?
    end

    # A client with these settings instead of this one's, on the same connections. It shares the pool, its limits, the
    # counters (stats) and the nonces of digest authentication, so it costs next to nothing. This one stays as it is.
    #
    # settings:: the keywords of new. The value nil is the engine's default. headers are added to this client's. A field
    #   replaces the one with its name, a nil value drops it, and headers: nil drops all. One of basic_auth, bearer and
    #   digest_auth replaces the one here. cookies are this client's jar unless others are given. All else is replaced
    #   whole: so headers and credentials go to a base_url that is given, even if it is another server's.
    #
    # ArgumentError for settings of connections, which are shared: docs/settings.md says which they are.
    #
    # To close either of them closes the connections of both; both can still be used.
    def with(**settings)
      given = @cookies ? @settings.merge(cookies: @cookies) : @settings
      self.class.allocate.derive(@native, Derivation.merged(given, Times.flat(settings)))
    end

    # Makes this a client on the connections of another. Returns itself.
    def derive(parent, settings) # :nodoc:
      @parent = parent
      Suggestion.around(settings) { initialize(**settings) }
      self
    end

    # Sends one request and returns its Response, whatever the status. Other Ruby threads run while
    # it waits, and other fibers of the thread if there is a Fiber.scheduler.
    #
    # request:: a Request, which has URL and options; or the method: "GET" and the like, as on the wire, or a Symbol in
    #   any case.
    # url:: an http or https URL, a String or a URI, absolute unless the client has a base_url; a fragment is dropped. A
    #   user and a password in it, percent-encoded, are as basic_auth; they are never shown.
    # options:: such as headers, json, timeout. docs/settings.md, "Options of a request", says what each of them does.
    #
    # With a block, yields the response as a Stream as soon as its head has arrived, and returns the block's value. The
    # block reads the body piece by piece.
    #
    # Raises Error (TimeoutError, ConnectError, …) when there is no response, and StatusError when raise_for_status is
    # set. ArgumentError is raised before anything is sent, when the request cannot be sent as given.
    def request(request, url = nil, options = nil, other = nil, &block)
      Request.refuse_options(options, other) if other
      return send_request(RequestBuilder.verb(request), url, options, &block) unless request.is_a?(Request)

      request = Request.alone(request, url, options)
      transmit(@features ? request.prepared(@request_builder) : request, &block)
    end

    # Connects to a URL's origin, so that the next request there finds an idle connection, unless one is
    # idle already. Returns the engine's record of it, for Response.from_engine; nil, and connects nothing, if an
    # interceptor may respond in place of the server. Raises Error, as a request does.
    def connect(url) # :nodoc:
      return if Interception.active?

      record, *failure = @native.connect(url)
      record || ended("CONNECT", nil, nil, *failure)
    end

    # Cookies: the jar of the settings; nil without one.
    attr_reader :cookies

    # Connections that wait to be used again.
    def idle_connections = @native.idle_connections

    # Counters of this client in this process, as a Hash of Integers. Totals: requests (started), retries, and
    # connections opened and reused. At this moment: connections that are idle and in_use, and requests waiting for a
    # connection.
    def stats = @native.stats

    # Closes all connections and gives back the descriptors of what waited for them. Requests that other threads wait
    # for, and those of a batch that runs, reach their outcomes, and their connections are closed then. A client that
    # is used again begins anew. Returns nil.
    def close = @native.close

    # Without settings, which may hold secrets.
    def inspect = "#<Hecaton::Client #{idle_connections} idle connections>"

    RETRY_OPTIONS = %i[max methods on statuses interval backoff jitter if].freeze
    METHODS = %w[GET HEAD POST PUT PATCH DELETE OPTIONS TRACE].freeze
    # The engine counts seconds in 64 bits.
    MOST = (2.0**64).prev_float
    private_constant :RETRY_OPTIONS, :METHODS, :MOST

    # The jar that is meant, nil for none.
    def self.jar(value)
      return if value.nil? || value == false
      return Cookies.new if value == true
      return value if value.is_a?(Cookies)

      raise ArgumentError, "cookies: #{value.class} is not a Hecaton::Cookies, true, false or nil"
    end

    # Retry settings as the engine takes them, nil for none.
    def self.retry_options(value)
      return if value.nil? || value == false
      return {} if value == true
      return { max: value } if value.is_a?(Integer)

      raise ArgumentError,
        "retry: #{value.inspect} is not a Hash of settings, an Integer, true, false or nil" unless value.is_a?(Hash)

      unknown = value.keys - RETRY_OPTIONS
      raise ArgumentError,
        "retry: #{unknown.join(", ")} is unknown: there are #{RETRY_OPTIONS.join(", ")}" unless unknown.empty?

      value.except(:if).merge(
        methods: words(value, :methods)&.map { |name| retried_method(name.upcase) }, on: words(value, :on),
        interval: seconds(value[:interval], "retry: interval"),
        backoff: seconds(value[:backoff], "retry: backoff", "number"),
        jitter: share(value[:jitter], "retry: jitter"), statuses: statuses(value[:statuses])
      )
    end

    # An HTTP version, or several, as the engine takes them.
    def self.http(value)
      return value.to_s if value.is_a?(Symbol)
      return value.is_a?(Numeric) ? value.to_s.delete_suffix(".0") : value unless value.is_a?(Array)

      versions = value.map { |each| http(each).to_s }.uniq.sort
      case versions
      when %w[1.1 2 3] then "auto"
      when %w[1.1 2] then nil
      else
        return versions.first if versions.one?

        raise ArgumentError,
          "http: #{value.inspect} is not supported: use [\"3\", \"2\", \"1.1\"], [\"2\", \"1.1\"] or one version"
      end
    end

    # Names of headers as the engine takes them, nil for none.
    def self.names(name, value)
      return value&.map { |each| Headers.field(each) } if value.nil? || value.is_a?(Array)

      raise ArgumentError, "#{name} is of class #{value.class}: give an Array of names"
    end

    # Known addresses as the engine takes them, nil for none.
    def self.addresses(value)
      return if value.nil?
      return value.transform_values { |addresses| Array(addresses) } if value.is_a?(Hash)

      raise ArgumentError, "resolve is of class #{value.class}: give a Hash of \"host:port\" and addresses"
    end

    # The rule for addresses as the engine takes it: what is allowed, what is denied; nil for none.
    def self.address_rule(value)
      return if value.nil?

      if value.respond_to?(:call)
        raise ArgumentError,
          "allow_address: a #{value.class} cannot be called, for requests run outside of Ruby's lock: " \
          "give :public, networks, or { allow: …, deny: … }"
      end
      rule = value.is_a?(Hash) ? value : { allow: value }
      unknown = rule.keys - %i[allow deny]
      raise ArgumentError,
        "allow_address: #{unknown.first.inspect} is unknown: there are allow and deny" unless unknown.empty?

      rule.compact.to_h { |name, list| [name.to_s, networks(list)] }
    end

    # A base URL as the engine takes it, nil for none: with a slash after its path, so that relative URLs go below it.
    def self.base(value)
      return if value.nil?

      url = RequestBuilder.readable(value.to_s)
      return url unless url.valid_encoding?

      absolute(value, url).sub(%r{\A[^?#]*[^/?#](?=[?#]|\z)}, "\\0/")
    end

    # A proxy as the engine takes it: its URL, empty for none, nil for the environment's.
    def self.proxy(value)
      return value if value.nil?
      return "" if value == false
      return value.to_s if (value.is_a?(String) || value.respond_to?(:scheme)) && !value.to_s.b.strip.empty?

      raise ArgumentError, "proxy: give a URL, false for none, or nil for the environment's"
    end

    # A time in seconds, or another number of at least 0, as a Float; nil for nil.
    def self.seconds(value, name = :timeout, what = "time in seconds")
      return if value.nil?
      return value.to_f if value.is_a?(Numeric) && value.real? && (0..MOST).cover?(value.to_f)

      hint =
        case value
        when Hash then "one number (a Hash of several limits is for a client: Client.new and with)"
        when MOST.. then "a number below 2**64"
        else "a number of at least 0"
        end
      raise ArgumentError, "#{name}: #{value.inspect} is not a #{what}: give #{hint}"
    end

    private_class_method def self.share(value, name)
      share = seconds(value, name, "number")
      return share if share.nil? || share <= 1

      raise ArgumentError, "#{name}: #{value.inspect} is not a share: give a number from 0 to 1"
    end

    # The method. A misspelt method would end retries in silence. A method that resembles none may be a server's own.
    private_class_method def self.retried_method(name)
      like = Suggestion.like(name, METHODS) unless METHODS.include?(name)
      return name unless like

      raise ArgumentError, "retry: methods has #{name.inspect}; did you mean #{like.inspect}?"
    end

    # Statuses, with Ranges of them spelt out.
    private_class_method def self.statuses(list)
      return if list.nil?

      Array(list.is_a?(Range) ? [list] : list).flat_map do |status|
        range = status.is_a?(Range) ? status : [status]
        edges = range.is_a?(Range) ? [range.begin, range.end] : range
        possible = edges.all? { |edge| edge.is_a?(Integer) && edge.between?(100, 999) }
        next range.to_a if possible && range.any?

        raise ArgumentError, "retry: statuses has #{status.inspect}: " \
          "give statuses from 100 to 999 and Ranges of them, such as [429, 500..599]"
      end
    end

    # The URL; ArgumentError if it has no scheme. Anything with an @ may hold a password, and is not shown.
    private_class_method def self.absolute(value, url)
      return url if url.match?(%r{://|\A\s*https?:}i)
      unless value.is_a?(String) || value.respond_to?(:scheme)
        raise ArgumentError, "base_url is of class #{value.class}: give a String or a URI"
      end

      shown = url.include?("@") ? "base_url" : "base_url #{url.inspect}"
      if url.match?(%r{\A\s*(?:[/.?#]|\z)}) || url.include?("@")
        raise ArgumentError, "#{shown} has no scheme and host: give one such as \"https://api.example.org/v1\""
      end

      raise ArgumentError, "#{shown} has no scheme; did you mean #{"http://#{url}".inspect}?"
    end

    # Networks as the engine takes them.
    private_class_method def self.networks(list)
      list = (list.is_a?(Array) ? list : [list]).map { |entry| entry == :public ? "public" : entry }
      return list if list.all? { |entry| entry.is_a?(String) && entry.valid_encoding? }

      raise ArgumentError,
        "allow_address: give :public, networks as Strings such as \"10.0.0.0/8\", or a Hash of allow and deny"
    end

    # A list of names among the settings of retry.
    private_class_method def self.words(settings, name)
      list = settings[name]
      return list&.map(&:to_s) if list.nil? || list.is_a?(Array)

      raise ArgumentError, "retry: #{name} is #{list.inspect}: give an Array"
    end

    private

    # The settings that were given.
    def configure(given)
      timeout = given[:timeout]
      raise ArgumentError, "timeout is nil: give the longest time in seconds a request may take" if timeout.nil?
      return configure(Times.flat(given)) if timeout.is_a?(Hash)

      @settings = given
      @timeout = Client.seconds(timeout)
      @cookies = Client.jar(given[:cookies])
      public_headers = Client.names(:public_headers, given[:public_headers])
      log = RequestLog.for(given[:logger], public_headers || [])
      base = Client.base(given[:base_url])
      @response_builder = ResponseBuilder.new(**given.slice(:on_deprecation, :raise_for_status, :max_body), log: log)
      @request_builder = RequestBuilder.new(
        **given.slice(:headers, :basic_auth, :bearer, :digest_auth, :app_name, :app_env, :user_agent, :decode,
          :decode_always, :redirects),
        predicate: RetryPredicate.block(given[:retry]), base: base, log: log, timeout: @timeout,
        public_headers: public_headers, response_builder: @response_builder
      )
      @features = Features.of(*given.values_at(:features, :max_body, :raise_for_status))
      @bare = @request_builder.plain?
      @plain = @bare && @features.nil?
      # Whether a request may do without a Request, because nobody else looks at it.
      @direct = @features.nil? && @request_builder.token_source.nil?
      @bare &&= !@features&.attempts?
      settings = Settings.for_engine(given).merge(
        cookies: @cookies&.native, headers: @request_builder.headers, digest_auth: @request_builder.login,
        public_headers: public_headers, base_url: base, strict_urls: given[:strict_urls]
      )
      @native = native_client(settings)
    end

    def native_client(options)
      @parent ? @parent.with(options) : Native::Client.new(options)
    rescue Ractor::UnsafeError
      raise Ractor::UnsafeError, SharedClient::MAIN_ALONE
    end
  end
end
