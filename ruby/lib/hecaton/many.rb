# Many requests at once: with callbacks, as a list, or one by one as they come.
module Hecaton
  # Included by Client. Arguments of all three:
  #
  # concurrency:: how many requests are in flight at once, at least 1. Default: the client's, which Client.new sets
  #   (200).
  # per_origin:: at most this many of them to one origin (scheme, host and port of the request's own URL). Default none.
  #   Origins take turns, and one whose limit is reached holds up no other.
  # rate:: at most this many requests a second to one origin, at least 0.00001 (0.5 is one in two seconds). Default
  #   none. They start evenly spaced, the first at once; time that went unused gives no right to a burst. It counts
  #   requests, not their retries and redirects, and each batch by itself.
  #
  # A request that waits for any of these has not been started, and its timeout does not run.
  module Many
    # Yields a Batch to queue requests in, then runs it until nothing is left; see Batch. Returns a Hash of Integers:
    # the number of requests that ended in a Response (responses), and in an Error (errors), with or without callbacks.
    #
    # raise_on_failure:: true to raise the Error of the first request that ended in one, when all have ended and been
    #   reported. Default false.
    def batch(concurrency: nil, per_origin: nil, rate: nil, raise_on_failure: false, &block)
      run_batch(new_batch(concurrency, per_origin, rate), raise_on_failure, &block)
    end

    # The way of this client's requests into that Batch, which another client has. native is the engine's.
    def join(batch, native) # :nodoc:
      Guest.new(batch, @native.join(native), native, @request_builder, @response_builder, @features)
    end

    # Gets all these URLs and returns an Array of their outcomes in the same order: a Response or an Error each
    # (outcome.response, outcome.error). A request that fails raises nothing, and holds up no other.
    #
    # urls:: anything with `each`.
    #
    # Other options go to each request as in Client#request. So timeout limits each request by itself, and begins when
    # its turn comes.
    #
    # The outcome of a bad URL is a URLError. Raises ArgumentError, before anything is sent, when an option is bad.
    def get_all(urls, *others, concurrency: nil, per_origin: nil, rate: nil, **options)
      Request.refuse_options(*others) if others.any?
      outcomes(:get_all, urls, [concurrency, per_origin, rate]) { |batch, url| batch.get(url, **options) }
    end

    # Sends all these requests, of whatever methods, and returns an Array of their outcomes in the same order, as
    # get_all does.
    #
    # requests:: an object with `each` that yields a Request, [method, url] or [method, url, { … }]. A method is a
    #   Symbol or a String, and the Hash has the options of Client#request.
    #
    # Other options go to each request that does not set them itself.
    #
    # Raises ArgumentError, before anything is sent, when an entry or an option is bad.
    def all(requests, *others, concurrency: nil, per_origin: nil, rate: nil, **options)
      Request.refuse_options(*others) if others.any?
      outcomes(:all, requests, [concurrency, per_origin, rate]) do |batch, entry, number|
        Many.queue(batch, entry, options, number)
      end
    end

    # head_all, post_all, put_all, patch_all, delete_all: as all, with one method, as in
    # `client.post_all([[url, { json: … }], other])`. An entry is a URL, or [url, { … }].
    %w[head post put patch delete].each do |verb|
      class_eval <<~RUBY, __FILE__, __LINE__ + 1
        def #{verb}_all(requests, *others, concurrency: nil, per_origin: nil, rate: nil, **options)
          Request.refuse_options(*others) if others.any?
          entries = []
          Many.list(:#{verb}_all, requests).each { |entry| entries << [:#{verb}, *(entry.is_a?(Array) ? entry : [entry])] }
          all(entries, concurrency: concurrency, per_origin: per_origin, rate: rate, **options)
        end
      RUBY
    end

    # Gets URLs and yields the outcome of each, with the URL as given, as soon as it has ended. So they come in the
    # order in which they end. Returns nil; without a block, an Enumerator.
    #
    # urls:: an object with `each`, of any length, or endless: the next URL is taken when it can start. No
    #   more than `concurrency` requests are ever ahead of the block, so when that is slow, the queue waits.
    #
    # Other options go to each request as in Client#request.
    #
    # Leaving early (break, an exception, or `first`, `take` and the like of the Enumerator) stops what is in flight
    # and closes those connections. With the Enumerator's `next`, that is done when the Enumerator is rewound or
    # collected as garbage. Only the thread that called `next` first may continue with it.
    def each_response(urls, *others, concurrency: nil, per_origin: nil, rate: nil, **options, &block)
      Request.refuse_options(*others) if others.any?
      Many.list(:each_response, urls)
      limits = { concurrency: concurrency, per_origin: per_origin, rate: rate }
      return enum_for(:each_response, urls, **limits, **options) unless block

      new_batch(concurrency, per_origin, rate).each_of(urls, options, &block)
      nil
    end

    # Returns the list, if it has `each`.
    def self.list(method, given)
      return given if given.respond_to?(:each)

      raise ArgumentError, "#{method}: the list is #{given.inspect}: give an Array, or an object with each"
    end

    # Queues the entry of this number.
    def self.queue(batch, entry, options, number) # :nodoc:
      return batch.add(entry.with(**options.reject { |name, _| entry.given.key?(name) })) if entry.is_a?(Request)

      method, url, own = entry
      unless entry.is_a?(Array) && entry.size.between?(2, 3) && !url.is_a?(Hash) && (own.nil? || own.is_a?(Hash))
        raise ArgumentError,
          "request #{number} of the list is not a Hecaton::Request, [method, url] or [method, url, { … }]"
      end

      batch.request(method, url, **options, **own.to_h)
    end

    private

    # The outcomes of a list, in its order. The block queues an entry, with its number, and returns the Pending.
    def outcomes(method, list, limits)
      Many.list(method, list)
      queued = []
      run_batch(new_batch(*limits), false) do |batch|
        list.each { |entry| queued << yield(batch, entry, queued.size) }
      end
      queued.map(&:outcome)
    end

    def run_batch(batch, raise_on_failure, &block)
      raise ArgumentError, "batch needs a block to queue requests in" unless block

      ResponseBuilder.strict(raise_on_failure, :raise_on_failure)

      counts = batch.run(&block)
      raise batch.first_error if raise_on_failure && batch.first_error

      counts
    end

    def new_batch(concurrency, per_origin, rate, **others)
      native = @native.batch(
        Batch.most(:concurrency, concurrency), Batch.most(:per_origin, per_origin), Batch.rate(rate)
      )
      Batch.new(native, self, @request_builder, @response_builder, @features, Interception.interceptors, **others)
    end
  end
end
