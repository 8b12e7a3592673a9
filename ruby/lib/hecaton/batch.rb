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

    def initialize(native, preparation)
      @native = native
      @preparation = preparation
      @requests = [] # by tag, the number that the engine knows them by
      @free = []     # tags to use again
    end

    # Queues a request and returns a Request. Arguments as in Client#request; a bad one raises
    # ArgumentError here, and nothing is queued.
    def request(method, url, headers: nil, body: nil, timeout: nil, params: nil, basic_auth: nil, bearer: nil,
                redirects: nil)
      raise "this batch has ended: queue in its block or its callbacks" if @ended

      tag = @free.pop || @requests.size
      request = @requests[tag] = Request.new
      begin
        @preparation.call(
          method, url, headers, body, timeout, params, basic_auth, bearer, redirects
        ) do |verb, target, flat, content, limit, options|
          @native.push(tag, verb, target, flat, content, limit, options)
        end
      rescue StandardError
        @requests[tag] = nil
        @free << tag
        raise
      end
      request
    end

    # Requests queued or in flight.
    def size = @requests.size - @free.size

    # Yields itself to be filled, then runs until nothing is left. Called by Client#batch, once.
    def run
      yield self
      until (ended = Fibers.wait { @native.wait }).empty?
        index = 0
        while index < ended.size
          index += 4 # First, so that an interrupt after the callback does not see this one again.
          finish(ended[index - 4], ended[index - 3], ended[index - 2], ended[index - 1])
        end
      end
    ensure
      @ended = true
      abandon(ended, index) unless size.zero?
    end

    private

    def finish(tag, status, record, body)
      request = @requests[tag]
      request.settle(outcome(status, record, body))
      @requests[tag] = nil
      @free << tag
      request.call_back
    end

    def outcome(status, record, body)
      status ? Response.from_engine(status, record, body) : Error.from_engine(record, body)
    end

    # An interrupt can come between any two lines above, so nothing is taken for granted here.
    def abandon(ended, index)
      (index || 0).step((ended || []).size - 1, 4) do |at|
        tag, *values = ended[at, 4]
        @requests[tag]&.settle(outcome(*values))
      end
      @native.clear.each { |tag| @requests[tag]&.settle(cancelled(sent: false)) }
      @requests.each { |request| request&.settle(cancelled(sent: true)) }
    end

    def cancelled(sent:) = CancelledError.new("the batch ended before this request", phase: :queue, sent: sent)
  end
end
