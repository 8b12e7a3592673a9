# The bodies of streams without the network, and while there are interceptors. Both have the methods of Native::Stream.
module Hecaton
  module Interception
    # The body of a Response that was made by hand.
    class Given
      # String.
      attr_reader :record

      # pieces: Strings, and perhaps an Error.
      def initialize(record, pieces)
        @record = record
        @pieces = pieces
      end

      # The next piece, nil at the end; record and error as an Array.
      def chunk
        piece = @pieces.first
        return [@record, piece] if piece.is_a?(Error)

        @pieces.shift
      end

      # Nothing is left open.
      def close = nil
    end

    # The body of a response that interceptors may have given, and may observe.
    class Stream
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
