# Hecaton.get and its sisters: requests without a client of one's own.
module Hecaton
  # They go through one client for the whole process. It is made at the first call, has no settings of its own, and
  # keeps its connections for all threads. Works on both sides of a fork, as all clients do. A program that wants other
  # settings makes a client, and may hand it over here with `Hecaton.client = …`; a library makes its own.
  #
  # timeout:: as in Client#request, and required: ArgumentError without it. Where none is given, that of the client that
  #   was handed over holds, or else `Hecaton.timeout`.
  #
  # Options, return values and exceptions are those of Client's method with that name.
  module SharedClient
    LOCK = Mutex.new
    # For requests in another Ractor.
    MAIN_ALONE = "Hecaton sends requests in the main Ractor alone: send them there, and hand over outcomes (Ractor.make_shareable)".freeze
    private_constant :LOCK

    # Client: what was handed over; nil by default.
    attr_reader :client

    # Hands a Client over; nil takes it back. Returns it.
    def client=(client)
      unless client.nil? || client.is_a?(Client)
        raise ArgumentError, "client is a #{client.class}: give a Hecaton::Client, or nil for none"
      end

      @client = client
    end

    # Float: the timeout of requests that have none of their own, in seconds; nil by default. A client that was handed
    # over has its own.
    attr_reader :timeout

    # Sets it; nil for none, so that each request must have one. A library leaves it to the program.
    def timeout=(seconds)
      @timeout = Client.seconds(seconds)
    end

    %w[get head post put patch delete options].each do |verb|
      class_eval <<~RUBY, __FILE__, __LINE__ + 1
        def #{verb}(url, timeout: nil, **options, &block)
          client_for(timeout ||= own_timeout).#{verb}(url, timeout: timeout, **options, &block)
        end
      RUBY
    end

    # As Client#request.
    def request(request, url = nil, timeout: nil, **options, &block)
      if request.is_a?(Request) && url.nil? && timeout.nil? && options.empty?
        request = request.with(timeout: own_timeout) unless request[:timeout] || own_timeout.nil?
        return client_for(request[:timeout]).request(request, &block)
      end

      client_for(timeout ||= own_timeout).request(request, url, timeout: timeout, **options, &block)
    end

    # As Client#get_all; timeout is that of each request.
    def get_all(urls, timeout: nil, **options) = client_for(timeout ||= own_timeout).get_all(urls, timeout: timeout, **options)

    # As Client#all; the same.
    def all(requests, timeout: nil, **options) = client_for(timeout ||= own_timeout).all(requests, timeout: timeout, **options)

    # As Client#download.
    def download(url, path, timeout: nil, **options, &block)
      client_for(timeout ||= own_timeout).download(url, path, timeout: timeout, **options, &block)
    end

    private

    # nil if a client was handed over, which has its own.
    def own_timeout
      @timeout unless @client
    rescue Ractor::IsolationError
      raise Ractor::UnsafeError, MAIN_ALONE
    end

    def client_for(timeout)
      return @client if @client
      if timeout.nil?
        raise ArgumentError, "timeout is missing: give the longest time in seconds the request may take, or set Hecaton.timeout"
      end

      # The timeout here is never used: each request has its own.
      @shared || LOCK.synchronize { @shared ||= Client.new(timeout: 60) }
    rescue Ractor::IsolationError
      raise Ractor::UnsafeError, MAIN_ALONE
    end
  end

  @client = @shared = @timeout = nil
  extend SharedClient
end
