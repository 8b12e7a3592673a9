# Turns the engine's result into the outcome of a request, and calls the callbacks that receive it.
module Hecaton
  # Each client has one. Client#request and Batch both use it, so that requests end in the same way in both.
  class ResponseBuilder # :nodoc: all
    # The client's settings; Client.new documents each.
    def initialize(on_deprecation: nil, raise_for_status: nil, max_body: nil, log: nil)
      unless on_deprecation.nil? || on_deprecation.respond_to?(:call)
        raise ArgumentError, "on_deprecation is of class #{on_deprecation.class}: give a block of code, such as a Proc"
      end

      @on_deprecation = on_deprecation
      @strict = ResponseBuilder.strict(raise_for_status)
      @most = max_body || Native::MAX_BODY
      @log = log
      @observed = !(on_deprecation.nil? && log.nil?)
    end

    # raise_for_status of a client or a request; nil for none.
    def self.strict(value, name = :raise_for_status)
      return value if value.nil? || true == value || false == value

      raise ArgumentError, "#{name} is of class #{value.class}: give true or false"
    end

    # Response or Error. strict is the request's raise_for_status, nil for the client's.
    def outcome(status, record, rest, strict)
      return rest.is_a?(Response) ? rest : Error.from_engine(record, rest) unless status

      response = Response.allocate.load_engine(status, record, rest)
      status >= 400 && error?(status, strict) ? StatusError.new(response) : response
    end

    # Yields a Stream of a Response that a feature gave, and that was reported. Returns what the block does.
    def stream_of(response, &block)
      require_relative "interception/stream"
      body = Interception::Given.new(response, response.body.empty? ? [] : [response.body.b])
      Stream.new(response.status, response, body, @most).run(&block)
    end

    # The head of a response that is handed over in parts, as a Response without body, after its deprecation has been
    # reported. Or nil, if its outcome will be a StatusError.
    def head(status, record, strict)
      response = Response.from_engine(status, record, "")
      deprecated(response) if @on_deprecation
      response unless error?(status, strict)
    end

    # Raises an error with its cause, which Ruby would forget otherwise.
    def self.raise_error(error) = error.cause ? raise(error, cause: error.cause) : raise(error)

    # Whether a subscriber, a callback or a log receives outcomes now.
    def observed? = Events.subscribed? || @observed

    # Reports an outcome, once. request is that of a batch, whose deprecation may have been reported with its head.
    def announce(method, outcome, request = nil)
      Events.request(method, outcome) if Events.subscribed?
      @log&.outcome(method, outcome)
      deprecated(outcome.response) if @on_deprecation && outcome.response && !request&.in_parts?
    end

    # Yields a Stream, and returns what the block does. Reports how it ended.
    def stream(method, status, record, native, strict)
      stream = Stream.new(status, record, native, @most)
      started = Time.now - stream.elapsed if Events.subscribed?
      stream.run do
        deprecated(stream) if @on_deprecation
        stream.raise_for_status if strict.nil? ? @strict : strict
        yield stream
      end
    ensure
      Events.request(method, stream.last_outcome, started) if started && stream.ours?
      @log&.outcome(method, stream.last_outcome) if stream&.ours?
    end

    private

    def error?(status, strict) = status >= 400 && (strict.nil? ? @strict : strict)

    def deprecated(response) = (@on_deprecation.call(response) if response.deprecated?)
  end
end
