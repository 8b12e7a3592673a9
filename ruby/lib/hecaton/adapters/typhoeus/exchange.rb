# One request sent by its client, whole or piece by piece → a Response.
module Hecaton
  module Typhoeus
    # Without callbacks of its own: the caller gives a listener, which receives the head and each piece.
    module Exchange
      class << self
        # A Response. listener has head(response), takes_body?, and chunk(bytes, head), which may say :abort; nil for
        # none.
        def perform(plan, url, listener = nil)
          return response(plan, plan.forbidden) if plan.forbidden

          listener ? in_pieces(plan, url, listener) : response(plan, whole(plan, url))
        ensure
          plan.finish if plan.cookies
        end

        # The Response for an outcome.
        def response(plan, outcome)
          code = plan.unwanted(outcome) if outcome.is_a?(Hecaton::Response)
          code ? Response.of(outcome, code, "".b) : Response.of(outcome)
        end

        # Yields, and returns what the block does. Where WebMock has its adapter for Typhoeus, only that adapter handles
        # these requests. If it is on, it has already seen the request; if it is off (`except: [:typhoeus]`, VCR's own
        # hook), the request must not reach WebMock in another way.
        def seen_once(&block)
          return yield unless Hecaton::Interception.active? && webmock_knows?

          Hecaton::Interception.bypass(:webmock, &block)
        end

        private

        def webmock_knows?
          Typhoeus.equal?(defined?(::Typhoeus) && ::Typhoeus) && defined?(::WebMock::HttpLibAdapters::TyphoeusAdapter)
        end

        def whole(plan, url)
          seen_once { plan.request(url) }
        rescue Hecaton::Error => error
          error
        end

        def in_pieces(plan, url, listener)
          stream = nil
          body = "".b
          code = nil
          outcome = seen_once do
            plan.request(url) do |response|
              stream = response
              code = read(plan, stream, listener, body)
              stream.outcome
            end
          end
          Response.of(outcome, code, body)
        rescue Hecaton::Error => error
          raise if stream && !stream.outcome.equal?(error) # A callback raised it.

          Response.of(error, nil, body, stream&.status)
        end

        # Adds the body to `body` unless the listener takes it. Returns a return code if the body was cut short or is
        # not needed, else nil.
        def read(plan, stream, listener, body)
          head = Response.of(stream)
          listener.head(head)
          code = plan.unwanted(stream)
          return code if code

          keep = !listener.takes_body?
          stream.each_chunk do |chunk|
            return :write_error if listener.chunk(chunk, head) == :abort

            body << chunk if keep
          end
          nil
        end
      end

      # Calls a request's own callbacks.
      class Listener
        def initialize(request)
          @request = request
          @received = 0
        end

        # The head of the response is there.
        def head(response)
          @length = response.headers["Content-Length"].to_i
          @request.execute_headers_callbacks(response)
        end

        # Whether the body goes to on_body, and the Response has none.
        def takes_body? = @request.streaming?

        # A piece of the body. Returns :abort if a callback did.
        def chunk(bytes, head)
          @received += bytes.bytesize
          @request.listening_to_progress.each do |callback|
            callback.call(@length, @received, 0, 0, takes_body? ? head : nil)
          end
          :abort if @request.on_body.any? { |callback| callback.call(bytes, head) == :abort }
        end
      end
    end
  end
end
