# Names the keyword that a misspelt one probably means.
module Hecaton
  # In front of Client.new: its ArgumentError for an unknown keyword suggests a setting.
  module Suggestion
    def new(...) = Suggestion.around { super }

    # Runs the block, which gives its keywords to Client#initialize.
    def self.around
      yield
    rescue ArgumentError => error
      raise unless (unknown = error.message[/\Aunknown keywords?: :(\w+)/, 1])

      raise ArgumentError, error.message + of(unknown, Settings::NAMES), error.backtrace
    end

    # What a message adds about the unknown name; empty if no name is like it.
    def self.of(unknown, names)
      return "" unless defined?(DidYouMean::SpellChecker)

      like = DidYouMean::SpellChecker.new(dictionary: names).correct(unknown).first
      like ? "; did you mean #{like}?" : ""
    end
  end
end
