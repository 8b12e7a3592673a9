# Hecaton.get and its sisters: requests without a client of one's own.
module Hecaton
  # They go through one client for the whole process. It is made at the first call, has no settings of its own, and
  # keeps its connections for all threads. Works on both sides of a fork, as all clients do. A program that wants other
  # settings makes a client, and may hand it over here with `Hecaton.client = …`; a library makes its own.
  #
  # timeout:: as in Client#request, and required: ArgumentError without it. But a client that was handed over has a
  #   timeout, which holds where none is given.
  #
  # Options, return values and exceptions are those of Client's method with that name.
  module SharedClient
    LOCK = Mutex.new
    # For requests in another Ractor.
    MAIN_ALONE = "Hecaton sends requests in the main Ractor alone: ask there, and hand over outcomes (Ractor.make_shareable)".freeze
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

    %w[get head post put patch delete options].each do |verb|
      class_eval <<~RUBY, __FILE__, __LINE__ + 1
        def #{verb}(url, timeout: nil, **options, &block) = client_for(timeout).#{verb}(url, timeout: timeout, **options, &block)
      RUBY
    end

    # As Client#request.
    def request(request, url = nil, timeout: nil, **options, &block)
      return client_for(request[:timeout]).request(request, &block) if request.is_a?(Request) && url.nil? && timeout.nil? && options.empty?

      client_for(timeout).request(request, url, timeout: timeout, **options, &block)
    end

    # As Client#get_all; timeout is that of each request.
    def get_all(urls, timeout: nil, **options) = client_for(timeout).get_all(urls, timeout: timeout, **options)

    # As Client#all; the same.
    def all(requests, timeout: nil, **options) = client_for(timeout).all(requests, timeout: timeout, **options)

    # As Client#download.
    def download(url, path, timeout: nil, **options, &block)
      client_for(timeout).download(url, path, timeout: timeout, **options, &block)
    end

    private

    def client_for(timeout)
      return @client if @client
      raise ArgumentError, "timeout is missing: give the longest time in seconds the request may take" if timeout.nil?

      # The timeout here is never used: each request has its own.
      @shared || LOCK.synchronize { @shared ||= Client.new(timeout: 60) }
    rescue Ractor::IsolationError
      raise Ractor::UnsafeError, MAIN_ALONE
    end
  end

  @client = @shared = nil
  extend SharedClient
end
