# Decodes the engine's record of an outcome; layout in ext/hecaton/src/record.rs.
module Hecaton
  # Called when a program reads attempts, timings or headers, not before.
  module Record # :nodoc: all
    HEAD = "Q<L<4"
    HEAD_SIZE = 24
    ATTEMPT = "Q<CCCCS<S<Q<9"
    ATTEMPT_SIZE = 88
    ENDINGS = %i[unfinished status failed resent].freeze
    VERSIONS = [nil, "1.1", "2", "3"].freeze
    NONE = 2**64 - 1
    private_constant :HEAD, :HEAD_SIZE, :ATTEMPT, :ATTEMPT_SIZE, :ENDINGS, :VERSIONS, :NONE

    module_function

    # Seconds from the start of the request to its end.
    def elapsed(record) = record.unpack1("Q<") / 1e9

    # Array of Attempt.
    def attempts(record)
      count = record.unpack(HEAD)[1]
      facts = WhoAnswered.new(record, HEAD_SIZE + count * ATTEMPT_SIZE)
      Array.new(count) { |index| attempt(record, HEAD_SIZE + index * ATTEMPT_SIZE, facts) }
    end

    # The URL of the response.
    def url(record) = text(record, url_offset(record)).split(" ", 2).last

    # The method of its request.
    def http_method(record) = text(record, url_offset(record)).split(" ", 2).first

    # Array of Redirect.
    def redirects(record)
      offset = url_offset(record)
      offset += 4 + record.unpack1("L<", offset: offset)
      Array.new(record.unpack(HEAD)[2]) do
        redirect = Redirect.new(status: record.unpack1("L<", offset: offset), url: text(record, offset + 4))
        offset += 8 + redirect.url.bytesize
        redirect
      end
    end

    # Headers.
    def headers(record) = pairs(Native.fields(record, false))

    # Headers: those that came after the body.
    def trailers(record) = pairs(Native.fields(record, true))

    # Yields name and value of each header field, Strings of their own.
    def each_field(record)
      fields = Native.fields(record, false)
      at = 0
      while (name = fields[at])
        yield name, fields[at + 1]
        at += 2
      end
    end

    private_class_method def pairs(fields) = Headers.from_engine(fields.each(&:freeze).each_slice(2).map(&:freeze))

    # Where the method and the URL begin: after the attempts and their facts.
    private_class_method def url_offset(record)
      _, attempts, _, _, facts = record.unpack(HEAD)
      HEAD_SIZE + attempts * ATTEMPT_SIZE + facts
    end

    # Reads a length, then that many bytes.
    private_class_method def text(record, offset)
      length = record.unpack1("L<", offset: offset)
      record.byteslice(offset + 4, length).force_encoding(Encoding::UTF_8)
    end

    private_class_method def attempt(record, offset, facts)
      connection, flags, phase, ending, version, status, redirects, *times = record.unpack("@#{offset}#{ATTEMPT}")
      queue, resolve, connect, tls, sending, first_byte, read, begun, ended =
        times.map { |time| time / 1e9 unless time == NONE }
      Attempt.new(
        connection: (connection unless connection.zero?), reused: flags & 1 == 1, sent: flags & 2 == 2,
        phase: Native::PHASES[phase], ending: ENDINGS[ending], status: (status unless status.zero?),
        queue_time: queue, resolve_time: resolve, connect_time: connect, tls_time: tls,
        send_time: sending, first_byte_time: first_byte, read_time: read,
        version: VERSIONS[version], redirects: redirects, begun: begun, ended: ended, **facts.next
      )
    end
  end
end
