# Whether a request is sent again, in the eyes of the program: retry: { if: … }.
module Hecaton
  # Made for each request with a retry predicate. The engine calls it, between two waits.
  class RetryPredicate # :nodoc: all
    # block: what was given as `if`. The outcome that it is called with is the one that would be handed over.
    def initialize(block, response_builder, strict)
      @block = block
      @response_builder = response_builder
      @strict = strict
    end

    # True or false of an outcome.
    def again?(status, record, rest)
      @block.call(@response_builder.outcome(status, record, rest, @strict)) ? true : false
    end

    # Settings that say which outcomes are worth another try, as `if` does.
    RULES = %i[methods on statuses].freeze
    private_constant :RULES

    # The block among the settings of retry, nil for none.
    def self.block(value)
      return unless value.is_a?(Hash) && value.key?(:if)

      block = value[:if]
      unless block.respond_to?(:call)
        raise ArgumentError, "retry: if is of class #{block.class}: give a Proc, which is called with the outcome"
      end

      others = RULES.reject { |name| value[name].nil? }
      return block if others.empty?

      raise ArgumentError, "retry: if decides alone: leave out #{others.join(", ")}"
    end
  end
end
