# The transfers of a hydra that are under way.

module Hecaton::Typhoeus
  class Hydra
    # All of them run in one batch, in the thread that runs the hydra, whatever their settings are: each request names
    # its client. So none waits for one with other settings.
    #
    # The batch alone knows what is under way: also outcomes that it has received and not delivered, because an
    # exception or Thread#kill left `run`. The next `run` delivers them, in whatever thread.
    class Transfers
      # The batch has no limit: the hydra itself limits the number of requests.
      NO_LIMIT = 2**32 - 1
      private_constant :NO_LIMIT

      # hydra receives each request that ended and its Response. taken are those that it has begun to start.
      def initialize(hydra, taken)
        @hydra = hydra
        @taken = taken
        @home = Process.pid
        @batch = @client = @way = nil # The last request's client, and its way into the batch.
        @size = 0
        @sending = @sent = nil # The request that is being started, and its Pending, as soon as that is known.
        @delivered = nil # The request that got its Response last, by its Pending.
        @calls = nil # The callbacks of that.
        @calling = nil # The request whose callbacks are being called, by its Pending.
        @left = [] # Those that have ended and whose callbacks were not all begun, because `run` was left.
      end

      # How many are under way. Those that ended count until their callbacks are called.
      attr_reader :size

      # Starts a request. One that cannot be sent as it is given is left out.
      def start(request)
        plan = request.plan_sending
        return forbid(request, plan) if !plan.plain && plan.forbidden

        client = plan.client
        way = client.equal?(@client) ? @way : way_of(client)
        url = plan.url_of(request)
        @sent = nil
        @sending = request
        promise(request, plan.queue(way, url))
      rescue Hecaton::ForkError
        raise if @home == Process.pid

        leave_to_parent # A callback has forked, and this is the child.
        retry
      rescue Ethon::Errors::EthonError
        @taken.delete(request) # It is left out.
        raise
      end

      # Waits until something has happened, and reports it. False if nothing was left.
      def wait
        recover if @sending
        call_left unless @left.empty?
        @batch ? @batch.step : false
      rescue Hecaton::ForkError
        raise if @home == Process.pid

        leave_to_parent
        call_left
        @hydra.dequeue_many
        true
      end

      # Before `wait`: makes the calling thread the one that runs the hydra, and calls the callbacks that an interrupt
      # kept from being called.
      def resume
        leave_to_parent if @home != Process.pid
        @batch&.adopt
        recover if @sending
        note_left
        call_left
        # An interrupt may have come between an end and its count.
        @size = @batch ? @batch.size : 0 if @left.empty?
      end

      # After `wait`. Requests under way stay so, and callbacks that were not called are noted for the next `run`.
      def pause
        return unless @batch

        note_left
        close if @batch.size.zero?
      end

      # Calls the callbacks of a request that has ended, or the rest of them if `run` was left between two.
      def deliver(pending, request, outcome) # :nodoc:
        outer = @calling
        @calling = pending
        unless pending.equal?(@delivered)
          calls = request.take_outcome(outcome, pending)
          @calls, @delivered, @size = calls, pending, @size - 1
        end
        request.call_listed(@calls) # It may be queued again already, and then has none of its own.
        @hydra.dequeue_many
      ensure
        @calling = outer
      end

      private

      # The start of a request was left. An interrupt can come when the batch has the request, and before it has its
      # callback, which each other request of the batch has.
      def recover
        pending = @sent || @batch&.without_callback
        promise(@sending, pending) if pending
        @sending = nil
      end

      # In a child of fork: requests under way are the parent's, and fail here.
      def leave_to_parent
        @home = Process.pid
        @left.concat(close) if @batch
      end

      # An interrupt can come after a request was taken from the batch, and before the last of its callbacks. A
      # callback that runs the hydra is not over.
      def note_left
        pending = @batch&.last_called
        return if pending.nil? || pending.equal?(@calling)

        @left << pending unless @left.include?(pending)
        @batch.forget_last_called
      end

      def call_left
        while (pending = @left.first)
          return if pending.equal?(@calling)

          pending.call_back
          @left.shift if pending.equal?(@left.first)
        end
      end

      def close
        batch = @batch
        @batch = @client = nil # First: an interrupt must not leave a closed one here.
        batch.close
      end

      # Ends a request whose scheme is forbidden.
      def forbid(request, plan)
        request.finish(Exchange.response(plan, plan.forbidden))
        @hydra.note_started(request)
      end

      # The way of this client's requests into the batch, which belongs to the client of its first request.
      def way_of(client)
        @batch ||= Exchange.seen_once { client.send(:new_batch, NO_LIMIT, nil, nil) }
        way = @batch.way_of(client)
        way.receiver = self
        @client, @way = client, way
        way
      end

      # Does each step once, also if it is called again.
      def promise(request, pending)
        @sent = pending
        hand_over(request, pending) if request.hands_over_parts? && !pending.in_parts?
        if pending.instance_of?(Sent) then pending.callback = request
        elsif !pending.callback? then pending.on_complete { |outcome| deliver(pending, request, outcome) }
        end
        @taken.delete(request)
        @sending, @sent, @size = nil, nil, @size + 1
        nil # The values would be an Array.
      end

      # A request may be under way more than once, so its Pending has what collects the parts of a response.
      def hand_over(request, pending)
        request.came_in_parts = true
        pending.parts = InParts.new(request, request.sending_plan, @batch, pending)
      end
    end
  end
end
