# A response: plain Ruby, so that it can be marshalled, compared, and made by hand in tests.
%w[any_response outcome].each { |name| require_relative name }

module Hecaton
  # The response of a server, read whole. Any status is a response: 404 and 500 are not errors here.
  class Response
    include Outcome
    include AnyResponse

    PATTERN = %i[status code headers body content_type charset url http_method redirects attempts elapsed
                 response].freeze
    private_constant :PATTERN

    # Integer, 200 to 999.
    attr_reader :status
    # String in the encoding of its Content-Type's charset (UTF-8 for JSON). It is in ASCII-8BIT if there is no charset,
    # if the bytes are not valid in it, and if Ruby can hardly work with it (UTF-16 and the like).
    attr_reader :body

    # By hand, for tests: Hecaton::Response.new(status: 200, headers: {"etag" => "x"}, body: "…"). nil is none.
    # ArgumentError for what no response has.
    def initialize(status:, headers: {}, body: "", url: nil,
      redirects: [], attempts: [], elapsed: 0.0, http_method: nil,
      trailers: {})
      raise ArgumentError, "status is #{status.inspect}: give an Integer" unless status.is_a?(Integer)
      raise ArgumentError, "body is of class #{body.class}: give a String" unless body.nil? || body.is_a?(String)

      @status = status
      @headers = headers.is_a?(Headers) ? headers : Headers.new(headers)
      @body = body || ""
      @url = url
      @redirects = redirects
      @attempts = attempts
      @elapsed = elapsed
      @http_method = http_method
      @trailers = trailers.is_a?(Headers) ? trailers : Headers.new(trailers)
    end

    # From the engine; the record is decoded when it is needed.
    def self.from_engine(status, record, body) = allocate.load_engine(status, record, body)

    # The engine's record, for Record; nil for one made by hand.
    attr_reader :record # :nodoc:

    # The body: a String in the encoding of its charset, see body.
    def to_s = body

    # The body parsed as JSON (RFC 8259): a Hash, an Array, a String, a number, true, false or nil. It is read anew each
    # time.
    #
    # symbolize_names:: whether the names in a Hash are Symbols. Default false: Strings.
    #
    # Raises JSONError when the body is not JSON, whatever its Content-Type says; an empty one is none.
    def json(symbolize_names: false)
      Library.load("json")
      JSON.parse(text, symbolize_names: symbolize_names)
    rescue JSON::ParserError, EncodingError
      raise JSONError, self
    end

    # The body parsed by the media type of its Content-Type: see MIME. Of JSON it is what json returns.
    #
    # type:: a media type instead of that, "application/json".
    #
    # Raises ArgumentError if the type is not known, and what its decoder raises; JSONError for JSON.
    def parse(type = nil)
      mime = MIME[type || headers.get_all("content-type").first]
      unless mime&.decode
        raise ArgumentError, "the type #{(type || content_type).inspect} is not known: " \
          "use one of #{MIME.names.join(", ")}, or Hecaton::MIME.register"
      end

      mime.decode.call(body)
    rescue JSONError
      raise JSONError, self
    end

    # Headers.
    def headers = @headers ||= Record.headers(@record)

    # As in AnyResponse; the headers are not stored.
    def each_field(&block) = @record && !@headers ? Record.each_field(@record, &block) : super # :nodoc:

    # Headers: the trailers, fields that came after the body (RFC 9110 §6.5), such as its checksum. Most responses have
    # none. Over HTTP/1.1 they are those of a body in chunks. Kept apart from the headers, and trusted no more than
    # those. The limits are max_header_fields and max_header_bytes; more is a BodyError. Some servers send them only to
    # requests with the headers { te: "trailers", connection: "te" } (over HTTP/2 only the first).
    def trailers = @trailers ||= Record.trailers(@record)

    # String: the URL that responded, with its query and without fragment; after redirects the last one.
    def url = @url || (@url = Record.url(@record) if @record)

    # String: the method of its request, "GET" and the like; after redirects the last one.
    def http_method = @http_method || (@http_method = Record.http_method(@record) if @record)

    # Array of Redirect: those that were followed, in order.
    def redirects = @redirects ||= Record.redirects(@record)

    # Array of Attempt, in order; the last one brought this response.
    def attempts = @attempts ||= Record.attempts(@record)

    # Seconds from the start of the request to the last byte of the body.
    def elapsed = @elapsed ||= Record.elapsed(@record)

    # Timings: where those seconds went.
    def timings = Timings.new(**attempts.last.to_h.slice(*Timings.members), total_time: elapsed)

    # So that it can be handed to other Ractors too, by Ractor.make_shareable: what is decoded when it is needed is
    # decoded now.
    def freeze
      headers && trailers && redirects && attempts && elapsed
      url && http_method
      Library.load_for_responses
      super
    end

    # Itself: every outcome has the methods response and error.
    def response = self

    # Equal in status, headers and body, whatever the way here.
    def ==(other) = other.is_a?(Response) && status == other.status && headers == other.headers && body == other.body
    alias eql? ==

    # Integer: the same for equal responses.
    def hash = [status, headers, body].hash

    # Without URL, headers and body, which may be secret.
    def inspect
      content = [content_type, "#{body.bytesize} bytes"].compact.join(", ")
      "#<Hecaton::Response #{[status, reason].compact.join(" ")}, #{content}>"
    end

    # For pattern matching: `in {status: 200..299, body:}`. The names are those of methods: status, code, headers, body,
    # content_type, charset, url, http_method, redirects, attempts, elapsed, response.
    def deconstruct_keys(names) = Patterns.keys(self, names, PATTERN)

    # A copy whose body was handed over already.
    def without_body = with_body("".b) # :nodoc:

    # A copy with this body.
    def with_body(body) = dup.tap { |copy| copy.instance_variable_set(:@body, body) } # :nodoc:

    # As Outcome says. An outcome of the engine's that nobody else has takes no more than this.
    def of(request) # :nodoc:
      return super if @record.nil? || (@request && request) || frozen?

      @request = request
      self
    end

    # A response that was made by hand without a URL or method gets the request's.
    def outcome_of(request) # :nodoc:
      @request = request
      return self if @record || request.nil?

      @url ||= request.url
      @http_method ||= request.http_method
      self
    end

    # Returns itself.
    def load_engine(status, record, body) # :nodoc:
      @status = status
      @record = record
      @body = body
      self
    end

    private

    # The body in UTF-8, for JSON: without the byte order mark that some put before it (RFC 8259 §8.1).
    def text
      text = body.encoding == Encoding::BINARY ? body.dup.force_encoding(encoding_of_json) : body
      text = text.encode(Encoding::UTF_8)
      raise EncodingError, "it is not valid #{text.encoding}" unless text.valid_encoding?

      text.delete_prefix("\u{feff}")
    end

    # The encoding of a body of bytes: UTF-8, unless the Content-Type names one.
    def encoding_of_json
      named = ContentType.encoding(headers.get_all("content-type").first)
      named == Encoding::BINARY ? Encoding::UTF_8 : named
    end
  end
end
