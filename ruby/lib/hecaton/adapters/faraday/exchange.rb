# One request of Faraday's: sent by itself, or as one of a batch; and the pieces of its body, for on_data.
class Faraday::Adapter::Hecaton
  # Hands the pieces of one response's body to on_data. Faraday 2 gives that a third argument, the env with status and
  # headers.
  class Delivery
    def initialize(env)
      @env = env
      @on_data = env.request.on_data
      @size = 0
    end

    # Hands a piece over, with the number of bytes so far.
    def piece(chunk)
      @size += chunk.bytesize
      hand_over(chunk)
    end

    # An empty body is handed over as one empty piece.
    def finish = (hand_over(+"") if @size.zero?)

    private

    def hand_over(chunk)
      @env.respond_to?(:stream_response) ? @on_data.call(chunk, @size, @env) : @on_data.call(chunk, @size)
    end
  end

  # The constructor makes the request out of the env, and the response is put into the env.
  class Exchange
    # Methods of Faraday's as they go on the wire.
    VERBS = Hash.new { |_, method| method.to_s.upcase }.update(
      %i[get head post put patch delete options trace].to_h { |method| [method, method.to_s.upcase.freeze] }
    ).freeze
    private_constant :VERBS

    # Hecaton::Client.
    attr_reader :client

    def initialize(env, client, settings)
      @env = env
      @client = client
      @settings = settings
      # After a first try, by :retry and the like, Faraday keeps the request's body where the response's is.
      @given = env.status ? env.response_body : env.request_body
      @body, @headers = Body.of(@given, env.request_headers)
      @timeout = env.request.timeout
    end

    # Sends it and waits for its end. Raises Faraday::Error.
    def perform
      return Body.keeping_place(@given) { whole_or_stream } unless @given.nil? || @given.is_a?(String)

      whole_or_stream
    end

    # Queues it in a batch for its own client, and calls the block with the error that it ended in, or nil.
    def queue(batch)
      @position = ::Hecaton::Upload.position(@given)
      @pending = send_to(batch, client: @client)
      deliver(@pending) if @env.request.stream_response?
      @pending.on_complete { |outcome| yield conclude(outcome) }
    rescue ArgumentError => error
      yield Errors.of(error, @env)
    end

    # After the end of a batch that an exception has left: the error that it ended in, or nil.
    def left
      conclude(@pending&.outcome ||
        ::Hecaton::CancelledError.new("in_parallel was left before this request began", phase: :queue, sent: false))
    end

    # Notifies those who wait for its end.
    def finish(error)
      ResponseEnv.failure(@env, error) if error
      @env.response.finish(@env)
    end

    # Whether those who wait for its end were notified.
    def finished? = @env.response.finished?

    private

    def whole_or_stream
      @env.request.stream_response? ? stream : whole
    rescue ::Hecaton::Error => error
      raise Errors.of(error, @env)
    end

    def whole
      response = send_to(@client)
      ResponseEnv.head(@env, response, @settings)
      ResponseEnv.body(@env, response, response.body)
    rescue ArgumentError => error
      raise Errors.of(error, @env)
    end

    # In a batch of one, so that on_data is called in one way.
    def stream
      failure = nil
      @client.batch { |batch| queue(batch) { |error| failure = error } }
      raise failure if failure
    end

    # To a client or a batch.
    def send_to(target, **others)
      target.request(VERBS[@env.method], @env.url.to_s, headers: @headers, body: @body, timeout: @timeout, **others)
    end

    # In a batch the pieces come by callbacks.
    def deliver(request)
      @delivery = delivery = Delivery.new(@env)
      request.on_headers { |response| ResponseEnv.head(@env, response, @settings) }
      request.on_body { |chunk| delivery.piece(chunk) }
    end

    # The error, nil for a response.
    def conclude(outcome)
      Body.return_to(@given, @position) if @position
      return Errors.of(outcome, @env) if outcome.error

      ResponseEnv.head(@env, outcome, @settings) unless @delivery
      ResponseEnv.body(@env, outcome, @delivery ? +"" : outcome.body)
      @delivery&.finish
      nil
    end
  end
end
