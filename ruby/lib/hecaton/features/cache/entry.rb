# A stored response, with the times that its age is counted from.

class Hecaton::Features::Cache
  # Its fields are a Hash of plain objects, for stores that marshal.
  class Entry
    # Fields that concern one connection (RFC 9111 §3.1).
    HOP_BY_HOP = %w[connection keep-alive proxy-connection proxy-authenticate proxy-authentication-info
                    transfer-encoding te upgrade trailer].freeze
    # Fields of a 304 that do not describe the stored response.
    UNCHANGED = %w[content-length content-encoding content-range content-type transfer-encoding].freeze
    # Fields that identify the sender: a response is used only for the same values. The engine may add them, unseen
    # by features.
    PERSONAL = %w[authorization cookie].freeze
    # Fields that select a response whatever Vary says. A program's own Host names another resource. With an
    # Accept-Encoding of its own, or in a client that does not decode, the body comes as it is coded.
    SELECTING = [*PERSONAL, "host", "accept-encoding"].freeze
    # If the server gives no lifetime, a response is fresh for this share of the time between Last-Modified and Date
    # (RFC 9111 §4.2.2).
    HEURISTIC = 0.1
    private_constant :HOP_BY_HOP, :UNCHANGED, :PERSONAL, :SELECTING, :HEURISTIC

    # Hash.
    attr_reader :fields

    # The Entries in what a store has returned: none for what is not of the form that was written.
    def self.all(values)
      values.is_a?(Array) ? values.select { |fields| sound?(fields) }.map { |fields| new(fields) } : []
    end

    private_class_method def self.sound?(fields)
      form = (fields in { status: Integer, url: String | nil, body: String, headers: Array, vary: Hash, sent: Numeric,
                          came: Numeric })
      form && fields[:headers].all? { |pair| (pair in [String, String]) } && fields[:vary].each_key.all?(String)
    end

    # The Entry of a response with the times of its request and its arrival.
    def self.of(request, response, sent_at, came)
      dropped = HOP_BY_HOP + names(response.headers, "connection")
      new(status: response.status, url: response.url, body: response.body.dup, sent: sent_at, came: came,
        headers: response.headers.reject { |name, _| dropped.include?(name) },
        vary: (varies(response.headers) | SELECTING).to_h { |name| [name, selector(name, request)] })
    end

    # Names of the fields that select a response, in lower case.
    def self.varies(headers) = names(headers, "vary")

    # Names that a field lists, in lower case. A server may send any bytes.
    private_class_method def self.names(headers, field)
      headers.get_all(field).flat_map { |value| value.scrub.downcase.split(",") }.map(&:strip).reject(&:empty?)
    end

    # Whether features see the field of a request, so that the cache knows what it selects.
    def self.knowable?(name, headers) = name != "*" && (!PERSONAL.include?(name) || headers.key?(name))

    # The value that a field selects by, without differences that mean nothing (RFC 9111 §4.1). A credential is
    # hashed, for stores keep it.
    def self.selector(name, request)
      value = request.selecting(name)&.b&.strip&.gsub(/\s*,\s*/, ",")
      value && PERSONAL.include?(name) ? OpenSSL::Digest::SHA256.hexdigest(value) : value
    end

    def initialize(fields)
      @fields = fields
      @headers = Hecaton::Headers.new(fields[:headers])
    end

    # Directives of the response.
    def directives = @directives ||= Directives.of_response(@headers)

    # Whether a request may get its response.
    def selected_by?(request) = fields[:vary].all? { |name, value| Entry.selector(name, request) == value }

    # Whether it leads elsewhere.
    def redirect? = fields[:status].between?(300, 399) && @headers.key?("location")

    # Seconds since the server made it (RFC 9111 §4.2.3).
    def age(now)
      said = @headers.get_all("age").first.to_s.scrub[/\A\d+(?=\s*(,|\z))/].to_i
      apparent = [fields[:came] - (date || fields[:came]), 0].max
      corrected = said + (fields[:came] - fields[:sent])
      [apparent, corrected].max + (now - fields[:came])
    end

    # Seconds for which it is fresh (RFC 9111 §4.2.1).
    def lifetime
      return Directives.seconds(directives["max-age"]) if directives.key?("max-age")
      return (time("expires") || 0) - (date || fields[:came]) if @headers.key?("expires")

      changed = time("last-modified")
      changed ? [((date || fields[:came]) - changed) * HEURISTIC, 0].max : 0
    end

    # The headers that validate it; none without a validator.
    def conditions
      { "if-none-match" => @headers["etag"], "if-modified-since" => @headers.get_all("last-modified").first }.compact
    end

    # Whether a 304 with these headers may be about it: no other ETag is among them.
    def named_by?(headers)
      headers["etag"].nil? || headers["etag"].delete_prefix("W/") == @headers["etag"]&.delete_prefix("W/")
    end

    # The Entry after a 304 with these headers.
    def updated(headers, sent_at, came)
      fresh = headers.reject { |name, _| UNCHANGED.include?(name) || HOP_BY_HOP.include?(name) }
      names = fresh.map(&:first)
      kept = fields[:headers].reject { |name, _| names.include?(name) }
      Entry.new(fields.merge(headers: kept + fresh, sent: sent_at, came: came))
    end

    # The Response, with its age and what the cache did.
    def response(now, status)
      headers = @headers.reject { |name, _| name == "age" } +
                [["age", age(now).floor.to_s], ["cache-status", "Hecaton; #{status}"]]
      Hecaton::Response.new(status: fields[:status], headers: headers,
        body: fields[:body].dup, url: fields[:url], http_method: "GET")
    end

    private

    def date = time("date")

    # A time in seconds since 1970, nil for none.
    def time(name)
      value = @headers.get_all(name).first
      value && in_this_century(value, Time.httpdate(value)).to_f
    rescue ArgumentError
      nil
    end

    # The old form "Sunday, 06-Nov-94" has two digits of the year. It is in the past only if it would otherwise be more
    # than 50 years ahead (RFC 9110 §5.6.7).
    def in_this_century(value, time)
      return time unless value.match?(/\A\w+, *\d+-/) && time.year < 2000

      later = Time.utc(time.year + 100, time.month, time.day, time.hour, time.min, time.sec)
      later.year > Time.at(fields[:came]).utc.year + 50 ? time : later
    end
  end
end
