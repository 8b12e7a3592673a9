# Decodes what the engine says about an outcome; layout in ext/hecaton/src/record.rs.
module Hecaton
  # Called when somebody asks for attempts, timings or headers, not before.
  module Record
    HEAD = "Q<L<L<L<"
    HEAD_SIZE = 20
    ATTEMPT = "Q<CCCCS<S<Q<9"
    ATTEMPT_SIZE = 88
    ENDINGS = %i[unfinished status failed moved].freeze
    VERSIONS = [nil, "1.1", "2"].freeze
    NONE = 2**64 - 1
    private_constant :HEAD, :HEAD_SIZE, :ATTEMPT, :ATTEMPT_SIZE, :ENDINGS, :VERSIONS, :NONE

    module_function

    # Seconds from the start of the request to its end.
    def elapsed(record) = record.unpack1("Q<") / 1e9

    # Array of Attempt.
    def attempts(record)
      Array.new(record.unpack(HEAD)[1]) { |index| attempt(record, HEAD_SIZE + index * ATTEMPT_SIZE) }
    end

    # The URL that answered.
    def url(record) = text(record, url_offset(record)).split(" ", 2).last

    # The method that it answered.
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
    def headers(record) = fields(record, *headers_span(record))

    # Headers: those that came behind the body.
    def trailers(record) = fields(record, record.bytesize - trailers_size(record), record.bytesize)

    # The header fields as they stand in the record: "name: value\r\n" each, names in lower case, as bytes.
    def header_block(record)
      start, ending = headers_span(record)
      record.byteslice(start, ending - start)
    end

    # Yields name and value of each header field, Strings of their own.
    def each_field(record, &block) = each_line(record, *headers_span(record), &block)

    def fields(record, start, ending)
      fields = []
      each_line(record, start, ending) { |name, value| fields << [name.freeze, value.freeze].freeze }
      Headers.from_engine(fields)
    end
    private_class_method :fields

    # Lines of "name: value\r\n", cut as bytes: a value need not be valid UTF-8.
    def each_line(record, start, ending)
      while start < ending
        colon = record.index(": ", start)
        line_end = record.index("\r\n", colon)
        yield utf8(record, start, colon), utf8(record, colon + 2, line_end)
        start = line_end + 2
      end
    end
    private_class_method :each_line

    def utf8(record, start, ending) = record.byteslice(start, ending - start).force_encoding(Encoding::UTF_8)
    private_class_method :utf8

    # Where the headers begin, behind the redirects, and end, before the trailers.
    def headers_span(record)
      _, attempts, redirects, trailers = record.unpack(HEAD)
      start = HEAD_SIZE + attempts * ATTEMPT_SIZE
      start += 4 + record.unpack1("L<", offset: start)
      redirects.times { start += 8 + record.unpack1("L<", offset: start + 4) }
      [start, record.bytesize - trailers]
    end
    private_class_method :headers_span

    def trailers_size(record) = record.unpack(HEAD)[3]
    private_class_method :trailers_size

    # Behind the attempts.
    def url_offset(record) = HEAD_SIZE + record.unpack(HEAD)[1] * ATTEMPT_SIZE
    private_class_method :url_offset

    # The bytes behind their length.
    def text(record, offset)
      length = record.unpack1("L<", offset: offset)
      record.byteslice(offset + 4, length).force_encoding(Encoding::UTF_8)
    end
    private_class_method :text

    def attempt(record, offset)
      connection, flags, phase, ending, version, status, redirects, *times = record.unpack("@#{offset}#{ATTEMPT}")
      queue, resolve, connect, tls, send_time, first_byte, read, begun, ended =
        times.map { |time| time / 1e9 unless time == NONE }
      Attempt.new(
        connection: (connection unless connection.zero?), reused: flags & 1 == 1, sent: flags & 2 == 2,
        phase: Native::PHASES[phase], ending: ENDINGS[ending], status: (status unless status.zero?),
        queue: queue, resolve: resolve, connect: connect, tls: tls,
        send_time: send_time, first_byte: first_byte, read: read,
        version: VERSIONS[version], redirects: redirects, begun: begun, ended: ended
      )
    end
    private_class_method :attempt
  end
end
