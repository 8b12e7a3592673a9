# Reads a Stream as an IO is read: a number of bytes, line by line, or all that is left.
module Hecaton
  # Included by Stream. Methods that read an IO can read a Stream: IO.copy_stream, CSV.new, Zlib::GzipReader.new and the
  # like. All of these and each_chunk resume where the one before stopped, and raise the errors
  # of each_chunk.
  #
  # At most the client's max_body is held whole, for a line or the rest of the body; more is a BodyError.
  module StreamReading
    # With length, that number of bytes, fewer only at the end of the body: a String in ASCII-8BIT, nil when nothing is
    # left. Without, all that is left: a String in the encoding of the charset, "" when nothing is.
    #
    # buffer:: a String whose content is replaced by what was read, and returned.
    def read(length = nil, buffer = nil)
      taken = length ? take(StreamReading.count(length)) : rest.force_encoding(encoding)
      at_end = length&.positive? && taken.empty?
      return at_end ? nil : taken unless buffer

      buffer.replace(taken)
      at_end ? nil : buffer
    end

    # The bytes that have arrived, length at most: a String in ASCII-8BIT. Waits only if nothing is there, and raises
    # EOFError at the end of the body.
    #
    # buffer:: as in read.
    def readpartial(length, buffer = nil)
      length = StreamReading.count(length)
      taken = length.zero? ? "".b : piece
      buffer&.replace(taken ? "" : "".b)
      raise EOFError, "end of the response's body" unless taken

      @rest = taken.byteslice(length..) if taken.bytesize > length
      taken = taken.byteslice(0, length)
      buffer ? buffer.replace(taken) : taken
    end

    # The next line, a String in the encoding of the charset with what ends it; nil at the end of the body.
    #
    # separator:: what ends a line. Default "\n". nil: the rest of the body is one line.
    # limit:: at most this many bytes of a line; a longer line comes in pieces, and a character may be cut in two.
    #   Default none. May be given without a separator.
    # chomp:: whether what ends the line is taken off. Default false.
    #
    # Raises ArgumentError when the charset is UTF-16 or UTF-32, whose lines cannot be found byte by byte: use
    # read.
    def gets(separator = "\n", limit = nil, chomp: false)
      separator, limit = "\n", separator if separator.is_a?(Integer)
      separator = StreamReading.separator(separator, encoding)
      line = line(separator, limit && StreamReading.count(limit))
      line = line.chomp(separator) if chomp && separator && line&.end_with?(separator)
      line&.force_encoding(encoding)
    end

    # Yields each line, as gets returns it, and returns self; without a block an Enumerator.
    def each_line(separator = "\n", limit = nil, chomp: false)
      return enum_for(:each_line, separator, limit, chomp: chomp) unless block_given?
      raise ArgumentError, "limit is 0: give at least 1, or nil" if [separator, limit].include?(0)

      while (line = gets(separator, limit, chomp: chomp))
        yield line
      end
      self
    end

    # Yields each ServerSentEvent (WHATWG's text/event-stream) as soon as it is whole, and returns self at the end of
    # the body; without a block an Enumerator. One that the body's end cuts off is left out, as the standard says.
    #
    # Its timeout keeps running, so it bounds how long events are listened to. Connecting again is the program's own
    # business: with `headers: { "Last-Event-ID" => event.id }`, after event.retry milliseconds.
    #
    # Raises StatusError when the status is 400 or more, and BodyError when the Content-Type is another than
    # text/event-stream.
    def each_event
      return enum_for(:each_event) unless block_given?

      check_events
      events = @events ||= ServerSentEvents.new(@most)
      loop do
        while (event = events.shift)
          yield event
        end
        bytes = piece or return self
        events.feed(bytes)
        too_long("an event") if events.too_long?
      end
    end

    # Whether the body has been read to its end. Waits for the next piece if none is there.
    def eof?
      @rest = piece
      @rest.nil?
    end
    alias eof eof?

    # A number of bytes, checked.
    def self.count(value)
      return value if value.is_a?(Integer) && value >= 0

      raise ArgumentError, "#{value.inspect} is not a number of bytes: give an Integer of at least 0"
    end

    # The end of a line, as bytes.
    def self.separator(value, encoding)
      raise ArgumentError,
        "lines of #{encoding} cannot be found byte by byte: use read" unless encoding.ascii_compatible?
      return value&.b if value.nil? || (value.is_a?(String) && !value.empty?)

      raise ArgumentError, "separator is #{value.inspect}: give a String that is not empty, or nil"
    end

    # The size of the first line in these bytes; nil if they have no whole one.
    def self.line_size(held, separator, from, limit)
      at = held.index(separator, from) if separator
      size = at + separator.bytesize if at
      limit && (size || held.bytesize) > limit ? limit : size
    end

    # Raises a BodyError.
    def unreadable(why) # :nodoc:
      facts = Error.facts_of(self)
      raise BodyError.new("#{why} (#{facts[:url]})", **facts)
    end

    private

    # The unread bytes, else the next piece; nil at the end.
    def piece
      return next_chunk if @rest.nil? || @ended || !ours? # Which raises, where it must.

      left, @rest = @rest, nil
      left
    end

    # At most length bytes.
    def take(length)
      taken = "".b
      while (missing = length - taken.bytesize).positive? && (piece = self.piece)
        @rest = piece.byteslice(missing..) if piece.bytesize > missing
        taken << (@rest ? piece.byteslice(0, missing) : piece)
      end
      taken
    end

    def rest
      all = "".b
      while (piece = self.piece)
        all << piece
        too_long("what is left of the body") if all.bytesize > @most
      end
      all
    end

    # Bytes of the next line, nil at the end. The rest stays where it is until the line is whole.
    def line(separator, limit)
      held = piece or return
      from = 0
      until (size = StreamReading.line_size(held, separator, from, limit))
        too_long("a line") if held.bytesize > @most
        from = [held.bytesize - separator.to_s.bytesize, 0].max
        more = next_chunk or break
        held << more
      end
      @rest = held.byteslice(size..) if size && size < held.bytesize
      size ? held.byteslice(0, size) : held
    end

    def check_events
      raise_for_status
      return if status == 204 || content_type == "text/event-stream"

      unreadable("the Content-Type is #{content_type || "not there"}: events need text/event-stream")
    end

    def too_long(what) = unreadable("#{what} is longer than max_body, #{@most} bytes")

    def encoding = @encoding ||= ContentType.encoding(headers.get_all("content-type").first)
  end
end
