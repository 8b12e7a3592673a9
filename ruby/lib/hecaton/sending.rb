# The way of a single request: through the features, with a token, to the engine and back.
module Hecaton
  # Included by Client. A request without options goes to the engine at once, if nobody observes it.
  module Sending
    GET = "GET".freeze
    private_constant :GET

    private

    # For Verbs. A Request is made only for features; most requests have no more than a URL and headers.
    def send_request(method, url, options, &block)
      if @plain && !block
        return ended(method, nil, *engine.perform(method, url, nil, nil, nil, nil)) if options.nil?
        return perform_one(method, url, options) if options.size == 1
      elsif @features && !block && options.nil?
        return send_through(FeatureRun.allocate.load(@features, Request.allocate.load(method, url, nil, @request_builder)))
      end

      perform_with(method, url, options, &block)
    end

    # Short ways for one option that is common.
    def perform_one(method, url, options)
      if options.key?(:headers)
        flat = RequestBuilder.flat_of(options[:headers])
      elsif method == GET
        return perform_with(method, url, options) unless options.key?(:raise_for_status)

        strict = ResponseBuilder.strict(options[:raise_for_status])
      else
        body = options[:body]
        return perform_with(method, url, options) unless body.instance_of?(String)
      end
      ended(method, strict, *engine.perform(method, url, flat, body, nil, nil))
    end

    def perform_with(method, url, options, &block)
      needs = options ? RequestBuilder.needs(options) : 0
      if @direct && (needs & RequestBuilder::BEARER == 0 || !options[:bearer].respond_to?(:call))
        return exchange(method, url, options || Request::NOTHING, needs, nil, nil, &block)
      end

      return transmit(Request.of(method, url, options), &block) if block || !@features

      send_through(FeatureRun.allocate.load(@features, Request.allocate.load(method, url, options, @request_builder)))
    end

    # Sends a request on its way through the features.
    def transmit(request, &block)
      return deliver(request, &block) unless @features

      run = @features.run(request, @request_builder, block)
      block ? stream_through(run, &block) : send_through(run)
    end

    def send_through(run)
      given = run.before
      request = run.request
      if given.nil? && @bare && (request.own_options.nil? || request.bare?)
        method = request.http_method
        flat = RequestBuilder.flat_of(request.own_options[:headers]) if request.own_options
        outcome = result_of(method, nil, *engine.perform(method, request.target, flat, nil, nil, nil))
        outcome = run.after(outcome) if @reports
      else
        outcome = run.after(given ? given_outcome(run, given) : outcome_of(run) { deliver(request, run) })
      end
      ended = true
      outcome.is_a?(Error) ? ResponseBuilder.raise_error(outcome) : outcome
    ensure
      cut_off(run) unless ended
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
      run.after(CancelledError.new("the request was cut off by an exception", phase: :queue, sent: true)) unless run.done?
    end

    # Sends a request, once more with another token if the first one is refused.
    def deliver(request, run = nil, &block)
      token = Token.for(@request_builder.token_source, request)
      return perform(request, run, &block) unless token

      token.with_token(Client.seconds(request[:timeout]) || @timeout, request.held?, block) do |value, limit, reader|
        perform(request.with(bearer: value, timeout: limit), run, &reader)
      end
    end

    def perform(request, run = nil, &block)
      given = request.given
      exchange(request.http_method, request.target, given, RequestBuilder.needs(given), request, run, &block)
    end

    # request is nil if no Request was made.
    def exchange(http_method, target, given, needs, request, run, &block)
      strict = ResponseBuilder.strict(given[:raise_for_status]) unless needs & RequestBuilder::STRICT == 0
      stream = Native::Stream.new if block
      source = nil
      status, record, rest =
        @request_builder.call(http_method, target, given, needs, request) do |method, url, flat, content, _, limit, options|
          options[:predicate] &&= RetryPredicate.new(options[:predicate], @response_builder, strict) if options
          options = (options || {}).merge(attempts: run) if run&.attempts?
          if stream
            source = content if content.is_a?(BodySource)
            next engine.open(stream, method, url, flat, content, limit, options)
          end

          engine.perform(method, url, flat, content, limit, options)
        end
      return @response_builder.stream(http_method, status, record, rest, strict, &block) if stream && status

      ended(http_method, strict, status, record, rest)
    ensure
      stream&.close # An interrupt may have come before the block was called, which closes it otherwise.
      source&.stop
    end

    # Reports an outcome, and returns it.
    def result_of(method, strict, status, record, rest)
      outcome = @response_builder.outcome(status, record, rest, strict)
      @response_builder.announce(method, outcome)
      outcome
    end

    # Reports an outcome, and returns or raises it.
    def ended(method, strict, status, record, rest)
      outcome = result_of(method, strict, status, record, rest)
      ResponseBuilder.raise_error(outcome) if outcome.is_a?(Error)

      outcome
    end
  end
end
