# The way of one client's requests into a batch.
module Hecaton
  # Included by Batch, for its own client, and by Guest, for each further one. So a request takes the same steps in
  # both.
  module Queueing
    GET = "GET".freeze
    private_constant :GET

    # For the batch: what makes the outcomes of these requests.
    attr_reader :response_builder

    # For the batch, when it waits: calls the features of a request, and then hands the request to the engine. Returns
    # the outcome if there is one already. A feature may abort the batch.
    def start_deferred(pending, queue, pieces)
      run = pending.run
      run.request.in_parts = true if pieces
      given = run.before
      return if pending.outcome

      request = run.request
      if given.nil? && @bare && queue.nil? && pieces.nil? && request.own_options.nil? && request.http_method == GET
        pending.kind = @get
        @native.push_get(pending, request.target)
        nil
      else
        given || start(pending, request, queue, pieces)
      end
    end

    # For Verbs. A Request is made only for features; most requests have no more than a URL and headers.
    def send_request(method, url, options, &block)
      refuse_when_over if @over
      raise ArgumentError, "a request of a batch takes no block: give it to on_complete" if block

      if @plain
        return push_plain(method, url, nil) if options.nil?

        return push_one(method, url, options) if options.size == 1
      elsif @features && options.nil?
        return defer(Request.allocate.load(method, url.frozen? ? url : Request.own(url), nil, @request_builder), nil)
      end
      push_with(method, url, options || Request::NOTHING)
    end

    # For adapters, which queue many requests with equal options: what `repeat` takes, nil if this client's requests
    # need further steps. The options may be headers, timeout, redirects and credentials.
    def translate(options)
      return unless @plain

      needs = RequestBuilder.needs(options)
      @request_builder.call(GET, nil, options, needs, nil) { |*, flat, _, _, limit, rare| [flat, limit, rare].freeze }
    end

    # For adapters: queues a request with translated options, and returns its Pending.
    def repeat(method, url, translated)
      flat, limit, rare = translated
      @native.push(Pending.of(kind(method), nil, nil), method, url, flat, nil, limit, rare)
    end

    private

    # For initialize. native takes the requests, and target is what notes that a response is handed over in parts. The
    # others are the client's, but for deferral, which is the batch's and is nil without features.
    def queue_into(native, target, request_builder, response_builder, features, deferral)
      @native = native
      @target = target
      @request_builder = request_builder
      @response_builder = response_builder
      @features = features
      @deferral = deferral
      @get = @kind = [GET, target, self].freeze
      # Whether a request of a URL and headers goes to the engine as it is.
      @plain = request_builder.plain? && features.nil?
      # Whether a request may do without a Request, because nobody else sees it.
      @direct = features.nil? && request_builder.token_source.nil?
      @pending = features&.before_request ? TokenPending : Pending # A feature may set a token.
      @bare = features && request_builder.plain? && !features.attempts?
    end

    # Hands a request to the way of its own client.
    def push_of(method, url, options)
      way = way_of(options[:client])
      others = options.except(:client)
      others = nil if others.empty?
      way.send_request(method, url, others)
    end

    def refuse_without_timeout
      raise ArgumentError,
        "the request has no timeout: give it one or a client, or give Hecaton.batch a timeout for all"
    end

    # Short ways for one option that is common.
    def push_one(method, url, options)
      return push_plain(method, url, options[:headers]) if options.key?(:headers)

      if method == GET
        return push_get(url, ResponseBuilder.strict(options[:raise_for_status])) if options.key?(:raise_for_status)
      elsif (body = options[:body]).instance_of?(String)
        return @native.push(Pending.of(kind(method), nil, nil), method, url, nil, body, nil, nil)
      end

      push_with(method, url, options)
    end

    def push_plain(method, url, headers, pending = Pending.allocate)
      return @native.push_get(pending.load(@get, nil, nil), url) if headers.nil? && method == GET

      @native.push(pending.load(kind(method), nil, nil), method, url, RequestBuilder.flat_of(headers), nil, nil, nil)
    end

    def push_get(url, strict) = @native.push_get(Pending.of(@get, strict, nil), url)

    def push_with(method, url, options)
      needs = RequestBuilder.needs(options, RequestBuilder::QUEUED)
      return push_of(method, url, options) unless needs & RequestBuilder::CLIENT == 0

      refuse_without_timeout if @must_time && needs & RequestBuilder::TIMEOUT == 0

      queue = options[:queue] unless needs & RequestBuilder::QUEUE == 0
      unless @direct && (needs & RequestBuilder::BEARER == 0 || !options[:bearer].respond_to?(:call))
        options = options.except(:queue) unless needs & RequestBuilder::QUEUE == 0
        # The program may change what it gave before the batch waits.
        return defer(Request.allocate.load(method, Request.own(url), Request.own(options), @request_builder),
          queue) if @features

        return enqueue(Request.of(method, url, options), queue)
      end

      push(method, url, options, needs, queue) { |kind, strict, source| Pending.of(kind, strict, source) }
    end

    # For a Request.
    def enqueue(request, queue)
      refuse_without_timeout if @must_time && request[:timeout].nil?
      return defer(request.prepared(@request_builder), queue) if @features

      token = Token.for(@request_builder.token_source, request)
      return enqueue_with_token(token, request, queue) if token

      push_request(request, queue) { |kind, strict, source| Pending.of(kind, strict, source) }
    end

    # Keeps a request, which nobody else has, until the batch waits. Its features are called then.
    def defer(request, queue)
      Batch.with_queue(nil, queue) if queue # ArgumentError now.
      kind = @deferred_kind
      kind = @deferred_kind = [request.http_method, @deferral,
                               self].freeze unless kind && kind.first == request.http_method
      run = FeatureRun.allocate.load(@features, request)
      return @deferral.add(@pending.allocate.load(kind, nil, nil, run),
        nil) if @bare && request.own_options.nil? && queue.nil?

      pending = Token.for(@request_builder.token_source, request) ? TokenPending : @pending
      @deferral.add(pending.allocate.load(kind, ResponseBuilder.strict(request[:raise_for_status]), nil, run), queue)
    end

    # Hands a request to the engine. Returns the Error if it cannot be sent.
    def start(pending, request, queue, pieces)
      if @bare && queue.nil? && request.bare?
        push_plain(request.http_method, request.target, request.given[:headers], pending)
      elsif (token = Token.for(@request_builder.token_source, request))
        enqueue_with_token(token, request, queue, pending)
      else
        push_request(request, queue, pending.run) { |*parts| pending.load(*parts) }
      end
      @target.in_parts(pending, pieces) unless pieces.nil?
      nil
    rescue StandardError => error
      return error if error.is_a?(Error)

      FeatureError.new("the request cannot be sent: #{error.message}", phase: :queue,
        url: RequestLog.given(request.url), cause: error)
    end

    def push_request(request, queue, run = nil, &block)
      given = request.given
      push(request.http_method, request.target, given, RequestBuilder.needs(given), queue, request, run, &block)
    end

    # Yields the parts of a Pending, and the block returns that Pending. request is nil if no Request was made.
    def push(method, target, given, needs, queue, request = nil, run = nil)
      strict = ResponseBuilder.strict(given[:raise_for_status]) unless needs & RequestBuilder::STRICT == 0
      @request_builder.call(method, target, given, needs, request) do |_, url, flat, content, source, limit, options|
        options = Batch.with_queue(options, queue) if queue
        if run&.attempts?
          @has_hook_calls = true
          options = (options || {}).merge(attempts: run)
        end
        pending = yield kind(method), strict, source
        pending.predicate = predicate(options[:predicate], strict) if options && options[:predicate]
        @native.push(pending, method, url, flat, content, limit, options)
      end
    end

    # Queues a request with a token, which is fetched now, and perhaps once more.
    def enqueue_with_token(token, request, queue, pending = nil)
      run = pending&.run
      loaded = false
      again = lambda do |value, limit, position|
        push_request(request.with(bearer: value, timeout: limit), position, run) do |*parts|
          next pending if loaded

          loaded = true
          pending = pending ? pending.load(*parts) : TokenPending.of(*parts)
        end
      end
      again.call(token.value, request[:timeout], queue)
      return pending if pending.body_source

      limit = Client.seconds(request[:timeout]) || @request_builder.timeout
      pending.renew(token, limit) { |value, left| again.call(value, left, :front) }
    end

    # The facts that this client's requests of a method share.
    def kind(verb)
      @kind = [verb, @target, self].freeze unless @kind[0] == verb
      @kind
    end

    # The retry predicate, which decides whether a request is sent again. From now on the engine may call it.
    def predicate(block, strict)
      expect_hook_calls
      RetryPredicate.new(block, @response_builder, strict)
    end
  end
end
