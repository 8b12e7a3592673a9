# A response as Typhoeus has it: from the engine, from a cache, or made by hand.
module Hecaton
  module Typhoeus
    # Pure Ruby, so that it can be marshalled.
    class Response
      include Informations
      include Status

      # The Request it belongs to.
      attr_accessor :request
      # What the last callback returned is kept in handled_response, whether it is a stub's in mock.
      attr_writer :options, :handled_response, :mock, :cached

      # By hand, for stubs: Response.new(code: 200, body: "…", headers: {…}, return_code: :ok, …).
      def initialize(options = {})
        @options = options
        @headers = Header.new(options[:headers]) if options[:headers]
      end

      # For Exchange and Hydra. outcome is a Hecaton::Response, Hecaton::Error or Hecaton::Stream; body what was read of it,
      # return_code what it is if not the outcome's own.
      def self.of(outcome, return_code = nil, body = nil) = allocate.load(outcome, return_code, body)

      # For `of`. Returns itself.
      def load(outcome, return_code, body)
        @outcome = outcome
        @own_code = return_code
        @own_body = body
        self
      end

      # Hash of all that is known; the methods read it.
      def options = @options ||= facts

      # Whether it is a stub's: true, or what the stub was made by.
      def mock = defined?(@mock) ? @mock : (@options && @options[:mock])
      alias mock? mock

      # What the last callback returned, else itself.
      def handled_response = @handled_response || self

      # Whether a cache had it.
      def cached? = defined?(@cached) ? !!@cached : false

      # The four that nearly everybody asks for have a short way.

      # See Informations.
      def response_code = @options ? super : Facts.status(@outcome)
      alias code response_code

      def return_code = @options ? super : @own_code || ReturnCodes.of(@outcome)

      def response_body = @options ? super : bytes
      alias body response_body

      def total_time = @options ? super : @outcome.elapsed
      alias time total_time

      # For a cache: lets go of what only this library could read.
      def settle
        options
        @outcome = @own_code = @own_body = nil
        self
      end

      def marshal_dump = settle && (instance_variables - %i[@outcome @own_code @own_body]).map { |name| [name, instance_variable_get(name)] }

      def marshal_load(attributes) = attributes.each { |name, value| instance_variable_set(name, value) }

      private

      def facts
        Facts.of(@outcome, bytes, return_code, @request&.sent_bytes, @request&.debug_info || DebugInfo.new)
      end

      # Nobody else has this String.
      def bytes
        @own_body ||= @outcome.is_a?(Hecaton::Response) ? @outcome.body.dup.force_encoding(Encoding::BINARY) : "".b
      end
    end
  end
end
