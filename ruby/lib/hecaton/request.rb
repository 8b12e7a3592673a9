# A request in a batch: where its callbacks are kept until its outcome is there.
module Hecaton
  # Made by Batch#get and its sisters.
  #
  # Each block is called once, with the outcome (see Batch), in the order in which they were given, of
  # whatever kind they are. One that is given after the end is called at once; if it is given in another of those,
  # after that one: so no chain of them is too long for the stack.
  class Request
    # Response or Error once the request has ended, nil before. Every request gets exactly one.
    attr_reader :outcome

    # For the batch: the method, what was said of raise_for_status, and a body that is read while it is sent.
    attr_reader :verb, :strict, :upload

    def initialize(verb, strict, upload = nil)
      @verb = verb
      @upload = upload if upload
      @strict = strict unless strict.nil?
    end

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

    # For the batch: keeps the outcome. The first one counts.
    def settle(outcome) = @outcome ||= outcome

    # For the batch: hands the outcome on, once.
    def call_back = @callback&.call(@outcome)

    private

    # Rare things are kept in variables of their own: Ruby has room for three in an object itself, and the first
    # callback of a request is nearly always its only one.
    def add(callback)
      if @outcome
        call_late(callback)
      elsif @callbacks
        @callbacks << callback
      elsif @callback
        callbacks = @callbacks = [@callback, callback]
        @callback = ->(outcome) { callbacks.each { |each| each.call(outcome) } }
      else
        @callback = callback
      end
      self
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
