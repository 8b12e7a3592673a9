# The errors of Typhoeus.
module Hecaton
  module Typhoeus
    # All that Typhoeus itself raises. What an option or its value is refused with is under Ethon::Errors.
    module Errors
      # What all errors of Typhoeus have in common.
      class TyphoeusError < StandardError; end

      # Connections are blocked, and nothing is stubbed for this request.
      class NoStub < TyphoeusError
        def initialize(request) = super("The connection is blocked and no stub defined: #{request.url}")
      end
    end
  end
end
