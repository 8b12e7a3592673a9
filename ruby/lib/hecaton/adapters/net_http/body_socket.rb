# The body of a response, given to Net::HTTPResponse where it expects a socket.

class Hecaton::NetHTTP
  # Net::HTTPResponse then reads and hands over bodies by its own code. Where it looks for chunks, it finds each piece
  # as one.
  class BodySocket
    # The block returns the next piece of the body, a String of bytes that nobody else uses, and nil at its end.
    # With a Decoding::Decoder, what is read is decoded.
    def initialize(decoder = nil, &pieces)
      @pieces = pieces
      @piece = nil
      @decoder = decoder
    end

    # Never before the end: a later reader has left the block.
    def closed? = @closed == true

    # Ends it.
    def close = @closed = true

    # All of the body to dest. The engine knows its length and verifies it. In a chunked body the length is the one
    # that `readline` announced, with the line's end after it.
    def read(length, dest = +"", _ignore_eof = false)
      return read_all(dest) unless @chunks
      return "\r\n" if @piece.nil? && length == 2

      # Net::HTTPResponse reads on, for the line's end, after an exception of the program.
      piece, @piece = @piece, nil
      add(piece, dest)
      dest
    end

    # All of the body to dest.
    def read_all(dest = +"")
      add(take || "".b, dest)
      while (piece = take)
        add(piece, dest)
      end
      dest
    end

    # The size of the next chunk; after the last one, the end of the trailers.
    def readline
      return "" if @ended

      @chunks = true
      @piece = take
      @ended = @piece.nil?
      (@piece ? @piece.bytesize : 0).to_s(16)
    end

    private

    def take = @pieces.call || @decoder&.finish

    def add(piece, dest)
      return dest << piece unless @decoder

      dest.force_encoding(Encoding::BINARY) if dest.respond_to?(:force_encoding)
      @decoder.decode(piece) { |chunk| dest << chunk }
    end
  end
end
