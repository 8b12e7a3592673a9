# The transfers of a hydra that are under way.
require_relative "in_parts"

module Hecaton
  module Typhoeus
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

        # hydra receives each request that ended and its Response.
        def initialize(hydra)
          @hydra = hydra
          @home = Process.pid
          @batch = @client = @starting = @restarted = nil
          @delivered = nil # The request whose callbacks were begun last, by its Pending.
          @left = [] # Those that have ended and whose callbacks were not begun, because `run` was left.
        end

        # How many are under way.
        def size = @batch ? @batch.size : 0

        # Starts a request. One that cannot be sent as it is given is left out.
        def start(request)
          @starting = request
          request.plain? && !request.watched? ? start_plain(request) : start_by_plan(request)
        rescue Ethon::Errors::EthonError
          @starting = nil
          raise
        end

        # Waits until something has happened, and reports it. False if nothing was left.
        def wait = @batch ? @batch.step : false

        # Before `wait`: makes the calling thread the one that runs the hydra, puts a request back that an interrupt kept
        # from being started, and calls the callbacks that it kept from being called.
        def resume(queue)
          leave_to_parent if @home != Process.pid
          @batch&.adopt
          start_again(queue) if @starting
          note_left
          call_left
        end

        # After `wait`. What is under way stays so, and callbacks that were not called are noted for the next `run`.
        def pause
          return unless @batch

          note_left
          close if @batch.size.zero?
        end

        private

        # In a child of fork: requests under way are the parent's, and fail here.
        def leave_to_parent
          @home = Process.pid
          @left.concat(close) if @batch
        end

        # An interrupt can come after a request was taken from the batch, and before its callbacks.
        def note_left
          pending = @batch&.last_called
          @left << pending unless pending.nil? || pending.equal?(@delivered) || @left.include?(pending)
        end

        def call_left
          while (pending = @left.first)
            pending.call_back unless pending.equal?(@delivered)
            @left.shift if pending.equal?(@left.first)
          end
        end

        def close
          batch = @batch
          @batch = nil # First: an interrupt must not leave a closed one here.
          batch.close
        end

        # Once for each request, in case its own code always raises.
        def start_again(queue)
          request = @starting
          @starting = nil
          return if @restarted.equal?(request)

          @restarted = request
          queue.unshift(request)
        end

        def start_by_plan(request)
          request.plan = plan = Plan.of(request)
          return end_at_once(request, plan) if plan.forbidden

          batch = batch_for(plan.client)
          pending = plan.queue(batch, plan.url_of(request), (plan.client unless plan.client.equal?(@client)))
          @starting = nil # Now: nothing is sent twice.
          request.in_parts = (InParts.new(request, plan, batch, pending) if request.watched?)
          promise(request, pending)
        end

        def end_at_once(request, plan)
          @starting = nil
          request.finish(Exchange.response(plan, plan.forbidden))
        end

        def start_plain(request)
          Clients.warn_of_timeout
          request.plan = nil if request.plan
          client = Clients.default
          batch = batch_for(client)
          pending = batch.get(request.base_url, (client.equal?(@client) ? nil : { client: client }))
          @starting = nil
          promise(request, pending)
        end

        # The batch, which belongs to the client of its first request.
        def batch_for(client)
          @batch || begin
            @client = client
            @batch = Exchange.seen_once { client.send(:new_batch, NO_LIMIT, nil, nil) }
          end
        end

        def promise(request, pending)
          pending.on_complete { |outcome| deliver(pending, request, outcome) }
        end

        # Calls the callbacks of a request that has ended.
        def deliver(pending, request, outcome)
          response = request.plan ? request.response_for(outcome) : Response.of(outcome)
          @hydra.ended(request, response) { @delivered = pending }
        end
      end
    end
  end
end
