# The errors of Typhoeus.

module Hecaton::Typhoeus
  # All that Typhoeus itself raises. The error for a refused option or value is under Ethon::Errors.
  module Errors
    # The class that all errors of Typhoeus inherit from.
    class TyphoeusError < StandardError; end

    # Connections are blocked, and nothing is stubbed for this request.
    class NoStub < TyphoeusError
      def initialize(request) = super("The connection is blocked and no stub defined: #{request.url}")
    end
  end
end
