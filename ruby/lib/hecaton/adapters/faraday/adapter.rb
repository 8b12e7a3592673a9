# The adapter that Faraday calls: one for each connection, all of them on the same clients.
class Faraday::Adapter::Hecaton
  self.supports_parallel = true

  # The client of the last request with the settings that it was found by, so that most requests need no look-up.
  Found = Struct.new(:open, :read, :write, :timed, :bind, :proxy, :ssl, :plain, :entry) do
    def for?(request, options, is_plain)
      open == request.open_timeout && read == request.read_timeout && write == request.write_timeout &&
        timed == !request.timeout.nil? && bind == request.bind &&
        proxy == request.proxy && ssl == options && plain == is_plain && !entry.stale
    end
  end
  private_constant :Found

  # A ParallelManager, which documents the options.
  def self.setup_parallel_manager(options = {}) = ParallelManager.new(**options)

  # options:: keywords of Hecaton::Client.new that Faraday lacks: http:, retry:, redirects:, per_origin:,
  #   max_body:, ca:, pins: and the like. Options of a request or its connection take precedence over them. With a
  #   block, yields them as a Hash.
  #
  # Raises Faraday::Error for an option that cannot be honoured.
  def initialize(app = nil, options = {}, &block)
    super(app, options)
    @settings = Settings.new(options, &block)
    @lock = Mutex.new
    @entries = []
  end

  # Sends the request, or queues it in the manager of in_parallel.
  def call(env) # :nodoc:
    super
    exchange = Errors.about(env) { Exchange.new(env, client(env), @settings) }
    if env.parallel?
      env.parallel_manager.queue(exchange)
    else
      exchange.perform
      exchange.finish(nil)
    end
    @app.call(env)
  end

  # The Hecaton::Client that sends such a request.
  def build_connection(env) = client(env) # :nodoc:

  # Closes the connections that this adapter has used, unless a request is using them. Other adapters with the same
  # settings share these connections, and open new ones. It can be used again.
  def close
    @lock.synchronize { @entries.dup }.each { |entry| entry.client.close }
    nil
  end

  private

  def client(env)
    request = env.request
    found = @found
    plain = env.url&.scheme == "http"
    found = @found = find(request, env.ssl, plain) unless found&.for?(request, env.ssl, plain)
    found.entry.client
  end

  # Copies are kept, because a program may change the originals.
  def find(request, ssl, plain)
    entry = Clients.of(@settings.of(request, ssl, plain))
    remember(entry)
    Found.new(request.open_timeout, request.read_timeout, request.write_timeout, !request.timeout.nil?, request.bind,
      request.proxy.dup, ssl.dup, plain, entry)
  end

  def remember(entry)
    @lock.synchronize do
      @entries.reject!(&:stale)
      @entries << entry unless @entries.any? { |known| known.equal?(entry) }
    end
  end
end
