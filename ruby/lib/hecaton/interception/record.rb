# Writes an outcome as the engine would; the reverse of record.rb.
module Hecaton
  module Record
    # The record of a Response, or of its head: it is decoded as one of the engine's is.
    def self.write(response)
      url = "#{response.http_method} #{response.url}".b
      trailers = response.respond_to?(:trailers) ? lines(response.trailers) : ""
      parts = [[(response.elapsed * 1e9).round, response.attempts.size, response.redirects.size, trailers.bytesize].pack(HEAD)]
      response.attempts.each { |attempt| parts << write_attempt(attempt) }
      parts << [url.bytesize].pack("L<") << url
      response.redirects.each { |redirect| parts << [redirect.status, redirect.url.bytesize].pack("L<2") << redirect.url.b }
      (parts << lines(response.headers) << trailers).join
    end

    def self.write_attempt(attempt)
      times = [attempt.queue, attempt.resolve, attempt.connect, attempt.tls, attempt.send_time, attempt.first_byte,
               attempt.read, attempt.begun, attempt.ended].map { |time| time ? (time * 1e9).round : NONE }
      flags = (attempt.reused ? 1 : 0) | (attempt.sent ? 2 : 0)
      [attempt.connection.to_i, flags, Native::PHASES.index(attempt.phase).to_i, ENDINGS.index(attempt.ending).to_i,
       VERSIONS.index(attempt.version).to_i, attempt.status.to_i, attempt.redirects.to_i, *times].pack(ATTEMPT)
    end
    private_class_method :write_attempt

    def self.lines(fields)
      fields.map do |name, value|
        raise ArgumentError, "the response's field #{name.inspect} has a line break in it" if "#{name}#{value}".b.match?(/[\r\n]/n)

        "#{name}: #{value}\r\n".b
      end.join
    end
    private_class_method :lines
  end
end
