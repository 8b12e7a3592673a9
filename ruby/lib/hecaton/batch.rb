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
  # Nothing of the batch goes on while a callback runs. So queue further requests in the batch: one that a callback
  # sends by Client#get itself may wait until its timeout for a connection (per_origin, max_connections), or a stream
  # of one (HTTP/2), that requests of this batch hold.
  #
  # A large body need not be held: on_headers and on_body of a Request hand a response over as it comes in.
  #
  # An exception that leaves a callback (or Thread#kill, Timeout.timeout, Ctrl-C) leaves Client#batch
  # at once. Then: what was in flight is stopped and its connections are closed, what was queued is
  # never sent, no further callback is called, and the outcome of each of these requests is a
  # CancelledError (or what it really was, if it had ended but its callback had not been called).
  class Batch
    Verbs.define(self, "queue")

    GET = "GET".freeze
    private_constant :GET

    # For Client#batch, which is the way to one.
    def initialize(native, request_builder, response_builder)
      @native = native
      @request_builder = request_builder
      @response_builder = response_builder
      @ended = [] # what the engine has handed back, four values a request
      @told = 0   # up to where they have been told
      @responses = @errors = 0 # how many ended how
      @wanting = [] # those whose body the engine wants more of
      @parts = [] # heads and pieces of bodies that were not told yet, three values each
      @get = @kind = [GET, native].freeze
      # The method whose requests need no more than a URL, if any; nil is none.
      @plain = GET if request_builder.plain?
    end

    # Queues a request and returns a Request. Arguments as in Client#request, without a block, and
    # queue:: :back (the default) to start after all that were queued before, :front to start before them: as soon as
    #   there is room, and with limits for each origin, as soon as those of its own allow it.
    #
    # A bad argument raises ArgumentError here, and nothing is queued; but a bad URL is the request's outcome, a URLError.
    # ThreadError in another thread.
    def request(method, url, headers: nil, body: nil, timeout: nil, params: nil, basic_auth: nil, bearer: nil,
                redirects: nil, raise_for_status: nil, json: nil, form: nil, multipart: nil, digest_auth: nil, queue: nil,
                retry: (by_client = true; nil), &block)
      send_request(method, url, headers, body, timeout, params, basic_auth, bearer, redirects, raise_for_status,
                   json, form, multipart, digest_auth, (by_client ? nil : binding.local_variable_get(:retry)), queue, &block)
    end

    # Requests that are queued, or in flight, or have ended without having been told so yet.
    def size = @native.size + (@ended.size - @told) / 4

    # Without what came, which may be secret.
    def inspect = "#<Hecaton::Batch of #{size} requests>"

    # How many requests are kept in flight at once.
    def max_concurrency = @native.concurrency

    # Changes that while the batch runs, to an Integer of at least 1. More start when the callback that says so
    # has ended; if too many are in flight, those go on, and no other starts before there is room.
    def max_concurrency=(most)
      @native.concurrency = Batch.most(:max_concurrency, most)
    end

    # Gives up all that is queued or in flight, from the batch's block or a callback: what is in flight is
    # stopped and its connections are closed, what is queued is never sent. As after an exception, no callback of theirs
    # is called, and the outcome of each is a CancelledError (or what it really was, if it had ended).
    #
    # The batch goes on, with what is queued from then on; if that is nothing, Client#batch returns. Those that were given up are in none of its counts. Returns nil.
    def abort
      abandon("was aborted")
      nil
    end

    # Yields itself to be filled, then runs until nothing is left. Returns how many requests ended how, as Client#batch does, which
    # calls this once.
    def run
      yield self
      tell while wait
      { responses: @responses, errors: @errors }
    ensure
      close
    end

    # Error: of the first request that ended in one; nil when none did.
    attr_reader :first_error

    # Queues a GET for each URL, yields its outcome and the URL, and goes on with the next URL; so many are under way
    # at most as may be in flight. Called by Client#each_response, once.
    #
    # The URLs are gone through with their own `each`. There is no fiber of its own and no second queue: a slow reader stops
    # everything by doing nothing, and `break` or an exception leaves by the same way as anywhere in Ruby.
    def each_of(urls, options)
      urls.each do |url|
        get(url, **options).on_complete { |outcome| yield outcome, url }
        tell_next while size >= max_concurrency
      end
      tell_next until size.zero?
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

      # The options of a request, with its place in the queue.
      def with_queue(options, queue)
        return options if queue == :back
        return (options || {}).merge(front: true) if queue == :front

        raise ArgumentError, "queue is #{queue.inspect}: use :front or :back"
      end
    end

    private

    def send_request(method, url, headers, body, timeout, params, basic_auth, bearer, redirects, strict,
                     json, form, multipart, digest_auth, again, queue, &block)
      raise "this batch has ended: queue in its block or its callbacks" if @over
      raise ArgumentError, "a request of a batch takes no block: give it to on_complete" if block

      # Most requests are plain GETs, and their way is short.
      if @plain && method == @plain &&
         !(headers || body || timeout || params || redirects || form || multipart || queue) &&
         basic_auth.nil? && bearer.nil? && json.nil? && digest_auth.nil? && again.nil?
        return @native.push_get(Request.of(@get, strict, nil), url)
      end

      if (bearer || @request_builder.token_source) && (token = Token.for(@request_builder.token_source, url, headers, basic_auth, bearer, digest_auth))
        return send_with_token(token, method, url, headers, body, timeout, params, basic_auth, redirects, strict, json, form, multipart,
                               digest_auth, queue, again)
      end

      @request_builder.call(
        method, url, headers, body, timeout, params, basic_auth, bearer, redirects, json, form, multipart, digest_auth, again
      ) do |verb, target, flat, content, limit, options|
        options = Batch.with_queue(options, queue) if queue
        body_source = content if content.is_a?(BodySource)
        request = Request.of(kind(verb), strict, body_source)
        request.judge = judge(options[:judge], strict) if options && options[:judge]
        @native.push(request, verb, target, flat, content, limit, options)
      end
    end

    # With a token that is asked for now, and perhaps once more.
    def send_with_token(token, method, url, headers, body, timeout, params, basic_auth, redirects, strict, json, form, multipart,
                        digest_auth, queue, again)
      request = nil
      push = lambda do |value, limit, place|
        @request_builder.call(
          method, url, headers, body, limit, params, basic_auth, value, redirects, json, form, multipart, digest_auth, again
        ) do |verb, target, flat, content, seconds, options|
          options = Batch.with_queue(options, place) if place
          request ||= TokenRequest.of(kind(verb), strict, (content if content.is_a?(BodySource)))
          request.judge = judge(options[:judge], strict) if options && options[:judge]
          @native.push(request, verb, target, flat, content, seconds, options)
        end
      end
      push.call(token.value, timeout, queue)
      return request if request.body_source

      request.renew(token, Client.seconds(timeout) || @request_builder.timeout) { |value, limit| push.call(value, limit, :front) }
    end

    # What requests of this method have in common.
    def kind(verb)
      @kind = [verb, @native].freeze unless @kind.first == verb
      @kind
    end

    # Bodies are read here, by the thread that runs the batch. False when nothing is left.
    def wait
      any = @native.wait(@ended, @wanting, @parts)
      while (request = @wanting.shift)
        request.body_source&.fill
      end
      answer_questions if @judged
      any
    end

    # What decides whether a request is sent again. From now on the engine may ask.
    def judge(block, strict)
      @judged = true
      Judge.new(block, @response_builder, strict)
    end

    def answer_questions
      while (question = @native.next_question)
        request, *outcome = question
        @native.answer(request.judge.again?(*outcome))
      end
    end

    def tell
      tell_parts
      hand_on while @told < @ended.size
      forget
    end

    # Before the outcomes, for they came before them. Each is told once at most.
    def tell_parts
      until @parts.empty?
        request, status, content = @parts.shift(3)
        status ? request.head(@response_builder.head(status, content, request.strict)) : request.piece(content)
      end
    end

    def tell_next
      if @told == @ended.size
        forget
        wait
      end
      hand_on if @told < @ended.size
    end

    # An interrupt can come between any two steps here. What it finds is told to nobody, or to be told.
    def hand_on
      at, ended = @told, @ended # One by one: a slice would be an Array for each request.
      request = ended[at]
      outcome = @response_builder.outcome(ended[at + 1], ended[at + 2], ended[at + 3], request.strict)
      request.finish(outcome)
      @told = at + 4 # Before the callback, which is called once at most.
      count(outcome) if request.outcome
      @response_builder.announce(request.verb, outcome, request) if @response_builder.heard?
      request.call_back
    end

    def count(outcome)
      return @responses += 1 unless outcome.is_a?(Error)

      @first_error ||= outcome
      @errors += 1
    end

    def forget
      @ended.clear
      @parts.clear
      @told = 0
    end

    def close
      @over = true
      abandon("ended") unless size.zero?
      @native.finish
    end

    def abandon(why)
      # An interrupt, or another one, must not keep any of them from its outcome.
      Thread.handle_interrupt(Object => :never) do
        queued, started = @native.clear(@ended)
        @ended.drop(@told).each_slice(4) do |request, *answer|
          request.settle(@response_builder.outcome(*answer, request.strict))
        end
        forget
        { false => queued, true => started }.each do |sent, requests|
          message = "the batch #{why} before this request did"
          requests.each { |request| request.settle(CancelledError.new(message, phase: :queue, sent: sent)) }
        end
      end
    end
  end
end
