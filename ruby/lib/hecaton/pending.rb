# A request that is queued in a batch or in flight, with its callbacks.
module Hecaton
  # The value of Batch#get and the other methods that queue.
  #
  # Each block is called once, with the outcome (see Batch), in the order in which they were given, of
  # whatever kind they are. A callback that is given after the end is called at once. If it is given inside another
  # callback, it is called after that one, so no chain of them is too long for the stack.
  #
  # on_headers and on_body are called before, as the response comes in:
  #
  #   batch.get(url)
  #        .on_headers { |response| puts response.headers["content-type"] }
  #        .on_body { |chunk| file.write(chunk) }
  #        .on_complete { |outcome| puts outcome.error || "whole" }
  #
  # Both are given in the expression that queues the request, or at least before it starts: later ones raise a
  # RuntimeError. They are called whatever the status, unless raise_for_status makes an error of it. Retries and
  # redirects come before; a request whose body fails is not sent again, and its outcome is the Error, after the pieces.
  class Pending
    # Response or Error once the request has ended, nil before. Every request gets exactly one.
    attr_reader :outcome

    # What was said of raise_for_status, and a body that is read while it is sent.
    attr_reader :strict, :body_source # :nodoc:

    # What decides whether the request is sent again, nil for rules or none.
    attr_accessor :predicate # :nodoc:

    # The Interception::Run, nil without interceptors.
    attr_accessor :interception # :nodoc:

    # The features' part in this request, nil without features.
    attr_reader :run # :nodoc:

    # The object that collects the parts of the response, for adapters; nil for none.
    attr_accessor :parts # :nodoc:

    # kind is the method, the engine's batch, and the Batch or Guest that queues the request. All of a
    # client's requests of that method share it.
    #
    # Used instead of `new`, which takes five times as long in Ruby 3.1, because it calls `initialize` from C.
    def self.of(kind, strict, body_source) = allocate.load(kind, strict, body_source) # :nodoc:

    # Returns itself.
    def load(kind, strict, body_source, run = nil) # :nodoc:
      @kind = kind
      @run = run if run
      @body_source = body_source if body_source
      @strict = strict unless strict.nil?
      self
    end

    # Without token, body and callbacks, which may hold secrets.
    def inspect = "#<Hecaton::Pending #{verb}#{": #{@outcome.inspect}" if @outcome}>"

    # Calls the block when the request has ended, however it did. Returns self, as the next two do.
    def on_complete(&block)
      raise ArgumentError, "on_complete needs a block" unless block

      return add(block) if @callback || @outcome

      @callback = block
      self
    end

    # Calls the block when there is a response and its status is 2xx.
    def on_success(&block)
      raise ArgumentError, "on_success needs a block" unless block

      add(->(outcome) { block.call(outcome) if outcome.success? })
    end

    # Calls the block otherwise: for a response of another status, a 404 or a redirect that was not followed,
    # as for an Error.
    def on_failure(&block)
      raise ArgumentError, "on_failure needs a block" unless block

      add(->(outcome) { block.call(outcome) unless outcome.success? })
    end

    # Calls the block once, when the head of the response has arrived. Its Response has status and headers (and url,
    # redirects, attempts so far, elapsed), but no body yet. Returns self, as the next one does.
    def on_headers(&block)
      raise ArgumentError, "on_headers needs a block" unless block

      in_parts("on_headers", !@on_body.nil?)
      (@on_headers ||= []) << block
      self
    end

    # Calls the block with each piece of the body as it comes, in order. A piece is a String of bytes (ASCII-8BIT,
    # whatever the charset), already decoded. The outcome's own body is then empty, and max_body does not apply.
    #
    # Nothing more of this body is read before the block has returned, so a slow block holds up the server. Less than 1
    # MiB is held (over HTTP/2: at most 1 MiB, or up to 16 MiB on a connection whose readers took much). As with any
    # callback, the other requests wait meanwhile too. The request's timeout keeps running.
    def on_body(&block)
      raise ArgumentError, "on_body needs a block" unless block

      in_parts("on_body", true)
      (@on_body ||= []) << block
      self
    end

    # The method.
    def verb = @kind.first # :nodoc:

    # The Batch or the Guest that queued it.
    def way = @kind[2] # :nodoc:

    # Whether it has a callback of its end.
    def callback? = !@callback.nil? # :nodoc:

    # Whether its head is handed over before its end.
    def in_parts? = !(@on_headers || @on_body).nil? # :nodoc:

    # Hands the head on, unless one of those callbacks aborts the batch. Without a response the status is
    # an error, and its body is not needed.
    def head(response) # :nodoc:
      return @unwanted = true unless response

      @on_headers&.each { |callback| callback.call(response) unless @outcome }
    end

    # Hands a piece of the body on.
    def piece(chunk) = (@on_body&.each { |callback| callback.call(chunk) unless @outcome } unless @unwanted) # :nodoc:

    # Keeps the outcome of a request that is given up, once features have received it, or have been cut
    # off. No callback is called. The first outcome counts.
    def settle(outcome) # :nodoc:
      @outcome ||= @run ? seen(outcome) : outcome
    ensure
      @outcome ||= outcome
    end

    # Settles a request that has come to its end. A request with a token may be sent once more. Features,
    # on_headers and on_body may abort the batch, which settles this request too.
    def finish(outcome) = @outcome ||= @run ? through(outcome) : outcome # :nodoc:

    # Hands the outcome on, once.
    def call_back = @callback&.call(@outcome) # :nodoc:

    private

    # The outcome after features have seen it, which they do once.
    def seen(outcome)
      return @seen if @seen

      @run.request.in_parts = true if @on_body
      @seen = @run.after(outcome.is_a?(Response) ? outcome : @run.outcome(outcome))
    end

    # The outcome after features have seen it. A Response that one of them gave is handed over in parts here.
    def through(outcome)
      given = @run.given || !outcome.is_a?(Response)
      outcome = seen(outcome)
      return outcome unless given && in_parts? && outcome.is_a?(Response)

      head(outcome.without_body)
      return outcome unless @on_body

      piece(outcome.body.b) unless outcome.body.empty?
      outcome.without_body
    end

    # Has the engine hand this request over in parts, unless it is too late for that.
    def in_parts(name, pieces)
      return if !@outcome && @kind[1].in_parts(self, pieces)

      raise "#{name} came too late, for this request has been started: give it where the request is queued"
    end

    # Rare things have variables of their own. Ruby holds three in an object itself, and the first
    # callback of a request is nearly always its only one.
    def add(callback)
      if @outcome
        call_late(callback)
      elsif @callbacks
        @callbacks << callback
      elsif @callback
        @callbacks = [@callback, callback]
        @callback = method(:call_each)
      else
        @callback = callback
      end
      self
    end

    # Calls all of them, until one aborts the batch.
    def call_each(outcome)
      before = way.aborts
      @callbacks.each { |callback| callback.call(outcome) if way.aborts == before }
    end

    def call_late(callback)
      return @late << callback if @late

      @late = [callback]
      begin
        while (callback = @late.shift)
          callback.call(@outcome)
        end
      ensure
        @late = nil
      end
    end
  end
end
