# The way of a single request: through the features, with a token, to the engine and back.
module Hecaton
  # Included by Client. The engine itself reads the common options, so a request without others goes there at once, if
  # nobody observes it.
  module Sending # :nodoc: all
    private

    def send_request(method, url, options, &block)
      needs = options ? RequestBuilder.needs(options) : 0
      if @plain && !block && needs <= RequestBuilder::READABLE && !Interception.active?
        status, record, rest = @native.perform(method, url, options, nil)
        return ended(method, options && options[:raise_for_status], status, record, rest) if record
      end
      if @direct && (needs & RequestBuilder::BEARER == 0 || !options[:bearer].respond_to?(:call))
        return exchange(method, url, options || Request::NOTHING, needs, &block)
      end

      transmit(Request.allocate.load(method, url, options, @request_builder), &block)
    end

    # Sends a request, which nobody else has, on its way through the features.
    def transmit(request, &block)
      return send_through(FeatureRun.allocate.load(@features, request)) if @features && !block
      return deliver(request, &block) unless @features

      request.in_parts = true
      stream_through(FeatureRun.of(@features, request), &block)
    end

    def send_through(run)
      given = run.before
      outcome = run.after(given ? given_outcome(run, given) : sent(run, run.request))
      ended = true
      outcome.is_a?(Error) ? ResponseBuilder.raise_error(outcome) : outcome
    ensure
      cut_off(run) unless ended
    end

    # The outcome of a request as the features have left it.
    def sent(run, request)
      options = request.own_options
      if @bare && !Interception.active? && (options.nil? || RequestBuilder.needs(options) <= RequestBuilder::READABLE)
        method = request.http_method
        status, record, rest = @native.perform(method, request.target, options, nil)
        return result_of(method, options && options[:raise_for_status], status, record, rest) if record
      end
      outcome_of(run) { deliver(request, run) }
    end

    def stream_through(run)
      stream = nil
      given = run.before
      given = given_outcome(run, given) if given
      given ||= outcome_of(run) do
        result = deliver(run.request, run) { |response| yield stream = response }
        reported = run.after(read = stream.outcome)
        # An Error that the block has rescued stays rescued.
        refused = reported.is_a?(FeatureError) || (reported.is_a?(Error) && !read.is_a?(Error))
        refused ? ResponseBuilder.raise_error(reported) : (return result)
      end
      raise given if stream # What the block raised.

      outcome = run.after(given)
      return @response_builder.stream_of(outcome) { |response| yield response } if outcome.is_a?(Response)

      ResponseBuilder.raise_error(outcome)
    ensure
      stream ? run.after(stream.outcome) : cut_off(run)
    end

    # The block's value, or the Error that it raises.
    def outcome_of(run)
      yield
    rescue Error => error
      run.outcome(error)
    end

    def given_outcome(run, given)
      @response_builder.announce(run.request.http_method, given)
      given
    end

    # The features receive the end of a request that an exception of the program has cut off, an interrupt for
    # example.
    def cut_off(run)
      unless run.done?
        run.after(CancelledError.new("the request was cut off by an exception", phase: :queue, sent: true))
      end
    end

    # Sends a request, once more with another token if the first one is refused.
    def deliver(request, run = nil, &block)
      token = Token.for(@request_builder.token_source, request)
      return perform(request, run, &block) unless token

      token.with_token(Client.seconds(request[:timeout]) || @timeout, request.held?, block) do |value, limit, reader|
        perform(request.with(bearer: value, timeout: limit), run, &reader)
      end
    end

    def perform(request, run, &block)
      given = request.given
      exchange(request.http_method, request.target, given, RequestBuilder.needs(given), request, run, &block)
    end

    # request is nil if no Request was made.
    def exchange(method, target, given, needs, request = nil, run = nil, &block)
      strict = ResponseBuilder.strict(given[:raise_for_status])
      url = RequestBuilder.with_params(target, given[:params])
      built = @request_builder.build(method, url, given, needs, request, strict)
      (built[3] ||= {})[:attempts] = run if run&.attempts?
      interceptors = Interception.interceptors
      interception = Interception::Run.new(interceptors, built) if interceptors
      return open(method, url, built, strict, interception, &block) if block

      status, record, rest = @native.perform(method, url, nil, built)
      status, record, rest = interception.ended(status, record, rest) if interception
      ended(method, strict, status, record, rest)
    end

    def open(method, url, built, strict, interception, &block)
      stream = Native::Stream.new
      values = @native.open(stream, method, url, built)
      values = interception.opened(*values) if interception
      return ended(method, strict, *values) unless values.first

      @response_builder.stream(method, *values, strict, &block)
    ensure
      stream.close # An interrupt may have come before the block was called, which closes it otherwise.
      built[1].stop if built[1].is_a?(BodySource)
    end

    # Reports an outcome, and returns it.
    def result_of(method, strict, status, record, rest)
      outcome = @response_builder.outcome(status, record, rest, strict)
      @response_builder.announce(method, outcome)
      outcome
    end

    # Reports an outcome, and returns or raises it.
    def ended(method, strict, status, record, rest)
      outcome = @response_builder.outcome(status, record, rest, strict)
      @response_builder.announce(method, outcome)
      ResponseBuilder.raise_error(outcome) if outcome.is_a?(Error)

      outcome
    end
  end
end
