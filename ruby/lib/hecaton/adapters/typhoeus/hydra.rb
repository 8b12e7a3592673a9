# Many requests at once.

module Hecaton::Typhoeus
  # Queue requests, then `run`; callbacks may queue more. It runs in one thread at a time, and any may queue.
  class Hydra
    # Accepted without effect: connections are shared by all hydras, and HTTP/2 runs requests side by side by itself.
    WITHOUT_EFFECT = %i[pipelining maxconnects].freeze
    # How often a request is started again. One whose own code always raises must not hold up the others for ever.
    MOST_STARTS = 5
    private_constant :WITHOUT_EFFECT, :MOST_STARTS

    # The hydra of this thread.
    def self.hydra = Thread.current[:typhoeus_hydra] ||= new

    # Integer: how many requests are under way at once; nil is no limit.
    attr_reader :max_concurrency

    # Changes that, also while it runs. A lower one lets those under way end.
    def max_concurrency=(most)
      @max_concurrency = most
      @most_at_once = [most, @most_connections].compact.min || Float::INFINITY
    end

    # max_concurrency:: default 200. Whatever Integer() takes.
    # max_total_connections:: the limit of connections, and so of requests under way, too.
    # pipelining::, maxconnects:: have no effect.
    def initialize(options = {})
      options = options.transform_keys(&:to_sym)
      most = Integer(options.fetch(:max_concurrency, 200))
      options.each { |name, value| take_option(name, value) }
      self.max_concurrency = most
      @queued_requests = []
      @run_lock = Mutex.new # Held by the fiber that runs it, and let go of if that thread ends or is a parent's.
      # From the queue, and neither with Transfers nor ended yet: an interrupt must not lose them.
      @taken_requests = []
      @transfers = Transfers.new(self, @taken_requests)
    end

    # Runs until nothing is queued or under way. An exception that leaves a callback leaves it at once, and so do
    # Timeout.timeout and Thread#kill. A further `run` continues with the rest, in this thread or another. In a child
    # of fork, also in one whose callback has forked, requests that are under way in the parent end as failures.
    #
    # Raises Ethon::Errors::InvalidValue if max_concurrency is less than 1 and none of the queued requests may start.
    # If a callback sets it so, the rest run one at a time. Raises ThreadError if it runs in another thread or fiber,
    # which goes on.
    def run
      in_callback = @run_lock.owned?
      refuse_second_run unless in_callback || @run_lock.try_lock
      @transfers.resume
      take_up_again unless in_callback # What is taken is being started.
      dequeue_many
      refuse_to_leave_requests unless @queued_requests.empty? || @transfers.size.positive?
      nil while @transfers.wait || start_next
      memory.clear
    ensure
      leave_run(in_callback) if @run_lock.owned?
    end

    # Adds a request at the end of the queue.
    def queue(request)
      request.hydra = self
      @queued_requests << request
    end

    # Adds one at its front.
    def queue_front(request)
      request.hydra = self
      @queued_requests.unshift(request)
    end

    # Array of those that have not been started.
    attr_reader :queued_requests

    # Forgets them. Requests under way continue.
    def abort = @queued_requests.clear

    # Starts the first of the queue.
    def dequeue
      queue = @queued_requests
      return if queue.empty?

      # Before it leaves the queue. An interrupt finds it in one of the two.
      @taken_requests << queue[0].without_listed_calls
      request = queue.shift
      request.layered? ? start_layered(request) : @transfers.start(request)
    end

    # Starts as many of the queue as max_concurrency allows.
    def dequeue_many = (dequeue until @queued_requests.empty? || @transfers.size >= @most_at_once)

    # Starts a request now, queue and limit notwithstanding, or ends it without the network. It continues in `run`.
    def add(request)
      @taken_requests << request.without_listed_calls
      request.layered? ? start_layered(request) : @transfers.start(request)
    end

    # The batch has this request, or it has ended. One that is still in the queue after an interrupt is
    # here twice.
    def note_started(request) = @taken_requests.delete(request) # :nodoc:

    # A request has ended without the network, so the first of the queue starts instead. In a
    # loop, for that may end so, too.
    def note_left # :nodoc:
      @free_places = @free_places.to_i + 1
      return if @free_places > 1

      while @free_places.positive?
        dequeue
        @free_places -= 1
      end
    ensure
      @free_places = 0 if $! # A callback raised it.
    end

    # Responses of this run, by request, with Config.memoize.
    def memory = @memory ||= {}

    # A method that `dequeue` does without. See Overrides.
    OVERRIDABLE = %i[add].freeze

    # The way of requests in a hydra that overrides it.
    module Openly # :nodoc: all
      def dequeue
        return if @queued_requests.empty?

        @taken_requests << @queued_requests[0].without_listed_calls
        add(request = @queued_requests.shift)
        note_started(request) # It may have passed none of the other methods.
      end
    end

    extend Overrides

    private

    def singleton_method_added(name)
      super
      singleton_class.prepend(Openly) if OVERRIDABLE.include?(name)
    end

    def leave_run(in_callback)
      @transfers.pause
    ensure
      @run_lock.unlock unless in_callback
    end

    def start_layered(request)
      Layers.pass(request, self, (memory if Config.memoize)) { @transfers.start(request) }
      note_started(request)
    rescue Ethon::Errors::EthonError, Errors::NoStub
      note_started(request) # It is left out.
      raise
    end

    # An interrupt has kept these from being started, or from having all their callbacks called.
    def take_up_again
      @free_places = 0
      while (request = @taken_requests.last)
        if request.calls_listed?
          request.call_listed
        elsif !@queued_requests.first.equal?(request) && start_again?(request)
          @queued_requests.unshift(request)
        end
        note_started(request)
      end
    end

    def start_again?(request)
      @restarts = request.equal?(@restarted) ? @restarts + 1 : 1
      @restarted = request
      @restarts <= MOST_STARTS
    end

    def take_option(name, value)
      case name
      when :max_concurrency, *WITHOUT_EFFECT then nil
      when :max_total_connections then @most_connections = value && Integer(value)
      when :execution_mode
        unless value.to_s == "perform"
          Refusals.value(name, value, "There is no socket_action here, and no need of it: leave the option out.")
        end
      else Refusals.option(name)
      end
    end

    # Where a callback has set max_concurrency to 0: each that ends starts the next, as in the original. Whether there
    # was one.
    def start_next
      return false if @queued_requests.empty?

      dequeue
      true
    end

    def refuse_second_run
      raise ThreadError,
        "this hydra runs in another thread or fiber: wait until that has ended, or make a hydra for each"
    end

    def refuse_to_leave_requests
      Refusals.value(:max_concurrency, @max_concurrency,
        "#{@queued_requests.size} requests are queued and none may start: give at least 1.")
    end
  end
end
