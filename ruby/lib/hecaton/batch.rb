# Requests that run together under one limit; callbacks may queue more while it runs.
%w[queueing verbs].each { |name| require_relative name }

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
  # A request may name another client, whose settings and connections it then has. All share the batch's queue and its
  # limits, so programs with several APIs have one batch, one wait and one list of outcomes:
  #
  #   billing.batch(concurrency: 50) do |batch|
  #     batch.get("invoices/1")
  #     batch.get("users/1", client: accounts)
  #   end
  #
  # An exception that leaves a callback (or Thread#kill, Timeout.timeout, Ctrl-C) leaves Client#batch
  # at once. Then requests in flight are stopped and their connections are closed. Queued requests are never sent, and
  # no further callback is called. The outcome of each of these requests is a CancelledError. A request that had ended
  # without its callback being called keeps its real outcome.
  class Batch
    include Verbs
    include Queueing

    # How many further clients are kept for their next requests; the one that came first is forgotten for another.
    MOST_GUESTS = 64
    # Values of each request that the engine has handed back: its Pending, and three of its outcome.
    ENDED = 4
    # Values of each part of a response: its Pending, the status if it is a head, and its content.
    PART = 3
    private_constant :MOST_GUESTS, :ENDED, :PART

    # The failure of an attempt whose interceptor was left by an exception.
    GIVEN_UP = %w[CancelledError queue].push(false, false).freeze
    private_constant :GIVEN_UP

    # Those of all requests of the batch, nil for none.
    attr_reader :interceptors # :nodoc:

    # must_time: whether a request needs a client or a timeout of its own.
    def initialize(native, client, request_builder, response_builder, features, interceptors,
      must_time: false) # :nodoc:
      queue_into(native, native, request_builder, response_builder, features, Deferral.new, interceptors)
      @client = client
      @must_time = must_time
      @plain &&= !must_time
      @guests = nil # the ways of further clients, once there are any
      @aborts = 0
      @ended = [] # what the engine has handed back
      @reported = 0 # up to this index their callbacks were called
      @responses = @errors = 0 # how many ended how
      @needing = [] # those whose body the engine needs more of
      @parts = [] # heads and pieces of bodies that were not reported yet
      @has_hook_calls = !interceptors.nil?
    end

    # Queues a request and returns a Pending. Arguments as in Client#request, without a block, and
    # queue:: :back (the default) to start after all requests that were queued before, :front to start before them. A
    #   request at the front starts as soon as another has ended, and as soon as a limit for its own origin allows.
    # client:: a Client that sends this request in place of the batch's own. Its settings, features, connections and
    #   limits of connections hold for the request. The limits of the batch hold for all requests together.
    #
    # A bad argument raises ArgumentError here, and nothing is queued; but a bad URL is the request's outcome, a
    # URLError. ThreadError in another thread.
    def request(request, url = nil, options = nil, other = nil, &block)
      Request.refuse_options(options, other) if other
      return send_request(request, url, options, &block) if request.instance_of?(String) # Most calls: fewer checks.
      return add(request, **options.to_h) if request.is_a?(Request) && url.nil?

      send_request(RequestBuilder.verb(request), url, options, &block)
    end

    # Queues a Request, and returns a Pending. queue:: and client:: as in request.
    def add(request, queue: nil, client: nil)
      raise ArgumentError, "add is given a #{request.class}: give a Hecaton::Request" unless request.is_a?(Request)

      refuse_when_over
      way = way_of(client)
      way.equal?(self) ? enqueue(request, queue) : way.enqueue(request, queue)
    end

    # Requests that are queued, or in flight, or have ended without their callbacks having been called.
    def size = @native.size + (@ended.empty? ? 0 : (@ended.size - @reported) / ENDED) + @deferral.size

    # Without what came, which may be secret.
    def inspect = "#<Hecaton::Batch of #{size} requests>"

    # How many requests may be in flight at once.
    def max_concurrency = @native.concurrency

    # Changes that while the batch runs, to an Integer of at least 1. If the limit rises, more requests start when the
    # calling callback has ended. If too many are in flight, they continue, and no other starts for now.
    def max_concurrency=(most)
      @native.concurrency = Batch.most(:max_concurrency, most, nil_too: false)
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
      raise "this batch runs already: queue in its block or its callbacks" if @runs

      @runs = true
      run_once { yield self }
    end

    # Waits until something has happened and reports it. False if nothing
    # was left.
    #
    # An exception of a callback, or an interrupt, may leave it. The next step first reports what was not reported yet.
    def step = wait && report # :nodoc:

    # Makes the calling thread the one that uses it.
    def adopt = @native.adopt # :nodoc:

    # The request whose callbacks were called last, or were about to be when an interrupt left `step`. nil
    # after a `step` that was not left.
    def last_called = (@ended[@reported - ENDED] if @reported.positive?) # :nodoc:

    # A request that has no callback, nil if each has one.
    def without_callback = [*@native.held, *@deferral.pendings].find { |pending| !pending.callback? } # :nodoc:

    # After this, last_called is nil until the next is called.
    def forget_last_called = (@ended[@reported - ENDED] = nil if @reported.positive?) # :nodoc:

    # Reads no more of the body of this request, in its on_body. Its outcome is a Response.
    def enough(pending) = @target.enough(pending) # :nodoc:

    # Ends it, as `run` does at its end. Returns an Array of the requests that were given up. Each has its
    # outcome. In a child of fork, these are all that the parent had queued or in flight.
    def close # :nodoc:
      @over = true
      size.zero? ? [] : abandon("ended")
    ensure
      @native.finish
      end_bodies(true) if @bodies
    end

    # The way of a client's requests into this batch.
    def way_of(client) # :nodoc:
      return self if client.nil? || client.equal?(@client)
      raise ArgumentError, "client is of class #{client.class}: give a Hecaton::Client" unless client.is_a?(Client)

      guests = @guests ||= {}.compare_by_identity
      guests[client] || begin
        guests.shift if guests.size >= MOST_GUESTS
        guests[client] = client.join(self, @native)
      end
    end

    # How often it was aborted.
    attr_reader :aborts # :nodoc:

    # The engine may call Ruby from now on.
    def expect_hook_calls = @has_hook_calls = true # :nodoc:

    # Requests whose features are still to be called.
    attr_reader :deferral # :nodoc:

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

    # A limit as the engine takes it, nil for none.
    def self.most(name, value, nil_too: true)
      return value if (nil_too && value.nil?) || (value.is_a?(Integer) && value.between?(1, 2**32 - 1))

      raise ArgumentError, "#{name} is #{value.inspect}: use an Integer from 1 to #{2**32 - 1}"
    end

    # Requests a second as the engine takes them, which checks that number; nil for no limit.
    def self.rate(value)
      return value&.to_f if value.nil? || (value.is_a?(Numeric) && value.real?)

      raise ArgumentError, "rate is #{value.inspect}: use a number of requests per second above 0"
    end

    # Whether a request goes to the front of the queue.
    def self.front?(queue)
      return queue == :front if queue.nil? || queue == :back || queue == :front

      raise ArgumentError, "queue is #{queue.inspect}: use :front or :back"
    end

    private

    def run_once
      yield
      nil while step
      { responses: @responses, errors: @errors }
    ensure
      close
    end

    def refuse_when_over = (raise "this batch has ended: queue in its block or its callbacks" if @over)

    # What makes the outcome of a request.
    def builder_of(request) = @guests ? request.way.response_builder : @response_builder

    # Bodies are read here, by the thread that runs the batch. False when nothing is left, in the engine and of what it
    # has handed back.
    def wait
      return true if unreported?

      @reported = 0 if @ended.empty? # `forget` may have been left between two steps.
      unless @deferral.empty?
        start_all_deferred
        return true if unreported?
      end
      run_hook_calls if @has_hook_calls # Now: callbacks of earlier outcomes run before the predicate.
      ended, parts = @ended.size, @parts.size
      any = @native.wait(@ended, @needing, @parts)
      intercept(@ended, ended, @parts, parts) if @interceptors
      fill
      any
    end

    # Whether the engine has handed back more than was reported.
    def unreported? = @reported < @ended.size || !@parts.empty?

    # A request stays in the list until its piece was read, or the reading has failed.
    def fill
      while (request = @needing.first)
        source = request.body_source
        source&.fill
        (@bodies ||= {}.compare_by_identity)[request] = source if source&.suspended?
        @needing.shift
      end
    end

    # Ends the each of bodies whose requests have ended; or of all.
    def end_bodies(all = false)
      @bodies.each do |request, source|
        next unless all || request.outcome

        @bodies.delete(request)
        source.stop
      end
      @bodies = nil if @bodies.empty?
    end

    # Calls the features of all requests that have come since the batch last waited. One of them may abort the batch.
    def start_all_deferred
      cut = @deferring # An exception has left this. The first may have been started, or have ended.
      @deferring = true
      @deferral.each do |pending, queue, pieces|
        known, cut = cut, false
        next if known && (@native.held.include?(pending) || @ended.include?(pending))

        given = pending.way.start_deferred(pending, queue, pieces)
        @ended.push(pending, nil, nil, given) if given
      end
      @deferring = false
    end

    # Lets interceptors change the outcomes and parts from these indexes on. If one of them raises, the rest stay as
    # they came.
    def intercept(ended, outcome, parts, part)
      while (request = parts[part])
        parts[part + 2] = request.interception.part(parts[part + 1], parts[part + 2])
        part += PART
      end
      while (request = ended[outcome])
        ended[outcome + 1, 3] = request.interception.ended(*ended[outcome + 1, 3])
        outcome += ENDED
      end
    end

    # An interceptor's call is the last: what has ended is handed over before the next.
    def run_hook_calls
      while (call = @native.next_hook_call)
        request, object, method, *facts = call
        given = (GIVEN_UP if method == :respond)
        begin
          given = request.public_send(object).public_send(method, *facts)
        ensure
          @native.give(given) # After an exception: no attempt, and none again.
        end
        return if method == :respond
      end
    end

    def report
      report_parts
      hand_on while @reported < @ended.size
      forget
      end_bodies if @bodies
      true
    end

    # Before the outcomes, for they came before them. A part stays in the list until its callbacks have returned, so an
    # interrupt loses none; after `step` was left, the first part is handed on again. A callback, or a signal handler
    # between any two steps, may abort the batch or (in an adapter) make the next step.
    def report_parts
      until @parts.empty?
        request, status, content = @parts
        break unless request

        status ? request.head(builder_of(request).head(status, content, request.strict)) : request.piece(content)
        @parts.shift(PART) if @parts[2].equal?(content)
      end
    end

    def report_next
      if @reported == @ended.size
        forget
        wait
      end
      hand_on if @reported < @ended.size
    end

    # An interrupt can come between any two steps here. An outcome is then either handed on already, or still to be. A
    # signal handler may abort the batch, which then has nothing to be handed on.
    def hand_on
      at, ended = @reported, @ended # One by one: a slice would be an Array for each request.
      request = ended[at] or return # A signal handler has aborted the batch, which leaves this list as it is.
      builder = @guests ? request.way.response_builder : @response_builder
      outcome = builder.outcome(ended[at + 1], ended[at + 2], ended[at + 3], request.strict)
      request.finish(outcome)
      return unless @ended[at].equal?(request) # The code of a feature, a token or a callback has aborted the batch.

      @reported = at + ENDED # Before the callback, which is called once at most.
      count(request.outcome)
      # A response of a feature has no status here. Its head was not reported before.
      builder.announce(request.verb, outcome, (request if ended[at + 1])) if builder.observed?
      request.call_back if @reported == at + ENDED
    end

    # Nil: the request is sent once more. Most outcomes are a Response, which costs less to see than that it is no
    # Error.
    def count(outcome)
      return @responses += 1 if outcome.instance_of?(Response)
      return if outcome.nil?
      return @responses += 1 unless outcome.is_a?(Error)

      @first_error ||= outcome
      @errors += 1
    end

    def forget
      @parts.clear
      @ended.clear
      @reported = 0
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
        queued += @deferral.clear
        ended = @ended.drop(@reported).each_slice(ENDED)
        ends = ended.map { |request, *values| [request, builder_of(request).outcome(*values, request.strict)] }
        @aborts += 1
        @ended = [] # Not cleared: `hand_on` may be reading it.
        forget
        { false => queued, true => started }.each do |sent, requests|
          message = "the batch #{why} before this request did"
          requests.each { |request| ends << [request, CancelledError.new(message, phase: :queue, sent: sent)] }
        end
        settle(ends)
        ends.map(&:first)
      end
    end
  end
end
