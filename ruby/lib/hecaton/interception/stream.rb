# Streams and records for responses that do not come from the network, and for interceptors.
require_relative "../response"

module Hecaton
  module Interception
    # A response that was given by hand may stand where the engine's record of it would. Loaded with the first of these,
    # so that other programs do not ask about each response.
    module FromResponse # :nodoc: all
      # As Response#load_engine.
      def load_engine(status, record, body) = record.is_a?(Response) ? record.with_body(body) : super
    end
    Response.prepend(FromResponse)

    # The body of a Response that was made by hand.
    class Given # :nodoc: all
      # Response, which stands in the place of the engine's record.
      attr_reader :record

      # pieces: Strings, and perhaps an Error.
      def initialize(response, pieces)
        @record = response
        @pieces = pieces
      end

      # The next piece, nil at the end; response and error as an Array.
      def chunk = @pieces.first.is_a?(Error) ? [@record, @pieces.first] : @pieces.shift

      # Nothing is left open.
      def close = nil
    end

    # The body of a response that interceptors may have given, and may observe.
    class Stream # :nodoc: all
      def initialize(native, run, status)
        @native = native
        @run = run
        @status = status
        @read = "".b if run.due?
      end

      # As Native::Stream#chunk.
      def chunk
        chunk = @native.chunk
        return @run.values(nil, *chunk).drop(1) if chunk.is_a?(Array)

        chunk ? @read&.<<(chunk) : observe
        chunk
      end

      # As Native::Stream#record.
      def record = @run.own_facts(@native.record)

      # As Native::Stream#close.
      def close = @native.close

      private

      # Once, though the end may be read twice.
      def observe
        read, @read = @read, nil
        @run.observe(@status, @native.record, read) if read
      end
    end
  end
end
