# A request's body_stream, as the engine reads it.
module Hecaton
  class NetHTTP
    # A body_stream is whatever IO.copy_stream takes, so it has read or readpartial.
    module Upload
      # A body of the length that the request announces. It looks like a file, so it is sent with a Content-Length.
      class Sized
        # Bytes in all, and how many were read.
        attr_reader :size, :pos

        # patience: see Upload.of.
        def initialize(io, size, patience)
          @io = io
          @size = size
          @patience = patience
          @pos = 0
          @start = io.pos if io.respond_to?(:pos) && io.respond_to?(:seek)
        rescue SystemCallError
          nil # A pipe has no position.
        end

        # At most length bytes, nil at the end.
        def read(length)
          piece = Upload.piece(@io, length, @patience)
          @pos += piece.bytesize if piece
          piece
        end

        # Back to the beginning, for a request that is sent again.
        def seek(position)
          return if position == @pos
          unless @start
            raise IOError, "the request cannot be sent again: its body_stream has been read, and cannot be read again"
          end

          @io.seek(@start + position)
          @pos = position
        end
      end

      # A body without a length, which is sent in chunks.
      class Chunked
        # patience: see Upload.of.
        def initialize(io, patience)
          @io = io
          @patience = patience
        end

        # At most length bytes, nil at the end.
        def read(length) = Upload.piece(@io, length, @patience)
      end

      class << self
        # The body that Client#request takes for this stream. A length of nil means chunks. The patience is the number
        # of seconds that a pipe or a socket may have nothing.
        def of(io, length, patience)
          return "" if length == 0
          return Sized.new(io, length, patience) if length

          Chunked.new(io, patience)
        end

        # The next piece of an IO, nil at its end.
        def piece(io, length, patience)
          return io.read(length) if io.respond_to?(:read) && !waits?(io)

          wait(io, patience) if io.is_a?(IO)
          io.readpartial(length)
        rescue EOFError
          nil
        end

        private

        def waits?(io) = io.is_a?(IO) && !io.is_a?(File)

        def wait(io, patience)
          require "io/wait"
          return if io.wait_readable(patience)

          raise Net::WriteTimeout.new.exception("Net::WriteTimeout (body_stream had nothing to send for #{patience} s)")
        end
      end
    end
  end
end
