# The body of a request that is read while it is sent: files, IOs, and objects that yield Strings.
module Hecaton
  # Made by Content. Parts are sent one after the other. A part is a String, an IO (from its position to its end) or a
  # Pathname (opened when its turn comes). Or it is an object that yields Strings by `each`.
  #
  # The thread that waits for the request reads the pieces between two waits: the next piece after the previous one was
  # sent. Where each runs is described in docs/settings.md, at the setting body.
  class BodySource # :nodoc: all
    PIECE = 64 * 1024
    LATER = :later
    # File systems that report a wrong size of their files: 0 bytes, or a page.
    MADE_UP = %r{\A/(?:proc|sys)/}
    private_constant :PIECE, :LATER, :MADE_UP

    attr_reader :native

    # parts: Strings, IOs, Pathnames and what yields Strings by each.
    def initialize(parts)
      @parts = parts
      @starts = parts.map { |part| part.pos if seekable?(part) }
      begin_again
      sizes = parts.each_index.map { |index| size(index) }
      @native = Native::BodySource.new((sizes.sum unless sizes.include?(nil)), parts.all? { |part| repeats?(part) })
    end

    # Reads a piece if one is needed. If an exception leaves the reading, the request fails, because the
    # next piece would not follow the last one.
    #
    # turns:: a Native::Turns if the thread waits for this request alone. Then each runs as any other method does: its
    #   block hands a piece over and waits until the next one is needed, or the request has ended.
    def fill(turns = nil)
      needed = @native.needed?
      return unless needed

      begin_again if @native.rewound?
      given = piece(turns)
      given == LATER ? @native.read_when_ready(@parts[@index].fileno) : @native.give(given)
      needed = false
    rescue BodyFiber::Ended
      needed = false
    ensure
      @native.fail if needed
    end

    # When the request has ended: ends an each that waits in its Fiber.
    def stop = (@reader.stop if suspended?)

    # Whether an each waits in its Fiber.
    def suspended? = @reader.is_a?(BodyFiber)

    # String: all of it, read from the beginning where that can be done. For interceptors, which may look at it.
    def read
      begin_again
      whole = "".b
      while (piece = self.piece)
        piece == LATER ? @parts[@index].wait_readable : whole << piece
      end
      @parts, @starts = [whole], [nil] # Kept: it must still be sent, and may not be readable again.
      begin_again
      whole
    end

    # Whether it is a Pathname. A program without Pathname objects has not loaded the class.
    def self.pathname?(part) = defined?(::Pathname) ? part.is_a?(::Pathname) : false

    private

    # A file, or what stands for one.
    def seekable?(part)
      return part.stat.file? if part.is_a?(File)

      part.respond_to?(:read) && part.respond_to?(:pos) && part.respond_to?(:seek) && part.respond_to?(:size)
    end

    def repeats?(part) = part.is_a?(String) || BodySource.pathname?(part) || part.is_a?(Array) || seekable?(part)

    # Bytes of a part, nil when that is not known.
    def size(index)
      part = @parts[index]
      return part.bytesize if part.is_a?(String)
      return (size_of_file(part, 0) if File.file?(part)) if BodySource.pathname?(part)
      return unless (start = @starts[index])

      part.is_a?(File) ? size_of_file(part, start) : [part.size - start, 0].max
    end

    # Bytes of a File or of the file at a Pathname, from a position; nil if what the system says of it cannot be
    # trusted.
    def size_of_file(file, start)
      return if made_up?(file.is_a?(File) ? file.to_path : file)

      left = file.size - start
      return left if left.positive?

      # Other file systems have files that seem empty and are not.
      (file.is_a?(File) ? file.pread(1, start) : file.binread(1, start)) ? nil : 0
    rescue EOFError
      0
    end

    # Whether the path is below /proc or /sys once its links are resolved. A deleted file has no path.
    def made_up?(path)
      File.realpath(path).match?(MADE_UP)
    rescue SystemCallError
      false
    end

    def begin_again
      @index = 0
      @reader = nil
    end

    # The next piece, nil at the end.
    def piece(turns = nil)
      while @index < @parts.size
        if turns && @reader.nil? && yields?(@parts[@index])
          hand_over_each(@parts[@index], turns)
        else
          @reader ||= reader(@index)
          piece = @reader.call
          return piece if piece == LATER
          return checked(piece) unless piece.nil?
        end
        @index += 1
        @reader = nil
      end
    end

    # Hands over all that the part yields. What each yields after the request's end raises again.
    def hand_over_each(part, turns)
      ended = false
      part.each do |*values|
        raise BodyFiber::Ended if ended

        @native.give(checked(BodyFiber.one(values)))
        ended = !turns.next?
        raise BodyFiber::Ended if ended
      end
      raise BodyFiber::Ended if ended
    end

    # Whether its pieces come by each alone.
    def yields?(part)
      !part.is_a?(String) && !part.is_a?(Array) && !part.respond_to?(:read) && !BodySource.pathname?(part)
    end

    def checked(piece)
      return piece if piece.is_a?(String)

      raise TypeError, "the request's body yields #{piece.class}: give Strings"
    end

    # A Proc that returns piece after piece of a part, and nil at its end.
    def reader(index)
      part = @parts[index]
      case part
      when String
        once = [part]
        -> { once.shift }
      when ->(path) { BodySource.pathname?(path) }
        file = part.open("rb")
        -> { file.read(PIECE) || file.close }
      else
        return reader_of_file(part, @starts[index]) if @starts[index]

        return reader_of_io(part) if part.respond_to?(:read)

        part.is_a?(Array) ? reader_of_array(part) : BodyFiber.new(part)
      end
    end

    # Seeks before each read, because several requests may share this file.
    def reader_of_file(part, position)
      lambda do
        part.seek(position)
        piece = part.read(PIECE)
        position += piece.bytesize if piece
        piece
      end
    end

    # Bytes from a pipe or a socket are sent at once, without waiting for a whole piece. If the pipe is empty,
    # the engine waits for it, because waiting here would stop the other requests of the batch.
    def reader_of_io(part)
      return -> { part.read(PIECE) } unless part.is_a?(IO)

      require "io/wait" # wait_readable, which a Fiber.scheduler knows.
      lambda do
        part.wait_readable(0) ? part.readpartial(PIECE) : LATER
      rescue EOFError
        nil
      end
    end

    def reader_of_array(part)
      at = -1
      -> { checked(part[at]) if (at += 1) < part.size }
    end
  end
end
