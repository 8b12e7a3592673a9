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
  # Timeout.timeout, Thread#kill or Ctrl-C ends all requests at once. Requests without a response fail in the same way.
  # An on_complete that queues another then gets Faraday::Error.
  #
  # Threads and fibers may share one. Each in_parallel runs its own requests, with the limits for itself, and knows
  # nothing of the others.
  class ParallelManager
    # The requests of one in_parallel.
    class Run
      # The Fiber and the Thread of the block.
      attr_reader :fiber, :thread

      def initialize(limits, raise_errors)
        @limits = limits
        @raise_errors = raise_errors
        @fiber = Fiber.current
        @thread = Thread.current
        @waiting = []
        @started = {}.compare_by_identity # Exchange → its number.
        @failures = []
        @number = 0
      end

      # Whether the batch runs, or has run.
      def runs? = !@batch.nil?

      # Takes an Exchange. In a callback it joins the batch. After an exception has left the batch, nothing is sent. So
      # this raises the error of a request that was left. A callback that tries again would otherwise do so for ever.
      def queue(exchange)
        raise exchange.left if @over

        @waiting << exchange
        start_all if @batch
      end

      # Runs what is queued, and what its callbacks queue, to the end: in one batch, whatever the settings of each are.
      # Without limits of the manager, those of the first request's adapter count.
      def call
        run_batch unless @waiting.empty?
        @failures.min_by(&:first)&.then { |_, error| raise error }
      end

      private

      def run_batch
        @waiting.first.client.batch(**@limits) do |batch|
          @batch = batch
          start_all
        end
      ensure
        @over = true
        end_those_left
      end

      def start_all = (start(@waiting.first) until @waiting.empty?)

      def start(exchange)
        take(exchange)
        exchange.queue(@batch) { |error| report(exchange, error) }
      end

      # Notes it before it leaves the list, so an interrupt finds it in one of the two.
      def take(exchange)
        @started[exchange] = @number += 1
        @waiting.shift
      end

      # After an exception or an interrupt has left the batch. Another one does not keep the rest from finishing.
      def end_those_left
        @waiting.shift if @started.key?(@waiting.first)
        take(@waiting.first) until @waiting.empty?
        until @started.empty?
          exchange, = @started.first
          exchange.finished? ? @started.delete(exchange) : report(exchange, exchange.left)
        end
      ensure
        end_those_left unless @started.empty? && @waiting.empty?
      end

      # An exception in one request's middlewares does not keep the others from finishing.
      def report(exchange, error)
        fail_with(exchange, error) if error && @raise_errors
        exchange.finish(error)
        @started.delete(exchange) # Last: an interrupt must not lose it.
      rescue StandardError => raised
        fail_with(exchange, raised)
        @started.delete(exchange)
      end

      def fail_with(exchange, error) = @failures << [@started[exchange], error]
    end
    private_constant :Run

    # concurrency::, per_origin::, rate:: as in Hecaton::Many, of all requests of an in_parallel together.
    # raise_errors:: false leaves failures to <code>env[:hecaton_error]</code>. Exceptions of middlewares are raised
    #   all the same.
    def initialize(concurrency: nil, per_origin: nil, rate: nil, raise_errors: true)
      @limits = { concurrency: concurrency, per_origin: per_origin, rate: rate }
      @raise_errors = raise_errors
      @runs = [] # Those of all threads.
    end

    # Takes an Exchange. In a callback it joins the batch that runs. Another thread that uses the
    # connection meanwhile, and is in no in_parallel of its own, gets its response at once.
    def queue(exchange) # :nodoc:
      run = current || (begin_run unless @tells_begin)
      return run.queue(exchange) if run

      exchange.perform
      exchange.finish(nil)
    end

    # Faraday 2 calls this: runs what the block has queued once the block ends. An exception in the block drops all of
    # it.
    def execute # :nodoc:
      @tells_begin = true
      return yield if current&.runs? # In a callback: its requests join the batch.

      run = begin_run
      ending(run) do
        yield
        run.call
      end
    end

    # Faraday 1 calls this, after the block.
    def run # :nodoc:
      run = current
      ending(run) { run.call } unless run.nil? || run.runs?
    end

    private

    def begin_run
      @runs.reject! { |run| !run.thread.alive? }
      run = Run.new(@limits, @raise_errors)
      @runs << run
      run
    end

    # At the end of the block the run is over.
    def ending(run)
      yield
    ensure
      @runs.delete(run)
    end

    # That of this fiber; else the last one of this thread whose block is still going, for that may use fibers.
    def current
      fiber = Fiber.current
      runs = @runs.dup
      runs.reverse_each.find { |run| run.fiber.equal?(fiber) } ||
        runs.reverse_each.find { |run| run.thread.equal?(Thread.current) && !run.runs? }
    end
  end
end
