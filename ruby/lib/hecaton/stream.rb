# A response whose body is read piece by piece, inside the block that it was given to.
%w[any_response stream_reading].each { |name| require_relative name }

module Hecaton
  # Yielded by Client#get and its sisters when they are called with a block:
  #
  #   size = client.get(url) do |response|
  #     raise "no" unless response.success?
  #     response.each_chunk { |chunk| file.write(chunk) }
  #     response.elapsed
  #   end
  #
  # Only requested bytes are read, so a slow reader holds up the server. Less than 1 MiB of the body is held, whatever
  # the server sends. Over HTTP/2 it is at most 1 MiB, or up to 16 MiB on a connection whose readers took much. All
  # streams of a client together hold at most 64 MiB, or max_buffered if that is less; each may hold 64 KiB. The
  # request's timeout runs on, the reader's own time included, and so does read_timeout between two pieces; max_body
  # does not apply. Content codings are taken off, unless decode: false. It can be read as an IO too: see StreamReading.
  #
  # The connection is reused for the next request when the body has been read to its end. It is closed when the block is
  # left before, in whatever way. Any thread may read, one at a time.
  class Stream
    include AnyResponse
    include StreamReading

    PATTERN = %i[status code headers content_type charset url http_method redirects attempts elapsed].freeze
    private_constant :PATTERN

    # Integer, 200 to 999.
    attr_reader :status
    # The engine's record of the head, for Record; or the Response that stands in its place.
    attr_reader :head # :nodoc:

    # At most `most` bytes may be held whole,
    # by default the client's max_body.
    def initialize(status, record, native, most = Native::MAX_BODY) # :nodoc:
      @status = status
      @native = native
      @head = record
      @most = most
      @home = Process.pid
    end

    # Headers.
    def headers = @headers ||= fact(:headers, @head)

    # Yields each piece of the body and returns self; without a block an Enumerator. A piece is a String of bytes
    # (ASCII-8BIT, whatever the charset: a character may be cut in two). At the end of the body it yields nothing more.
    #
    # Raises TimeoutError, or BodyError when the body ends too early. Raises RuntimeError when the response's block has
    # ended, ForkError in a child that was forked in it, and ThreadError while another thread reads. A wait for the next
    # piece ends in CancelledError when that block ends.
    def each_chunk
      return enum_for(:each_chunk) unless block_given?

      while (chunk = piece)
        yield chunk
      end
      self
    end

    # Headers: the trailers, fields that come after the body; see Response#trailers. Empty before the body has been read
    # to its end.
    def trailers = fact(:trailers)

    # String: the URL of the response, with its query and without fragment; after redirects the last one.
    def url = fact(:url)

    # String: the method of its request, "GET" and the like; after redirects the last one.
    def http_method = fact(:http_method)

    # Array of Redirect: those that were followed, in order.
    def redirects = fact(:redirects)

    # Array of Attempt so far, in order; the last one brought this response.
    def attempts
      attempts = fact(:attempts)
      @earlier ? @earlier.attempts + attempts.map { |attempt| attempt.later(@spent) } : attempts
    end

    # Seconds from the start of the request to the head of the response; to the last byte once it is read.
    def elapsed = fact(:elapsed) + (@spent || 0)

    # Itself, with the attempts of the request before it, which began so many
    # seconds earlier.
    def behind(earlier, seconds) # :nodoc:
      @earlier = earlier
      @spent = seconds
      self
    end

    # Without URL and headers, which may be secret.
    def inspect = "#<Hecaton::Stream #{[status, reason].compact.join(" ")}>"

    # For pattern matching, as in Response, but for body and response.
    def deconstruct_keys(names) = Patterns.keys(self, names, PATTERN)

    # The Error that reading ended in, else what is known of the response, as a Response without body.
    def outcome # :nodoc:
      @error || whole
    rescue ThreadError # Another thread still reads, as it was left to: then what was known with the head.
      Response.from_engine(status, @head, "")
    end

    # Only the facts of the last request. The earlier requests were reported already.
    def last_outcome = @earlier ? dup.behind(nil, nil).outcome : outcome # :nodoc:

    # Whether this process sent the request. Another process cannot know how it ended.
    def ours? = @home == Process.pid # :nodoc:

    # Yields the stream, and closes it when the block is left. Returns what the block does.
    def run # :nodoc:
      yield self
    ensure
      @ended = true
      @native.close
    end

    private

    def next_chunk
      raise "this response's block has ended: read its chunks inside" if @ended

      chunk = @native.chunk
      return chunk unless chunk.is_a?(Array)

      @error = Error.from_engine(*chunk)
      ResponseBuilder.raise_error(@earlier ? @error.dup.behind(@earlier, @spent) : @error)
    end

    def fact(name, record = @native.record)
      record.is_a?(Response) ? record.public_send(name) : Record.public_send(name, record)
    end
  end
end
