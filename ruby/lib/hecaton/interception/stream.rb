# Reads the bodies of streams while interceptors are active. Both have the methods of Native::Stream.
module Hecaton
  module Interception
    # The body of an interceptor's response.
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

    # The body of a response of the network, which the course receives as a whole when it has been read to its end.
    class Tee
      # The rest of a body, as one String; nil if it fails.
      def self.rest(native)
        rest = "".b
        while (chunk = native.chunk)
          return unless chunk.is_a?(String)

          rest << chunk
        end
        rest
      ensure
        native.close
      end

      def initialize(native, course)
        @native = native
        @course = course
        @read = "".b if course.observes?
      end

      # As Native::Stream#chunk.
      def chunk
        chunk = @native.chunk
        if chunk.is_a?(String) then @read&.<<(chunk)
        elsif chunk.nil? then tell
        end
        chunk
      end

      # As Native::Stream#record.
      def record = @course.merged_record(@native.record)

      # As Native::Stream#close.
      def close = @native.close

      private

      # Once, though the end may be read twice.
      def tell
        read, @read = @read, nil
        @course.told_in_pieces(@native.record, read) if read
      end
    end
  end
end
