# The base class of interceptors, which does nothing by itself.
module Hecaton
  module Interception
    # Interception documents each method.
    class Interceptor
      # Symbol.
      attr_reader :name

      def initialize(name) = @name = name

      # Response, Error or nil.
      def respond(_request) = nil

      # Error or nil.
      def refuse(_request) = nil

      # Whether observe is called.
      def observes? = false

      # Records the network's outcome.
      def observe(_request, _outcome) = nil
    end
  end
end
