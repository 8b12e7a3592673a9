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
  # Used by one thread at a time.
  class ParallelManager
    # concurrency::, per_origin::, rate:: as in Hecaton::Many, of all requests together.
    # raise_errors:: false leaves failures to <code>env[:hecaton_error]</code>. Exceptions of middlewares are raised
    #   all the same.
    def initialize(concurrency: nil, per_origin: nil, rate: nil, raise_errors: true)
      @limits = { concurrency: concurrency, per_origin: per_origin, rate: rate }
      @raise_errors = raise_errors
      @waiting = []
      @number = 0
    end

    # For the adapter: takes an Exchange. In a callback it joins the batch that runs.
    def queue(exchange)
      @batch ? start(exchange) : @waiting << exchange
    end

    # For Faraday 2: runs what the block has queued once the block ends. An exception in the block drops all of it.
    def execute
      yield
      run
    ensure
      @waiting.clear
    end

    # Runs what is queued, and what its callbacks queue, to the end: in one batch, whatever the settings of each are.
    # Without limits of the manager, those of the first request's adapter count.
    def run
      return if @batch || @waiting.empty? # Called in a callback of itself, or for nothing.

      @failures = []
      run_batch
      _, error = @failures.min_by(&:first)
      raise error if error
    end

    private

    def run_batch
      @waiting.first.client.batch(**@limits) do |batch|
        @batch = batch
        @waiting.each { |exchange| start(exchange) }
      end
    ensure
      @batch = nil
      @waiting.clear
      @number = 0
    end

    def start(exchange)
      number = @number += 1
      exchange.queue(@batch) do |error|
        @failures << [number, error] if error && @raise_errors
        report(number, exchange, error)
      end
    end

    # An exception in one request's middlewares does not keep the others from finishing.
    def report(number, exchange, error)
      exchange.finish(error)
    rescue StandardError => raised
      @failures << [number, raised]
    end
  end
end
