# The conditions under which a stub matches a request.

module Hecaton::Testing
  # See Hecaton.stub.
  class Conditions
    def initialize(method, url, headers:, body:, json:, form:)
      @methods = Array(method).map { |each| each.to_s.upcase }
      raise ArgumentError, "a stub has no method: give one such as :get, or :any" if @methods.empty?

      @url = url
      fields = Hecaton::RequestBuilder.pairs(:headers, headers.nil? ? {} : headers)
      @headers = fields.map { |name, value| [Hecaton::Headers.field(name), value] }
      @others = { body: body, json: json, form: form }.compact
      raise ArgumentError, "#{@others.keys.join(", ")} cannot be combined: give one" if @others.size > 1

      refuse_what_never_matches
    end

    # nil if the request matches, else the name of the first thing that does not: :method, :url, :query, :headers,
    # :body.
    def mismatch(request)
      return :method unless @methods.include?("ANY") || @methods.include?(request.http_method)

      @url.mismatch(request) || (:headers unless headers?(request)) || (:body unless body?(request))
    end

    # For messages.
    def to_s
      text = "#{@methods.join(" or ")} #{@url}"
      text += " with headers #{@headers.to_h.inspect}" unless @headers.empty?
      @others.each { |name, value|
        text += " with #{name} #{value.respond_to?(:call) ? "that its block takes" : value.inspect}"
      }
      text
    end

    private

    def refuse_what_never_matches
      name, expected = @others.first
      case name
      when :body
        why = "give json or form for what is no text" if expected.is_a?(Hash) || expected.is_a?(Array)
      when :json
        if expected.is_a?(Regexp) || expected.respond_to?(:call)
          why = "give what the JSON means, or body for a Regexp or code"
        end
      when :form then Hecaton::Content.of(nil, nil, expected, nil)
      end
      raise ArgumentError, "#{name} of a stub is of class #{expected.class}, which no request's is: #{why}" if why
    end

    def headers?(request)
      @headers.all? do |name, expected|
        given = request.headers.get_all(name)
        next given.empty? if expected.nil?
        next given == expected.map(&:to_s) if expected.is_a?(Array)

        next !given.empty? && looked_for?(expected, given.join(", ")) if expected.is_a?(Regexp)

        !given.empty? && (expected === given.join(", ") || expected.to_s == given.join(", "))
      end
    end

    def body?(request)
      name, expected = @others.first
      case name
      when nil then true
      when :body then text?(expected, request.body.to_s)
      when :json then json?(expected, request.body.to_s)
      when :form then form?(expected, request.body.to_s)
      end
    end

    # Two Strings are compared by bytes, because no encoding is sent.
    def text?(expected, body)
      return expected.b == body.b if expected.is_a?(String)

      text = body.dup.force_encoding(Encoding::UTF_8)
      return expected === (text.valid_encoding? ? text : body.b) unless expected.is_a?(Regexp)

      (text.valid_encoding? && looked_for?(expected, text)) || looked_for?(expected, body.b)
    end

    # A Regexp of another encoding raises where it could never match.
    def looked_for?(regexp, text)
      regexp.match?(text)
    rescue Encoding::CompatibilityError
      false
    end

    def json?(expected, body)
      require "json"
      JSON.parse(body) == JSON.parse(JSON.generate(expected))
    rescue JSON::ParserError
      false
    end

    def form?(expected, body)
      text, = Hecaton::Content.of(nil, nil, expected, nil)
      URI.decode_www_form(body).sort == URI.decode_www_form(text).sort
    rescue ArgumentError
      false # The body is not a form.
    end
  end
end
