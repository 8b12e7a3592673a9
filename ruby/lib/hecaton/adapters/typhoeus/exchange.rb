# One request sent by its client, whole or piece by piece → a Response.

module Hecaton::Typhoeus
  # It calls only the callbacks that receive the head and each piece.
  module Exchange
    module_function

    # A Response. watched is the Request whose callbacks receive it while it comes in, nil for none.
    def perform(plan, url, watched = nil)
      return response(plan, plan.forbidden) if plan.forbidden

      watched ? in_pieces(plan, url, watched) : response(plan, whole(plan, url))
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

    private_class_method def webmock_knows?
      defined?(::Typhoeus) && Hecaton::Typhoeus.equal?(::Typhoeus) &&
      defined?(::WebMock::HttpLibAdapters::TyphoeusAdapter)
    end

    private_class_method def whole(plan, url)
      seen_once { plan.request(url) }
    rescue Hecaton::Error => error
      error
    end

    # In a batch of one, which ends the request where a callback raises, or has enough of it.
    private_class_method def in_pieces(plan, url, request)
      batch = seen_once { plan.client.send(:new_batch, nil, nil, nil) }
      pending = plan.queue(batch, url)
      parts = InParts.new(request, plan, batch, pending)
      nil while batch.step
      parts.response(pending.outcome)
    rescue Hecaton::URLError => error
      raise if pending # A callback raised it.

      Response.of(error, nil, "".b)
    ensure
      batch&.close
    end
  end
end
