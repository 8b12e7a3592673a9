# Requests that run together under one limit; callbacks may queue more while it runs.
module Hecaton
  # Made by Client#batch; used by the thread that made it.
  #
  #   client.batch(concurrency: 50) do |batch|
  #     batch.get(url).on_complete do |outcome|
  #       outcome.response # Response, or nil when the request failed
  #       outcome.error    # Error, or nil when there is a response
  #       batch.get(another_url)
  #     end
  #   end
  #
  # Every request ends in exactly one outcome, a Response or an Error. A request's timeout starts
  # when its turn comes, so waiting in a long queue does not use it up.
  #
  # Nothing of the batch proceeds while a callback runs. So queue further requests in the batch. A callback that calls
  # Client#get may wait until its timeout for a connection (per_origin, max_connections), or for an HTTP/2 stream.
  # Requests of this batch may hold them all.
  #
  # A large body need not be held: on_headers and on_body of a Pending hand a response over as it comes in.
  #
  # An exception that leaves a callback (or Thread#kill, Timeout.timeout, Ctrl-C) leaves Client#batch
  # at once. Then requests in flight are stopped and their connections are closed. Queued requests are never sent, and
  # no further callback is called. The outcome of each of these requests is a CancelledError. A request that had ended
  # without its callback being called keeps its real outcome.
  class Batch
    include Verbs

    GET = "GET".freeze
    private_constant :GET

    # For Client#batch, which is the way to one.
    def initialize(native, request_builder, response_builder, features = nil)
      @native = native
      @request_builder = request_builder
      @response_builder = response_builder
      @ended = [] # what the engine has handed back, four values a request
      @reported = 0 # up to this index their callbacks were called
      @responses = @errors = 0 # how many ended how
      @needing = [] # those whose body the engine needs more of
      @parts = [] # heads and pieces of bodies that were not reported yet, three values each
      @get = @kind = [GET, native].freeze
      # Whether a request of a URL and headers goes to the engine as it is.
      @plain = request_builder.plain? && features.nil?
      # Whether a request may do without a Request, because nobody else sees it.
      @direct = features.nil? && request_builder.token_source.nil?
      @features = features
      @deferral = Deferral.new if features
      @pending = features&.before_request ? TokenPending : Pending # A feature may set a token.
      @bare = features && request_builder.plain? && !features.attempts?
      @has_hook_calls = !native.is_a?(Native::Batch) # Interceptors are called through the engine.
    end

    # Queues a request and returns a Pending. Arguments as in Client#request, without a block, and
    # queue:: :back (the default) to start after all requests that were queued before, :front to start before them. A
    #   request at the front starts as soon as another has ended, and as soon as a limit for its own origin allows.
    #
    # A bad argument raises ArgumentError here, and nothing is queued; but a bad URL is the request's outcome, a
    # URLError. ThreadError in another thread.
    def request(request, url = nil, options = nil, &block)
      return send_request(request, url, options, &block) if request.instance_of?(String) # Most calls: fewer checks.
      return add(request, **options.to_h) if request.is_a?(Request) && url.nil?

      send_request(RequestBuilder.verb(request), url, options, &block)
    end

    # Queues a Request, and returns a Pending. queue:: as in request.
    def add(request, queue: nil)
      raise ArgumentError, "add is given a #{request.class}: give a Hecaton::Request" unless request.is_a?(Request)

      refuse_when_over
      enqueue(request, queue)
    end

    # Requests that are queued, or in flight, or have ended without their callbacks having been called.
    def size = @native.size + (@ended.size - @reported) / 4 + (@deferral ? @deferral.size : 0)

    # Without what came, which may be secret.
    def inspect = "#<Hecaton::Batch of #{size} requests>"

    # How many requests may be in flight at once.
    def max_concurrency = @native.concurrency

    # Changes that while the batch runs, to an Integer of at least 1. If the limit rises, more requests start when the
    # calling callback has ended. If too many are in flight, they continue, and no other starts for now.
    def max_concurrency=(most)
      @native.concurrency = Batch.most(:max_concurrency, most)
    end

    # Cancels all requests that are queued or in flight, from the batch's block or a callback. Requests in flight are
    # stopped and their connections are closed; queued requests are never sent. As after an exception, their callbacks
    # are not called. The outcome of each is a CancelledError, or its real outcome if it had ended.
    #
    # The batch continues, with what is queued from then on; if that is nothing, Client#batch returns. Those that were
    # given up are in none of its counts. Returns nil.
    def abort
      abandon("was aborted")
      nil
    end

    # Yields itself to be filled, then runs until nothing is left. Returns how many requests ended how, as Client#batch
    # does, which calls this once.
    def run
      yield self
      report while wait
      { responses: @responses, errors: @errors }
    ensure
      close
    end

    # Error: of the first request that ended in one; nil when none did.
    attr_reader :first_error

    # Queues a GET for each URL, yields its outcome and the URL, and continues with the next URL. The number of requests
    # under way never passes the number that may be in flight. Called by Client#each_response, once.
    #
    # The URLs are gone through with their own `each`. This needs no fiber and no second queue. A slow reader stops
    # everything by doing nothing, and `break` or an exception leaves as anywhere in Ruby.
    def each_of(urls, options)
      urls.each do |url|
        get(url, **options).on_complete { |outcome| yield outcome, url }
        report_next while size >= max_concurrency
      end
      report_next until size.zero?
    ensure
      close
    end

    class << self
      # A limit as the engine takes it, nil for none.
      def most(name, value)
        return value if value.nil? || (value.is_a?(Integer) && value.between?(1, 2**32 - 1))

        raise ArgumentError, "#{name} is #{value.inspect}: use an Integer of at least 1"
      end

      # Requests a second as the engine takes them, nil for no limit.
      def rate(value)
        return value&.to_f if value.nil? || (value.is_a?(Numeric) && value.real? && value.positive? && value.to_f.finite?)

        raise ArgumentError, "rate is #{value.inspect}: use a number above 0, of requests a second"
      end

      # The options of a request, with its end of the queue.
      def with_queue(options, queue)
        return options if queue == :back
        return (options || {}).merge(front: true) if queue == :front

        raise ArgumentError, "queue is #{queue.inspect}: use :front or :back"
      end
    end

    private

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
      queue = options[:queue] unless needs & RequestBuilder::QUEUE == 0
      unless @direct && (needs & RequestBuilder::BEARER == 0 || !options[:bearer].respond_to?(:call))
        options = options.except(:queue) unless needs & RequestBuilder::QUEUE == 0
        # The program may change what it gave before the batch waits.
        return defer(Request.allocate.load(method, Request.own(url), Request.own(options), @request_builder), queue) if @features

        return enqueue(Request.of(method, url, options), queue)
      end

      push(method, url, options, needs, queue) { |kind, strict, source| Pending.of(kind, strict, source) }
    end

    def refuse_when_over = (raise "this batch has ended: queue in its block or its callbacks" if @over)

    def enqueue(request, queue)
      return defer(request.prepared(@request_builder), queue) if @features

      token = Token.for(@request_builder.token_source, request)
      return enqueue_with_token(token, request, queue) if token

      push_request(request, queue) { |kind, strict, source| Pending.of(kind, strict, source) }
    end

    # Keeps a request, which nobody else has, until the batch waits. Its features are called then.
    def defer(request, queue)
      Batch.with_queue(nil, queue) if queue # ArgumentError now.
      kind = @deferred_kind
      kind = @deferred_kind = [request.http_method, @deferral].freeze unless kind && kind.first == request.http_method
      run = FeatureRun.allocate.load(@features, request)
      return @deferral.add(@pending.allocate.load(kind, nil, nil, run), nil) if @bare && request.own_options.nil? && queue.nil?

      pending = Token.for(@request_builder.token_source, request) ? TokenPending : @pending
      @deferral.add(pending.allocate.load(kind, ResponseBuilder.strict(request[:raise_for_status]), nil, run), queue)
    end

    # Calls the features of all requests that have come since the batch last waited. One of them may abort the batch.
    def start_deferred
      @deferral.each do |pending, queue, pieces|
        run = pending.run
        run.request.in_parts = true if pieces
        given = run.before
        next if pending.outcome

        request = run.request
        if given.nil? && @bare && queue.nil? && pieces.nil? && request.own_options.nil? && request.http_method == GET
          pending.kind = @get
          @native.push_get(pending, request.target)
        else
          given ||= start(pending, request, queue, pieces)
          @ended.push(pending, nil, nil, given) if given
        end
      end
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
      @native.in_parts(pending, pieces) unless pieces.nil?
      nil
    rescue StandardError => error
      return error if error.is_a?(Error)

      FeatureError.new("the request cannot be sent: #{error.message}", phase: :queue, url: RequestLog.given(request.url), cause: error)
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

    # The facts that requests of this method share.
    def kind(verb)
      @kind = [verb, @native].freeze unless @kind[0] == verb
      @kind
    end

    # Bodies are read here, by the thread that runs the batch. False when nothing is left.
    def wait
      if @deferral
        start_deferred
        return true if @reported < @ended.size
      end
      run_hook_calls if @has_hook_calls # Now: callbacks of earlier outcomes run before the predicate.
      any = @native.wait(@ended, @needing, @parts)
      while (request = @needing.shift)
        request.body_source&.fill
      end
      any
    end

    # The retry predicate, which decides whether a request is sent again. From now on the engine may call it.
    def predicate(block, strict)
      @has_hook_calls = true
      RetryPredicate.new(block, @response_builder, strict)
    end

    def run_hook_calls
      while (call = @native.next_hook_call)
        pending, about, *facts = call
        @native.resolve(about == :attempt ? pending.run.before_attempt(*facts) : pending.predicate.again?(*facts))
      end
    end

    def report
      report_parts
      hand_on while @reported < @ended.size
      forget
    end

    # Before the outcomes, for they came before them. Each is handed on once at most.
    def report_parts
      until @parts.empty?
        request, status, content = @parts.shift(3)
        status ? request.head(@response_builder.head(status, content, request.strict)) : request.piece(content)
      end
    end

    def report_next
      if @reported == @ended.size
        forget
        wait
      end
      hand_on if @reported < @ended.size
    end

    # An interrupt can come between any two steps here. An outcome is then either handed on already, or still to be.
    def hand_on
      at, ended = @reported, @ended # One by one: a slice would be an Array for each request.
      request = ended[at]
      outcome = @response_builder.outcome(ended[at + 1], ended[at + 2], ended[at + 3], request.strict)
      request.finish(outcome)
      return unless ended[at].equal?(request) # The code of a feature, a token or a callback has aborted the batch.

      @reported = at + 4 # Before the callback, which is called once at most.
      count(request.outcome)
      # A response of a feature has no status here. Its head was not reported before.
      @response_builder.announce(request.verb, outcome, (request if ended[at + 1])) if @response_builder.observed?
      request.call_back if @reported == at + 4
    end

    # Nil: the request is sent once more. Most outcomes are a Response, which costs less to see than that it is no Error.
    def count(outcome)
      return @responses += 1 if outcome.instance_of?(Response)
      return if outcome.nil?
      return @responses += 1 unless outcome.is_a?(Error)

      @first_error ||= outcome
      @errors += 1
    end

    def forget
      @ended.clear
      @parts.clear
      @reported = 0
    end

    def close
      @over = true
      abandon("ended") unless size.zero?
    ensure
      @native.finish
    end

    # Each request gets its outcome, also if features of many are cut off. By halves, so that the stack stays small.
    def settle(ends)
      return ends.each { |request, outcome| request.settle(outcome) } if ends.size < 2 || @features.nil?

      begin
        settle(ends.first(ends.size / 2))
      ensure
        settle(ends.drop(ends.size / 2))
      end
    end

    def abandon(why)
      # An interrupt, or another one, must not keep any of them from its outcome.
      Thread.handle_interrupt(Object => :never) do
        queued, started = @native.clear(@ended)
        queued += @deferral.clear if @deferral
        ends = @ended.drop(@reported).each_slice(4).map { |request, *values| [request, @response_builder.outcome(*values, request.strict)] }
        forget
        { false => queued, true => started }.each do |sent, requests|
          message = "the batch #{why} before this request did"
          requests.each { |request| ends << [request, CancelledError.new(message, phase: :queue, sent: sent)] }
        end
        settle(ends)
      end
    end
  end
end
