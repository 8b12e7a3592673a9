# The layers that may give a response before a request is sent: before, stubs, blocked connections, the cache, memory.

module Hecaton::Typhoeus
  # Called by Request#run and Hydra#add, so that both go the same way.
  module Layers
    # Not empty if there ever was one, but for what a request itself has. An Array, because Ruby 3.1 reads a constant
    # much faster than a variable of a module.
    USED = []

    # From now on each request looks at all of them. There is no way back, because a
    # program may keep the Array of stubs or of before.
    def self.use = USED[0] = true # :nodoc:

    # Yields if no layer has a response. hydra is the Hydra of the request, or nil. memory is the memory of that Hydra,
    # or nil.
    def self.pass(request, hydra = nil, memory = nil)
      return left(request.response, hydra) if Hecaton::Typhoeus.before? && stopped?(request)

      if (response = Expectation.response_for(request))
        return stub(request, response)
      end
      raise Errors::NoStub, request if request.blocked?

      if request.cacheable? && (response = request.cached_response)
        response.cached = true
        return left(request.finish(response), hydra)
      end
      return left(request.finish(memory[request], true), hydra) if memory && request.memoizable? && memory.key?(request)

      yield
    end

    private_class_method def self.stopped?(request)
      Hecaton::Typhoeus.before.any? do |callback|
        value = callback.call(request)
        value.nil? || value == false || value.is_a?(Response)
      end
    end

    # The response of a request that is not in flight in its hydra, where another starts instead.
    private_class_method def self.left(response, hydra)
      hydra&.note_left
      response
    end

    private_class_method def self.stub(request, response)
      request.execute_headers_callbacks(response)
      request.on_body.each { |callback| callback.call(response.body, response) }
      request.finish(response)
    end
  end
end
