# Runs the requests of in_parallel at once.
class Faraday::Adapter::Hecaton
  # Faraday makes one by itself for conn.in_parallel { … }. To set how many run at once:
  #
  #   manager = Faraday::Adapter::Hecaton.setup_parallel_manager(concurrency: 50, per_origin: 8)
  #   conn.in_parallel(manager) { … }
  #
  # All requests are run to their ends. Then the first request that failed raises what it would have raised by itself.
  # That is its failure (Faraday::TimeoutError and the like), or an exception of a middleware or an on_complete for its
  # response. A request that failed has the status 0, an empty body, and its error in <code>env[:hecaton_error]</code>.
  #
  # Timeout.timeout, Thread#kill or Ctrl-C ends all requests at once. Those without a response fail in the same way.
  #
  # Threads may share one. One of them runs what all have queued, while the others wait for it. Each raises the failures
  # of its own requests.
  class ParallelManager
    # A request of in_parallel: the how manieth it is, and the thread that has queued it.
    Queued = Struct.new(:exchange, :number, :thread)
    private_constant :Queued

    # concurrency::, per_origin::, rate:: as in Hecaton::Many, of all requests together.
    # raise_errors:: false leaves failures to <code>env[:hecaton_error]</code>. Exceptions of middlewares are raised
    #   all the same.
    def initialize(concurrency: nil, per_origin: nil, rate: nil, raise_errors: true)
      @limits = { concurrency: concurrency, per_origin: per_origin, rate: rate }
      @raise_errors = raise_errors
      @lock = Mutex.new # Of the thread that runs the requests.
      @waiting = []
      @started = {}.compare_by_identity
      @failures = []
      @number = 0
    end

    # For the adapter: takes an Exchange. In a callback it joins the batch that runs.
    def queue(exchange)
      @waiting << Queued.new(exchange, @number += 1, Thread.current)
      start_all if @batch && @lock.owned?
    end

    # For Faraday 2: runs what the block has queued once the block ends. An exception in the block drops all of it.
    def execute
      left = true
      yield
      left = false
      run
    ensure
      @waiting.reject! { |queued| queued.thread == Thread.current } if left
    end

    # Runs what is queued, and what its callbacks queue, to the end: in one batch, whatever the settings of each are.
    # Without limits of the manager, those of the first request's adapter count.
    def run
      return if @lock.owned? # Called in a callback of itself.

      failures = nil
      @lock.synchronize do
        run_batch until @waiting.empty?
      ensure
        failures = take_failures
      end
      failures.min_by(&:first)&.then { |_, _, error| raise error }
    end

    private

    def run_batch
      @waiting.first.exchange.client.batch(**@limits) do |batch|
        @batch = batch
        start_all
      end
    ensure
      @batch = nil
      end_those_left
    end

    def start_all
      start(@waiting.first) until @waiting.empty?
    end

    def start(queued)
      @started.store(@waiting.shift, true)
      queued.exchange.queue(@batch) { |error| report(queued, error) }
    end

    # After an exception or an interrupt has left the batch. Another one does not keep the rest from finishing.
    def end_those_left
      @started.first.first.then { |queued| report(queued, queued.exchange.left) } until @started.empty?
    ensure
      end_those_left unless @started.empty?
    end

    # An exception in one request's middlewares does not keep the others from finishing.
    def report(queued, error)
      @started.delete(queued)
      fail_with(queued, error) if error && @raise_errors
      queued.exchange.finish(error)
    rescue StandardError => raised
      fail_with(queued, raised)
    end

    def fail_with(queued, error) = @failures << [queued.number, queued.thread, error]

    # Those of the calling thread. No other will take those of a thread that has ended.
    def take_failures
      taken, @failures = @failures.partition { |_, thread,| thread == Thread.current || !thread.alive? }
      taken.select { |_, thread,| thread == Thread.current }
    end
  end
end
