# Decodes what the engine says about an outcome; layout in ext/hecaton/src/record.rs.
module Hecaton
  # Called when somebody asks for attempts, timings or headers, not before.
  module Record
    HEAD = "Q<L<L<"
    HEAD_SIZE = 16
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
    def headers(record)
      fields = []
      each_field(record) { |name, value| fields << [name.freeze, value.freeze].freeze }
      Headers.from_engine(fields)
    end

    # The header fields as they stand in the record: "name: value\r\n" each, names in lower case, as bytes.
    def header_block(record) = record.byteslice(headers_offset(record)..)

    # Yields name and value of each field, "name: value\r\n". Cut as bytes: a value need not be valid UTF-8.
    def each_field(record)
      start = headers_offset(record)
      while start < record.bytesize
        colon = record.index(": ", start)
        ending = record.index("\r\n", colon)
        yield utf8(record, start, colon), utf8(record, colon + 2, ending)
        start = ending + 2
      end
    end

    def utf8(record, start, ending) = record.byteslice(start, ending - start).force_encoding(Encoding::UTF_8)
    private_class_method :utf8

    # Behind the redirects.
    def headers_offset(record)
      _, attempts, redirects = record.unpack(HEAD)
      start = HEAD_SIZE + attempts * ATTEMPT_SIZE
      start += 4 + record.unpack1("L<", offset: start)
      redirects.times { start += 8 + record.unpack1("L<", offset: start + 4) }
      start
    end
    private_class_method :headers_offset

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
