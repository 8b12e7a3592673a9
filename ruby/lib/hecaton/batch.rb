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
  # An exception that leaves a callback (or Thread#kill, Timeout.timeout, Ctrl-C) leaves Client#batch
  # at once. Then: what was in flight is stopped and its connections are closed, what was queued is
  # never sent, no further callback is called, and the outcome of each of these requests is a
  # CancelledError (or what it really was, if it had ended but its callback had not been called).
  class Batch
    include Verbs

    def initialize(native, preparation, reception)
      @native = native
      @preparation = preparation
      @reception = reception
      @ended = [] # what the engine has handed back, four values a request
      @told = 0   # up to where they have been told
    end

    # Queues a request and returns a Request. Arguments as in Client#request; a bad one raises
    # ArgumentError here, and nothing is queued. ThreadError in another thread.
    def request(method, url, headers: nil, body: nil, timeout: nil, params: nil, basic_auth: nil, bearer: nil,
                redirects: nil, raise_for_status: nil)
      raise "this batch has ended: queue in its block or its callbacks" if @over

      @preparation.call(
        method, url, headers, body, timeout, params, basic_auth, bearer, redirects
      ) do |verb, target, flat, content, limit, options|
        @native.push(Request.new(verb, raise_for_status), verb, target, flat, content, limit, options)
      end
    end

    # Requests that are queued, or in flight, or have ended without having been told so yet.
    def size = @native.size + (@ended.size - @told) / 4

    # Yields itself to be filled, then runs until nothing is left. Called by Client#batch, once.
    def run
      yield self
      tell while Fibers.wait { @native.wait(@ended) }
    ensure
      @over = true
      # A second interrupt must not keep any of them from its outcome.
      Thread.handle_interrupt(Object => :never) { abandon } unless size.zero?
    end

    private

    # An interrupt can come between any two steps here. What it finds is told to nobody, or to be told.
    def tell
      while (request = @ended[@told])
        settle(@told)
        @told += 4 # Before the callback, which is called once at most.
        @reception.announce(request.verb, request.outcome)
        request.call_back
      end
      @ended.clear
      @told = 0
    end

    def settle(at)
      request, status, record, rest = @ended[at, 4]
      request.settle(@reception.outcome(status, record, rest, request.strict))
    end

    def abandon
      queued, started = @native.clear(@ended)
      @told.step(@ended.size - 1, 4) { |at| settle(at) }
      @ended.clear
      queued.each { |request| request.settle(cancelled(sent: false)) }
      started.each { |request| request.settle(cancelled(sent: true)) }
    end

    def cancelled(sent:) = CancelledError.new("the batch ended before this request", phase: :queue, sent: sent)
  end
end
