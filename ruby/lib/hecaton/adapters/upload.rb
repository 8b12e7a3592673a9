# Bodies of other libraries that are read while they are sent, as the client reads them.

# For adapters.
module Hecaton::Upload
  # The position in a file; nil for a pipe, or anything else without one.
  def self.position(io)
    io.pos if io.respond_to?(:pos) && io.respond_to?(:seek)
  rescue IOError, SystemCallError
    nil
  end

  # A body of known length, which looks like a file, so it is sent with a Content-Length. The block reads at most so
  # many bytes of it, nil at the end.
  class Sized
    # Bytes in all, and how many were read.
    attr_reader :size, :pos

    # back:: called with a position when a request is sent again, or raises why that cannot be done.
    def initialize(size, back, &read)
      @size = size
      @back = back
      @read = read
      @pos = 0
    end

    # At most length bytes, nil at the end.
    def read(length)
      piece = @read.call(length)
      @pos += piece.bytesize if piece
      piece
    end

    # Back to a position that was read before.
    def seek(position)
      return if position == @pos

      @back.call(position)
      @pos = position
    end
  end

  # A body that is sent in chunks, even if its length is known. The block reads it as that of Sized does.
  Chunked = Struct.new(:reading) do
    # At most length bytes, nil at the end.
    def read(length) = reading.call(length)
  end
end
