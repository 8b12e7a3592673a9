# A hydra's request whose callbacks receive its response while it comes in.
module Hecaton
  module Typhoeus
    class Hydra
      # Calls on_headers, on_body and on_progress of a request, and makes its Response.
      class InParts
        def initialize(request, plan, batch, pending)
          @plan = plan
          @batch = batch
          @pending = pending
          @listener = Exchange::Listener.new(request)
          @body = "".b
          pending.on_headers { |response| guard(:head) { head(response) } }
          pending.on_body { |bytes| guard(bytes) { piece(bytes) } }
        end

        # The Response for the outcome.
        def response(outcome)
          return Response.of(outcome, @code, @body) if outcome.is_a?(Hecaton::Response)

          Response.of(outcome, @code, @body, @head&.code)
        end

        private

        def head(response)
          @head = Response.of(response)
          @listener.head(@head)
          @plan.unwanted(response)
        end

        def piece(bytes)
          return :write_error if @listener.chunk(bytes, @head) == :abort

          @body << bytes unless @listener.takes_body?
          nil
        end

        # Ends the request if the block returns a return code, or if an exception leaves it: a callback that has missed
        # a piece gets no other. After an interrupt, the batch hands the same part over again.
        def guard(part)
          return if @code || part.equal?(@part)

          code = :aborted_by_callback
          @part = part
          code = yield
        ensure
          if code
            @code = code
            @batch.enough(@pending)
          end
        end
      end
    end
  end
end
