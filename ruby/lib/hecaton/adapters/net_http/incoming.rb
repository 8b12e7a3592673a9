# A Hecaton response → a Net::HTTPResponse of the right class.

class Hecaton::NetHTTP
  # Its body is read by Net::HTTPResponse's own code, but in the plain case: whole, and in no coding.
  module Incoming
    module_function

    # With the body of a Hecaton::Response.
    def whole(http, request, outcome)
      response = head(http, request, outcome, outcome.record || outcome)
      permitted = request.response_body_permitted?
      if SHORT && plain?(request, response)
        body = (outcome.body.dup.force_encoding(Encoding::BINARY) if permitted && response.class.body_permitted?)
        body&.force_encoding(Encoding::UTF_8) if body&.ascii_only? # As Net::HTTP's are.
        Incoming.put(response, body)
      else
        pieces = [outcome.body.b]
        response.reading_body(BodySocket.new(decoder(http, request, response)) { pieces.shift }, permitted) {}
      end
      note_outcome(response, outcome)
    end

    # The short way: a response as Net::HTTPResponse leaves it when it has read its body. A fifth of the time of
    # having it read.
    def put(response, body)
      response.instance_variable_set(:@body, body)
      response.instance_variable_set(:@read, true)
    end

    # Whether that is so in this version of net-http. If not, it reads each body by its own code.
    SHORT = begin
      probe = Net::HTTPOK.new("1.1", "200", "OK")
      put(probe, "read")
      probe.body.equal?(probe.read_body) && probe.body == "read"
    rescue StandardError
      false
    end
    private_constant :SHORT

    # With the body of a Hecaton::Stream; yields the response before it is read.
    def streamed(http, request, stream)
      response = head(http, request, stream, stream.head)
      socket = BodySocket.new(decoder(http, request, response)) { piece(http, stream) }
      response.reading_body(socket, request.response_body_permitted?) { yield response }
      response
    ensure
      socket&.close
      note_outcome(response, stream.head) if response
    end

    # Without headers and body.
    def response(status, version)
      code = status.to_s
      klass = Net::HTTPResponse::CODE_TO_OBJ[code] ||
              Net::HTTPResponse::CODE_CLASS_TO_OBJ[code[0]] || Net::HTTPUnknownResponse
      klass.new(version, code, PHRASES[status] || Hecaton::Reasons.of(status) || "")
    end

    private_class_method def head(http, request, outcome, record)
      # The version is in the record, which is not read where only HTTP/1.1 is possible.
      response = response(outcome.status, Hecaton::NetHTTP.http == "1.1" ? "1.1" : outcome.http_version || "1.1")
      add_fields(response, outcome, record)
      http.hecaton_record = record
      response.decode_content = request.decode_content
      response.body_encoding = http.response_body_encoding if http.respond_to?(:response_body_encoding)
      response.uri = request.uri
      response
    end

    # By the engine, if there is its record, for that is quicker.
    private_class_method def add_fields(response, outcome, record)
      return outcome.headers.each { |name, value| response.add_field(name, value.b) } if record.is_a?(Hecaton::Response)

      fields = response.to_hash
      Hecaton::Native.add_fields(record, fields)
      # Should a version of net-http hand out a copy of its Hash.
      fields.each { |name, values| response.add_field(name, values) } if response.to_hash.size < fields.size
    end

    # The decoder of the body, if it is compressed.
    private_class_method def decoder(http, request, response)
      return unless request.response_body_permitted? && response.class.body_permitted? && Decoding.applies_to?(response)

      response.extend(Decoding)
      response.hecaton_decoder = Decoding::Decoder.new(cut_allowed: http.hecaton_ignore_eof)
    end

    # The next piece of a stream. A body that was cut short counts as whole with ignore_eof.
    private_class_method def piece(http, stream)
      stream.each_chunk { |chunk| return chunk }
      nil
    rescue Hecaton::Error => error
      Failures.raise_for(error, http) unless error.reason == :body_cut_short && http.hecaton_ignore_eof
    end

    # Whether what came is what the program shall have.
    private_class_method def plain?(request, response)
      return false if request.decode_content && response.key?("content-encoding")

      !(response.respond_to?(:body_encoding) && response.body_encoding)
    end

    # For NetHTTP.outcome: a Response, or the record of one.
    private_class_method def note_outcome(response, outcome)
      response.instance_variable_set(:@hecaton, outcome)
      response
    end

    # Reason phrases where Net::HTTP's world has not followed RFC 9110; the engine keeps none of the server's.
    PHRASES = { 413 => "Payload Too Large", 418 => "I'm a teapot", 422 => "Unprocessable Entity" }.freeze
    private_constant :PHRASES
  end
end
