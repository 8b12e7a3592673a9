# The way of one client's requests into a batch.
module Hecaton
  # Included by Batch, for its own client, and by Guest, for each further one. So a request takes the same steps in
  # both.
  module Queueing # :nodoc: all
    # What makes the outcomes of these requests.
    attr_reader :response_builder

    # What receives the outcomes of these requests, for adapters: the batch itself does not call it.
    attr_accessor :receiver

    # Calls the features of a request, and then hands the request to the engine. Returns
    # the outcome if there is one already. A feature may abort the batch.
    def start_deferred(pending, queue, pieces)
      run = pending.run
      run.request.in_parts = true if pieces
      given = run.before
      return if pending.outcome
      return given if given

      request = run.request
      return start(pending, request, queue, pieces) unless @bare && queue.nil? && push_bare(pending, request)

      @target.in_parts(pending, pieces) unless pieces.nil?
      nil
    end

    # The engine itself reads the common options of a request.
    def send_request(method, url, options, &block)
      refuse_when_over if @over
      raise ArgumentError, "a request of a batch takes no block: give it to on_complete" if block

      needs = options ? RequestBuilder.needs(options, RequestBuilder::QUEUED) : 0
      if @plain && needs <= RequestBuilder::READABLE
        kind = @kind
        kind = kind(method) unless kind[0] == method
        pending = Pending.allocate.load(kind, options && options[:raise_for_status], nil)
        return pending if @native.push(pending, method, url, options, nil)
      elsif @features && options.nil?
        return defer(Request.allocate.load(method, Request.own(url), nil, @request_builder), nil)
      end
      push_with(method, url, options, needs)
    end

    # The options as the engine takes them, nil if this
    # client's requests need further steps. The options may be headers, timeout, redirects and credentials.
    def translate(options)
      @request_builder.build("GET", nil, options, RequestBuilder.needs(options), nil, nil).freeze if @plain
    end

    # Queues a request with translated options, and returns its Pending, of that class. Returns nil if the
    # client's requests need further steps in this batch: interceptors may have been added since an earlier one.
    def repeat(method, url, translated, pending = Pending)
      return unless @plain

      kind = @kind[0] == method ? @kind : kind(method)
      @native.push(pending.allocate.load(kind, nil, nil), method, url, nil, translated)
    end

    private

    # native takes the requests, and target is what notes that a response is handed over in parts. The
    # others are the client's, but for deferral and interceptors, which are the batch's.
    def queue_into(native, target, request_builder, response_builder, features, deferral, interceptors)
      @native = native
      @target = target
      @request_builder = request_builder
      @response_builder = response_builder
      @features = features
      @deferral = deferral
      @interceptors = interceptors
      @kind = @deferred_kind = [nil].freeze
      # Whether a request goes to the engine as it is.
      @plain = request_builder.plain? && features.nil? && interceptors.nil?
      @pending = features&.before_request ? TokenPending : Pending # A feature may set a token.
      @bare = features && request_builder.plain? && !features.attempts? && interceptors.nil?
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

    def push_with(method, url, options, needs)
      return push_of(method, url, options) unless needs & RequestBuilder::CLIENT == 0

      refuse_without_timeout if @must_time && needs & RequestBuilder::TIMEOUT == 0
      unless needs & RequestBuilder::QUEUE == 0
        queue = options[:queue]
        options = options.except(:queue)
      end
      # The program may change what it gave before the batch waits.
      return defer(Request.allocate.load(method, Request.own(url), Request.own(options), @request_builder),
        queue) if @features

      if @request_builder.token_source || (needs & RequestBuilder::BEARER != 0 && options[:bearer].respond_to?(:call))
        return enqueue(Request.of(method, url, options), queue)
      end

      push(method, url, options || Request::NOTHING, needs, queue)
    end

    def enqueue(request, queue)
      refuse_without_timeout if @must_time && request[:timeout].nil?
      return defer(request.prepared(@request_builder), queue) if @features

      token = Token.for(@request_builder.token_source, request)
      return enqueue_with_token(token, request, queue) if token

      push_request(request, queue)
    end

    # Keeps a request, which nobody else has, until the batch waits. Its features are called then.
    def defer(request, queue)
      Batch.front?(queue) if queue # ArgumentError now.
      unless @deferred_kind[0] == request.http_method
        @deferred_kind = [request.http_method, @deferral, self].freeze
      end
      run = FeatureRun.allocate.load(@features, request)
      options, source = request.own_options, @request_builder.token_source
      strict = ResponseBuilder.strict(options[:raise_for_status]) if options
      pending = (options || source) && Token.for(source, request) ? TokenPending : @pending
      @deferral.add(pending.allocate.load(@deferred_kind, strict, nil, run), queue)
    end

    # Hands a request to the engine. Returns the Error if it cannot be sent.
    def start(pending, request, queue, pieces)
      if (token = Token.for(@request_builder.token_source, request))
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

    def push_bare(pending, request)
      method, options = request.http_method, request.own_options
      return if options && RequestBuilder.needs(options) > RequestBuilder::READABLE

      kind = @kind[0] == method ? @kind : kind(method)
      @native.push(pending.load(kind, options && options[:raise_for_status], nil), method, request.target, options, nil)
    end

    def push_request(request, queue, run = nil, &block)
      given = request.given
      push(request.http_method, request.target, given, RequestBuilder.needs(given), queue, request, run, &block)
    end

    # Yields the parts of a Pending, and the block returns that Pending. request is nil if no Request was made.
    def push(method, target, given, needs, queue, request = nil, run = nil)
      strict = ResponseBuilder.strict(given[:raise_for_status])
      url = RequestBuilder.with_params(target, given[:params])
      built = @request_builder.build(method, url, given, needs, request, strict)
      source = built[1] if built[1].is_a?(BodySource)
      pending = block_given? ? yield(kind(method), strict, source) : Pending.of(kind(method), strict, source)
      (built[3] ||= {})[:front] = true if Batch.front?(queue)
      (built[3] ||= {})[:attempts] = run if run&.attempts?
      pending.interception = Interception::Run.new(@interceptors, built) if @interceptors
      if (rare = built[3])
        pending.predicate = rare[:predicate]
        expect_hook_calls if rare[:predicate] || rare[:attempts] # From now on the engine may call them.
      end
      @native.push(pending, method, url, nil, built)
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
  end
end
