# Writes an outcome as the engine would; the reverse of record.rb.
require "ipaddr"

module Hecaton
  module Record
    # The record of a Response, or of its head: it is decoded as one of the engine's is.
    def self.write(response)
      url = "#{response.http_method} #{response.url}".b
      trailers = response.respond_to?(:trailers) ? lines(response.trailers) : ""
      facts = response.attempts.map { |attempt| write_facts(attempt) }.join
      numbers = [response.attempts.size, response.redirects.size, trailers.bytesize, facts.bytesize]
      parts = [[(response.elapsed * 1e9).round, *numbers].pack(HEAD)]
      response.attempts.each { |attempt| parts << write_attempt(attempt) }
      parts << facts
      parts << [url.bytesize].pack("L<") << url
      response.redirects.each { |redirect| parts << [redirect.status, redirect.url.bytesize].pack("L<2") << redirect.url.b }
      certified((parts << lines(response.headers) << trailers).join, response.attempts)
    end

    # The record, leading to the certificates as one of the engine's does.
    private_class_method def self.certified(record, attempts)
      record.instance_variable_set(:@certificates, attempts.map { |attempt| attempt.tls&.der }) if attempts.any?(&:tls)
      record
    end

    private_class_method def self.write_facts(attempt)
      tls = attempt.tls ? [attempt.tls.version, attempt.tls.cipher, attempt.tls.alpn.to_s] : []
      [write_endpoint(attempt.peer), write_endpoint(attempt.local), [tls.size].pack("C"),
       *tls.map { |text| [text.bytesize].pack("C") + text.b }].join
    end

    private_class_method def self.write_endpoint(endpoint)
      return "\0\0\0".b unless endpoint
      return [1, endpoint.address.bytesize].pack("CS<") + endpoint.address.b unless endpoint.port

      address, scope = endpoint.address.split("%", 2)
      ip = IPAddr.new(address)
      return [4, 6, endpoint.port].pack("CS<2") + ip.hton if ip.ipv4?

      [6, 22, endpoint.port].pack("CS<2") + ip.hton + [scope.to_i].pack("L<")
    end

    private_class_method def self.write_attempt(attempt)
      times = [attempt.queue_time, attempt.resolve_time, attempt.connect_time, attempt.tls_time, attempt.send_time, attempt.first_byte_time,
               attempt.read_time, attempt.begun, attempt.ended].map { |time| time ? (time * 1e9).round : NONE }
      flags = (attempt.reused ? 1 : 0) | (attempt.sent ? 2 : 0)
      [attempt.connection.to_i, flags, Native::PHASES.index(attempt.phase).to_i, ENDINGS.index(attempt.ending).to_i,
       VERSIONS.index(attempt.version).to_i, attempt.status.to_i, attempt.redirects.to_i, *times].pack(ATTEMPT)
    end

    # The fields. ArgumentError for what no response has.
    def self.checked(fields)
      fields.each do |name, value|
        raise ArgumentError,
          "the response's field #{name.inspect} has a line break in it" if "#{name}#{value}".b.match?(/[\r\n]/n)
      end
    end

    private_class_method def self.lines(fields) = checked(fields).map { |name, value| "#{name}: #{value}\r\n".b }.join
  end
end
