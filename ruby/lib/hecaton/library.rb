# Loads parts of Ruby's standard library when they are needed.
module Hecaton
  # For methods of outcomes, which other Ractors may call too. Only the main Ractor can load a library, so an outcome
  # loads what its methods need when it is frozen, as Ractor.make_shareable does.
  module Library # :nodoc: all
    OF_RESPONSES = %w[json strscan time].each(&:freeze).freeze
    private_constant :OF_RESPONSES

    # Loads a library. In another Ractor it does nothing.
    def self.load(name) = (require name if Ractor.current.equal?(Ractor.main))

    # Loads what the methods of responses and errors need.
    def self.load_for_responses = OF_RESPONSES.each { |name| load(name) }
  end
end
