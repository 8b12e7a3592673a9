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
    def initialize(native)
      @native = native
      @requests = []
      @free = []
    end

    %i[get head post put patch delete options].each do |verb|
      method = verb.to_s.upcase.freeze
      define_method(verb) do |url, headers: nil, body: nil, timeout: nil|
        request(method, url, headers: headers, body: body, timeout: timeout)
      end
    end

    # Queues a request and returns a Request. Arguments as in Client#request; a bad one raises
    # ArgumentError here, and nothing is queued.
    def request(method, url, headers: nil, body: nil, timeout: nil)
      tag = @free.pop || @requests.size
      begin
        @native.push(tag, method.to_s, url.to_s, Client.flat(headers), body, Client.seconds(timeout))
      rescue Exception
        @free << tag
        raise
      end
      @requests[tag] = Request.new
    end

    # Requests queued or in flight.
    def size = @requests.size - @free.size

    # Runs until nothing is left. Called by Client#batch.
    def run
      ended = nil
      until (ended = @native.wait).empty?
        while (tag = ended.shift)
          finish(tag, ended.shift, ended.shift, ended.shift)
        end
      end
    ensure
      abandon(ended) unless size.zero?
    end

    private

    def finish(tag, status, record, body)
      request = @requests[tag]
      @requests[tag] = nil
      @free << tag
      request.finish(outcome(status, record, body))
    end

    def outcome(status, record, body)
      status ? Response.from_engine(status, record, body) : Error.from_engine(record, body)
    end

    def abandon(ended)
      ended&.each_slice(4) { |tag, *values| take(tag).abandon(outcome(*values)) }
      @native.clear.each { |tag| take(tag).abandon(cancelled(sent: false)) }
      @requests.each_index { |tag| take(tag).abandon(cancelled(sent: true)) if @requests[tag] }
    end

    def take(tag)
      @free << tag
      request = @requests[tag]
      @requests[tag] = nil
      request
    end

    def cancelled(sent:) = CancelledError.new("the batch ended before this request", phase: :queue, sent: sent)
  end
end
