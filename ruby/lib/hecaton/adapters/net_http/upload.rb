# A request's body_stream, as the engine reads it.
require_relative "../upload"

class Hecaton::NetHTTP
  # A body_stream is whatever IO.copy_stream takes, so it has read or readpartial.
  module Upload
    module_function

    # The body that Client#request takes for this stream. A length of nil means chunks. The patience is the number
    # of seconds that a pipe or a socket may have nothing.
    def of(io, length, patience)
      return "" if length == 0

      reading = ->(most) { piece(io, most, patience) }
      length ? Hecaton::Upload::Sized.new(length, back(io), &reading) : Hecaton::Upload::Chunked.new(reading)
    end

    # Moves the IO back to where it was, for a request that is sent again.
    private_class_method def back(io)
      start = Hecaton::Upload.position(io)
      return ->(position) { io.seek(start + position) } if start

      ->(_) { raise IOError, "the request cannot be sent again: its body_stream can be read only once" }
    end

    # The next piece of an IO, nil at its end.
    private_class_method def piece(io, length, patience)
      return io.read(length) if io.respond_to?(:read) && !waits?(io)

      wait(io, patience) if io.is_a?(IO)
      io.readpartial(length)
    rescue EOFError
      nil
    end

    private_class_method def waits?(io) = io.is_a?(IO) && !io.is_a?(File)

    private_class_method def wait(io, patience)
      require "io/wait"
      return if io.wait_readable(patience)

      raise Net::WriteTimeout.new.exception("Net::WriteTimeout (body_stream had nothing to send for #{patience} s)")
    end
  end
end
