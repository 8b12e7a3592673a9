# The transfers of a hydra that are under way.
module Hecaton
  module Typhoeus
    class Hydra
      # Requests of the same settings run in one batch, in the thread that runs the hydra. Requests with other settings,
      # or with callbacks before their end, run in a thread each; the hydra's thread calls their callbacks.
      #
      # Requests under way when an exception leaves `run` stay so, and the next `run` reports them.
      class Transfers
        # The batch has no limit: the hydra itself limits the number of requests.
        NO_LIMIT = 2**32 - 1
        private_constant :NO_LIMIT

        # hydra receives each request that ended and its Response.
        def initialize(hydra)
          @hydra = hydra
          begin_again
        end

        # How many are under way.
        def size = @batch ? @batch.size + @workers.size : @workers.size

        # Starts a request.
        def start(request)
          apart = @apart || @workers.size.positive? || request.watched?
          return start_plain(request) if !apart && request.plain? && batch_for(Clients.default)

          request.plan = plan = Plan.of(request)
          return request.finish(Exchange.response(plan, plan.forbidden)) if plan.forbidden
          return work(request, plan) if apart || plan.alone? || !batch_for(plan.client)

          plan.request(@batch, plan.url_of(request)).on_complete { |outcome| @hydra.ended(request, Exchange.response(plan, outcome)) }
        end

        # Waits until something has happened, and reports it.
        def wait
          if @batch && @batch.size.positive?
            @batch.send(:report) if @batch.send(:wait)
            report(@events.pop) until @events.empty?
          else
            report(@events.pop)
          end
        end

        # Before `wait`: finds again what an interrupt may have kept from being reported. A child of fork has nothing under
        # way.
        #
        # If any queued request has callbacks before its end, all have a thread, for the hydra cannot wait for a batch
        # beside them.
        def resume(queued)
          begin_again if @home != Process.pid
          @apart = queued.any?(&:watched?)
          @workers.each_key { |worker| @events << worker if worker.ready? }
        end

        # After `wait`. A request with callbacks before its end cannot continue while nobody listens, and a thread that
        # was killed will not come back.
        def pause
          return stop if Thread.current.status == "aborting"

          @workers.each_key(&:give_up)
          close if @batch&.size&.zero?
        end

        private

        def begin_again
          @home = Process.pid
          @batch = @client = nil
          @workers = {}.compare_by_identity
          @events = Thread::Queue.new
        end

        def stop
          @workers.each_key(&:stop)
          close if @batch
          begin_again
        end

        def close
          @batch.send(:close)
          @batch = nil
        end

        def start_plain(request)
          Clients.warn_of_timeout
          @batch.get(request.base_url).on_complete { |outcome| @hydra.ended(request, Response.of(outcome)) }
        end

        # Whether requests of this client can go into the batch.
        def batch_for(client)
          return true if @batch && @client.equal?(client)
          return false if @batch && @batch.size.positive?

          close if @batch
          @client = client
          @batch = Exchange.seen_once { client.send(:new_batch, NO_LIMIT, nil, nil) }
        end

        def work(request, plan)
          worker = Worker.new(request, plan, @events)
          @workers[worker] = request
          worker.start
        end

        def report(worker)
          return unless worker.ready? && @workers.key?(worker)
          return worker.resume unless worker.done?

          @hydra.ended(@workers.delete(worker), worker.response)
        end
      end

      # A request in a thread of its own. The hydra's thread receives its messages and replies.
      class Worker
        # events is a Thread::Queue, which it is put in whenever it has something to say.
        def initialize(request, plan, events)
          @request = request
          @plan = plan
          @events = events
          @results = Thread::Queue.new
          @listener = Exchange::Listener.new(request)
        end

        # Begins.
        def start
          @thread = Thread.new do
            say(:done, Exchange.perform(@plan, @plan.url_of(@request), (self if @request.watched?)))
          rescue Exception => error # Any exception is raised again in the hydra's thread.
            say(:failed, error)
          end
          @thread.report_on_exception = false
        end

        # Whether it has something to say, and whether that is all.
        def ready? = !@message.nil?
        # Whether its request has ended.
        def done? = @message && %i[done failed].include?(@message.first)

        # Response; raises what kept it from one.
        def response
          raise @message.last if @message.first == :failed

          @message.last
        end

        # Calls the callbacks for its message, and lets it continue.
        def resume
          message, @message = @message, nil
          @results << @listener.public_send(*message)
        end

        # Nobody listens any more: requests that report before their end are ended, and their connections closed.
        def give_up
          return if done? || !@request.watched?

          stop
          return if done? # Just then.

          why = "hydra.run was left before this request ended"
          @message = [:done, Response.of(Hecaton::CancelledError.new(why, phase: :read, sent: true))]
        end

        # Ends it, and closes its connection.
        def stop = @thread&.kill&.join

        # For Exchange, in its own thread.
        def head(response) = call_hydra(:head, response)
        # Whether the body is handed over in pieces.
        def takes_body? = @request.streaming?
        # Hands a piece over, and waits until its callbacks have run.
        def chunk(bytes, head) = call_hydra(:chunk, bytes, head)

        private

        def say(*message)
          @message = message
          @events << self
        end

        def call_hydra(*message)
          say(*message)
          @results.pop
        end
      end
    end
  end
end
