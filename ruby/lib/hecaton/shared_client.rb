# Hecaton.get and its sisters: requests without a client of one's own.
module Hecaton
  # These methods send through one client for the whole process. The client is made at the first call, has default
  # settings, and shares its connections between all threads. It works on both sides of a fork, as all clients do. A
  # program that needs other settings makes a client, and may set it with `Hecaton.client = …`; a library makes its own.
  #
  # timeout:: as in Client#request. Without it, the timeout of `Hecaton.client` counts if that is set, or else
  #   `Hecaton.timeout`. If there is none at all, ArgumentError is raised.
  #
  # Options, return values and exceptions are those of Client's method with that name.
  module SharedClient
    LOCK = Mutex.new
    # For requests in another Ractor.
    MAIN_ALONE = "Hecaton sends requests in the main Ractor alone: send them there, " \
      "and hand over outcomes (Ractor.make_shareable)".freeze
    private_constant :LOCK

    # Client: the client that was set with client=, nil by default.
    attr_reader :client

    # Sets the Client that these methods use; nil for the default one. Returns it.
    def client=(client)
      unless client.nil? || client.is_a?(Client)
        raise ArgumentError, "client is of class #{client.class}: give a Hecaton::Client, or nil for none"
      end

      @client = client
    end

    # Float: the timeout of requests that have none of their own, in seconds; nil by default. It does not apply to
    # Hecaton.client, which has its own.
    attr_reader :timeout

    # Sets the timeout; nil for none, so that each request must have one. Only programs should set it, not libraries.
    def timeout=(seconds)
      @timeout = Client.seconds(seconds)
    end

    # In get_all and all, timeout is that of each request.
    %w[get head post put patch delete options get_all all].each do |verb|
      class_eval <<~RUBY, __FILE__, __LINE__ + 1
        def #{verb}(url, *given, timeout: nil, **options, &block)
          Request.refuse_options(*given) if given.any?
          client_for(timeout ||= own_timeout, options).#{verb}(url, timeout: timeout, **options, &block)
        end
      RUBY
    end

    # As Client#request.
    def request(request, url = nil, *given, timeout: nil, **options, &block)
      Request.refuse_options(*given) if given.any?
      if request.is_a?(Request) && url.nil? && timeout.nil? && options.empty?
        request = request.with(timeout: own_timeout) unless request[:timeout] || own_timeout.nil?
        return client_for(request[:timeout]).request(request, &block)
      end

      client_for(timeout ||= own_timeout, options).request(request, url, timeout: timeout, **options, &block)
    end

    # As Client#batch, for requests of several clients: each names its own as `client:`. A request without one is sent
    # as by Hecaton.get.
    #
    # timeout:: that of each request without one, as in Client#request. Without it, each must have a client or a
    #   timeout, unless Hecaton.client or Hecaton.timeout is set.
    def batch(timeout: nil, concurrency: nil, per_origin: nil, rate: nil, raise_on_failure: false, &block)
      timeout ||= own_timeout
      client = @client || shared
      client = client.with(timeout: timeout) if timeout
      batch = client.send(:new_batch, concurrency, per_origin, rate, must_time: @client.nil? && timeout.nil?)
      client.send(:run_batch, batch, raise_on_failure, &block)
    end

    # As Client#download.
    def download(url, path, timeout: nil, **options, &block)
      client_for(timeout ||= own_timeout, options).download(url, path, timeout: timeout, **options, &block)
    end

    private

    # nil if Hecaton.client is set, because that client has its own timeout.
    def own_timeout = main_alone { @timeout unless @client }

    def client_for(timeout, options = {})
      client = main_alone { @client }
      return client if client
      return shared unless timeout.nil?

      # A misspelt `timeout` is missing too, and that alone would hide the mistake.
      like = options.each_key.find { |name| Suggestion.like(name.to_s, [:timeout]) }
      Request.refuse(like) if like
      raise ArgumentError,
        "timeout is missing: give the longest time in seconds the request may take, or set Hecaton.timeout"
    end

    # The timeout here is never used: each request has its own.
    def shared = main_alone { @shared || LOCK.synchronize { @shared ||= Client.new(timeout: 60) } }

    # In another Ractor, nothing here can be read.
    def main_alone
      yield
    rescue Ractor::IsolationError
      raise Ractor::UnsafeError, MAIN_ALONE
    end
  end

  @client = @shared = @timeout = nil
  extend SharedClient
end
