# Makes a Faraday::Connection with a name, a timeout, retries and a watcher.

module Hecaton::Call
  # `new` returns a Faraday::Connection: from then on it is Faraday.
  module Connection
    # Seconds to connect. A connection that takes longer most likely never succeeds.
    OPEN_TIMEOUT = 1

    # These are raised when a required setting is missing.
    class MissingApp < ArgumentError; end
    # The environment in which the program runs is not set.
    class MissingEnv < ArgumentError; end
    # No timeout: was given.
    class MissingTimeout < ArgumentError; end
    # open_timeout: is nil.
    class MissingOpenTimeout < ArgumentError; end

    # Adapters that decode gzip themselves.
    DECODING = %w[Hecaton NetHttp NetHttpPersistent EMHttp].freeze
    private_constant :DECODING

    # host:: URL that requests are relative to.
    # timeout:: seconds for a request with all its tries and the waits between them. Required.
    # open_timeout:: seconds to connect, and for TLS. Default 1.
    # app::, env:: the calling application and its environment, sent as User-Agent, X-App-Name and X-App-Env.
    #   Default: see Application.
    # retry_options:: Hash of options of Retry for this connection, or false for no retries.
    #
    # With a block, yields the Faraday::Connection, for middlewares, headers, or another adapter than :hecaton.
    #
    # Raises MissingTimeout, MissingOpenTimeout, MissingApp and MissingEnv, all of them ArgumentErrors.
    def self.new(host:, timeout: nil, open_timeout: OPEN_TIMEOUT,
      app: Application.name, env: Application.env, retry_options: {}, &block)
      timeout or raise MissingTimeout,
        "timeout must be set, maybe 5: the seconds that a request may take, all its tries included"
      open_timeout or raise MissingOpenTimeout,
        "open_timeout must be set: the seconds until there is a connection; its default is 1"
      app or raise MissingApp, "app must be set, such as \"pokedex\": here, by Hecaton::Call.configure, or as APP_NAME"
      env or raise MissingEnv, "env must be set, such as \"staging\": here, by Hecaton::Call.configure, or as RACK_ENV"

      options = { headers: headers(app.to_s, env.to_s), request: { timeout: timeout, open_timeout: open_timeout } }
      Faraday.new(host, options) { |faraday| set_up(faraday, retry_options, &block) }
    end

    private_class_method def self.config = Hecaton::Call.configuration

    private_class_method def self.headers(app, env)
      { "User-Agent" => app, config.app_name_header => app, config.app_env_header => env }
    end

    # The adapter of the block replaces ours, so there are never two.
    private_class_method def self.set_up(faraday, retry_options)
      faraday.use(Watcher, logger: logger) if config.detect_deprecations
      retries = config.retry && retry_options != false
      faraday.use(Retry, retry_settings(retry_options)) if retries
      # Each try would be sent twice to a server that ends connections.
      faraday.adapter :hecaton, **(retries ? { reconnect: false } : {})
      yield faraday if block_given?
      decode(faraday)
    end

    private_class_method def self.logger = (config.detect_deprecations if config.detect_deprecations.respond_to?(:warn))

    # Exceptions are added to, all else is replaced.
    private_class_method def self.retry_settings(own)
      settings = (config.retry_options || {}).merge(own || {})
      exceptions = [config.retry_options, own].flat_map { |options| Array((options || {})[:exceptions]) }
      settings.merge(exceptions: Retry::EXCEPTIONS + exceptions)
    end

    # Decodes by the middleware of faraday_middleware or faraday-gzip, if the program has loaded one.
    private_class_method def self.decode(faraday)
      return if DECODING.include?(faraday.builder.adapter.name.split("::").last)

      faraday.use :gzip
    rescue Faraday::Error
      nil # None is loaded: bodies come as the adapter hands them on.
    end
  end
end
