# A request in a batch: where its callbacks are kept until its outcome is there.
module Hecaton
  # Made by Batch#get and its sisters.
  class Request
    # Response or Error once the request has ended, nil before. Every request gets exactly one.
    attr_reader :outcome

    # For the batch: the method, and what was said of raise_for_status.
    attr_reader :verb, :strict

    def initialize(verb, strict)
      @verb = verb
      @strict = strict unless strict.nil?
    end

    # Calls the block with the outcome (see Batch) when the request has ended. Several blocks are
    # called in the order they were given; one given after the end is called at once. Returns self.
    def on_complete(&block)
      raise ArgumentError, "on_complete needs a block" unless block

      if @outcome
        block.call(@outcome)
      elsif @callback
        first = @callback
        @callback = ->(outcome) { first.call(outcome); block.call(outcome) }
      else
        @callback = block
      end
      self
    end

    # For the batch: keeps the outcome. The first one counts.
    def settle(outcome) = @outcome ||= outcome

    # For the batch: hands the outcome on.
    def call_back = @callback&.call(@outcome)
  end
end
