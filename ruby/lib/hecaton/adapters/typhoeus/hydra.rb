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
      @limit = [most, @most_connections].compact.min || Float::INFINITY
    end

    # max_concurrency:: default 200. Whatever Integer() takes.
    # max_total_connections:: the limit of connections, and so of requests under way, too.
    # pipelining::, maxconnects:: have no effect.
    def initialize(options = {})
      options = options.transform_keys(&:to_sym)
      most = Integer(options.fetch(:max_concurrency, 200))
      options.each { |name, value| take(name, value) }
      self.max_concurrency = most
      @transfers = Transfers.new(self)
      @queued_requests = []
      @running = Mutex.new # Held by the fiber that runs it, and let go of if that thread ends or is a parent's.
      @taken = [] # From the queue, and neither with Transfers nor ended yet: an interrupt must not lose them.
    end

    # Runs until nothing is queued or under way. An exception that leaves a callback leaves it at once, and so do
    # Timeout.timeout and Thread#kill. A further `run` continues with the rest, in this thread or another. In a child
    # of fork, also in one whose callback has forked, requests that are under way in the parent end as failures.
    #
    # Raises Ethon::Errors::InvalidValue if max_concurrency is less than 1 and none of the queued requests may start.
    # If a callback sets it so, the rest run one at a time. Raises ThreadError if it runs in another thread or fiber,
    # which goes on.
    def run
      in_callback = @running.owned?
      refuse_second_run unless in_callback || @running.try_lock
      @transfers.resume
      take_up_again unless in_callback # What is taken is being started.
      dequeue_many
      refuse_to_leave_requests unless @queued_requests.empty? || @transfers.size.positive?
      nil while @transfers.wait || start_next
      memory.clear
    ensure
      leave(in_callback) if @running.owned?
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

      @taken << queue[0].unanswered # Before it leaves the queue. An interrupt finds it in one of the two.
      start(queue.shift)
    end

    # Starts as many of the queue as max_concurrency allows.
    def dequeue_many = (dequeue until @queued_requests.empty? || @transfers.size >= @limit)

    # Starts a request now, queue and limit notwithstanding, or ends it without the network. It continues in `run`.
    def add(request)
      @taken << request.unanswered
      start(request)
    end

    # The batch has this request, or it has ended. One that is still in the queue after an interrupt is
    # here twice.
    def started(request) = @taken.delete(request) # :nodoc:

    # A request has ended without the network, so the first of the queue starts instead. In a
    # loop, for that may end so, too.
    def left # :nodoc:
      @free = @free.to_i + 1
      return if @free > 1

      while @free.positive?
        dequeue
        @free -= 1
      end
    ensure
      @free = 0 if $! # A callback raised it.
    end

    # Responses of this run, by request, with Config.memoize.
    def memory = @memory ||= {}

    private

    def leave(in_callback)
      @transfers.pause
    ensure
      @running.unlock unless in_callback
    end

    def start(request)
      return @transfers.start(request) unless request.layered?

      Layers.pass(request, self, (memory if Config.memoize)) { @transfers.start(request) }
      started(request)
    rescue Ethon::Errors::EthonError, Errors::NoStub
      started(request) # It is left out.
      raise
    end

    # An interrupt has kept these from being started, or from having all their callbacks called.
    def take_up_again
      @free = 0
      while (request = @taken.last)
        if request.answered?
          request.call_back
        elsif !@queued_requests.first.equal?(request) && start_again?(request)
          @queued_requests.unshift(request)
        end
        started(request)
      end
    end

    def start_again?(request)
      @starts = request.equal?(@restarted) ? @starts + 1 : 1
      @restarted = request
      @starts <= MOST_STARTS
    end

    def take(name, value)
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
