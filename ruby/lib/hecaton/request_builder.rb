# A Request and the defaults of its client → the engine's arguments.
module Hecaton
  # Each client has one, for single requests and batches alike, so that an option means the same in both. The engine
  # adds the client's own headers.
  class RequestBuilder # :nodoc: all
    # All but what RFC 3986 §2.3 calls unreserved.
    RESERVED = /[^A-Za-z0-9\-._~]/n
    # The steps that an option of a request needs beside its value, as bits. A request costs only those of its options.
    # Clients and batches look at TIMEOUT, BEARER, QUEUE and CLIENT.
    HEADERS, TIMEOUT, STRICT, BODY, REDIRECTS, PARAMS, ENCODED, CREDENTIALS, BEARER, OTHERS =
      Array.new(10) { |bit| 1 << bit }
    # The position of a request in the queue.
    QUEUE = 1 << 10
    # A client of the request's own.
    CLIENT = 1 << 11
    # Of options that the engine reads by itself.
    READABLE = HEADERS | TIMEOUT | STRICT | BODY | REDIRECTS
    RARE = REDIRECTS | OTHERS
    CONTENT = BODY | ENCODED
    FIELDS = HEADERS | CREDENTIALS | ENCODED
    # The steps that each option of a request needs.
    NEEDS = {
      headers: HEADERS, timeout: TIMEOUT, raise_for_status: STRICT, params: PARAMS, body: BODY, json: ENCODED,
      form: ENCODED, multipart: ENCODED, basic_auth: CREDENTIALS, bearer: CREDENTIALS | BEARER,
      digest_auth: CREDENTIALS | OTHERS, redirects: REDIRECTS, retry: OTHERS
    }.freeze
    # Those of a request of a batch.
    QUEUED = { **NEEDS, queue: QUEUE, client: CLIENT }.freeze
    NO_VALUES = [].freeze
    private_constant :RESERVED, :HEADERS, :STRICT, :BODY, :REDIRECTS, :PARAMS, :ENCODED, :CONTENT, :FIELDS,
      :CREDENTIALS, :OTHERS, :RARE, :NO_VALUES

    # The client's headers, [name, value, name, value].
    attr_reader :headers

    # Array of Strings: their names in lower case.
    def header_names = @headers.each_slice(2).map { |name, _| name.downcase }

    # What the client's settings say of headers that the engine adds, by their names in lower case.
    attr_reader :implied

    # Whether bodies are decoded that a request has named the codings of.
    attr_reader :decode_always

    # TokenSource, if bearer is code to call, and the client's timeout and limit of redirects.
    attr_reader :token_source, :timeout, :redirects

    # Whether a request that is no more than a URL can go to the engine as it is.
    def plain? = @token_source.nil? && @log.nil? && @predicate.nil?

    # User and password of digest authentication, nil for none.
    attr_reader :login

    # The client's defaults; Client.new documents each.
    def initialize(headers: nil, basic_auth: nil, bearer: nil, digest_auth: nil, app_name: nil, app_env: nil,
      user_agent: nil, decode: nil, decode_always: nil, redirects: nil, predicate: nil, base: nil, log: nil,
      timeout: nil, public_headers: nil, response_builder: nil)
      code = bearer if bearer.respond_to?(:call)
      credentials = { headers: headers, basic_auth: basic_auth, bearer: bearer, digest_auth: digest_auth }
      own = fields(credentials, nil).to_a.each_slice(2).to_a
      @base = base
      @public_headers = public_headers || []
      @log = log
      @timeout = timeout
      @redirects = RequestBuilder.redirects(redirects)
      @token_source = TokenSource.new(code, base) if code && !Token.named?(own)
      app = [["X-App-Name", label(:app_name, app_name)], ["X-App-Env", label(:app_env, app_env)]]
      app.select! { |name, value| value && own.none? { |other, _| other.casecmp?(name) } }
      fields = app.map { |name, value| [name, value.to_s] } + own.reject { |_, value| value.nil? }
      @headers = fields.flatten(1).freeze
      @login = RequestBuilder.login(digest_auth)
      @predicate = predicate
      @response_builder = response_builder
      @content_type = fields.find { |name, _| name.casecmp?("content-type") }&.last
      @decode_always = decode_always
      @implied = { "user-agent" => user_agent || app_name&.to_s,
                   "accept-encoding" => ("*" unless decode == false) }.freeze
    end

    # The options of a request as the engine takes them: an Array of headers ([name, value, name, value]), body (a
    # String or a BodySource) and timeout (a Float). Each is nil if the request has none. A Hash of rare options may
    # follow. needs is what RequestBuilder.needs returned of the options. request is the Request that has them, nil for
    # none. strict is its raise_for_status.
    def build(http_method, url, given, needs, request, strict)
      body, type = request ? request.content : Content.given(given) unless needs & CONTENT == 0
      headers = fields(given, type) unless needs & FIELDS == 0
      @log&.head(http_method, url, headers, @headers)
      timeout = Client.seconds(given[:timeout]) unless needs & TIMEOUT == 0
      return [headers, body, timeout] if needs & RARE == 0 && @predicate.nil?

      [headers, body, timeout, rare(given, strict)]
    end

    # The absolute URL, or what was given if that is no URL.
    def url(request)
      url = RequestBuilder.with_params(request.target, request.given[:params]).to_s
      Native.resolve(@base || "http://localhost/", url).sub(/#.*\z/m, "")
    rescue ArgumentError
      url
    end

    # Headers, the client's and its own.
    def headers_of(request)
      own = fields(request.given, request.content.last).to_a.each_slice(2).to_a
      home = @base.nil? || Request.origin_of(request.url) == Request.origin_of(@base)
      clients = @headers.each_slice(2).select { |name, _| home || Native.public_header?(name, @public_headers) }
      Headers.new(Headers.replaced(clients, own).reject { |_, value| value.nil? })
    end

    # Without the credentials, which whatever holds this would show.
    def inspect = "#<Hecaton::RequestBuilder>"

    # A method as it is sent: a Symbol in capitals, a String as it is.
    def self.verb(method)
      return method if method.instance_of?(String)
      return method.to_s.upcase if method.is_a?(Symbol)
      return method.to_s if method.is_a?(String)

      raise ArgumentError, "the method is #{method.inspect}: give a String or a Symbol, such as :get"
    end

    # The steps that these options of a request need. ArgumentError for an unknown one.
    def self.needs(options, known = NEEDS)
      return Request.refuse_options(options) unless options.is_a?(Hash)

      needs = 0
      options.each_key { |name| needs |= known[name] || Request.refuse(name) }
      needs
    end

    # Headers as the engine takes them, nil for none.
    def self.flat_of(headers)
      return if headers.nil?

      flat = flat(headers)
      flat unless flat.empty?
    end

    # The limit of redirects as the engine takes it, nil for nil.
    def self.redirects(value)
      return value if value.nil? || (value.is_a?(Integer) && value.between?(0, 2**32 - 1))
      return value ? Native::REDIRECTS : 0 if value == true || value == false

      raise ArgumentError, "redirects is #{value.inspect}: use an Integer of at least 0, true or false"
    end

    # User and password of digest authentication, or of another kind, nil for none.
    def self.login(pair, kind = :digest_auth)
      return unless pair
      raise ArgumentError, "#{kind} is not [user, password]" unless pair.is_a?(Array) && pair.size == 2

      pair.map { |part| part.to_s.encode(Encoding::UTF_8) }
    end

    # Returns the value, if it is a Hash, Headers, or pairs; else raises ArgumentError.
    def self.pairs(name, value)
      return value if value.is_a?(Hash) || value.is_a?(Headers)
      unless value.respond_to?(:flat_map) && value.respond_to?(:size)
        raise ArgumentError, "#{name} is of class #{value.class}: give a Hash, or an Array of pairs"
      end

      odd = value.find_index { |entry| !(entry.is_a?(Array) && entry.size == 2) }
      return value unless odd

      raise ArgumentError, "#{name}: entry #{odd} is not a pair: give a Hash, or an Array of [name, value]"
    end

    # Returns a value that can be sent as text; raises ArgumentError for one whose text would only be its inspect.
    def self.plain(name, key, value)
      unless value.is_a?(Enumerable) ? !value.is_a?(Range) : value.respond_to?(:read) && !BodySource.pathname?(value)
        return value
      end

      nested = "nested, " if value.is_a?(Hash) || value.is_a?(Array)
      raise ArgumentError,
        "#{name}: the value of #{key.inspect} is #{nested}of class #{value.class}: give text, or an Array of it"
    end

    # Headers as the engine takes them: [name, value, name, value]. Where the value is nil, the client's is left out.
    def self.flat(headers)
      flat = []
      headers = pairs(:headers, headers) unless headers.instance_of?(Hash)
      headers.each do |name, values|
        name = name.is_a?(Symbol) ? Headers.title(name) : name.to_s unless name.instance_of?(String)
        next flat.push(name, values) if values.instance_of?(String) # The plain case.

        values = values.is_a?(Array) ? values : [*plain(:headers, name, values)]
        values.empty? ? flat.push(name, nil) : values.each { |value|
          flat.push(name, plain(:headers, name, value).to_s)
        }
      end
      flat
    end

    # Adds parameters to a URL as it was given; without parameters the URL is not changed.
    def self.with_params(url, params) = params.nil? || url.nil? ? url : with_query(url.to_s, params)

    # The URL with these parameters after those it has, and without fragment.
    def self.with_query(url, params)
      url = readable(url)[/\A[^#]*/]
      query = query(params)
      return url if query.empty?

      separator = url.include?("?") ? "&" : "?"
      "#{url}#{separator unless url.end_with?("?", "&")}#{query}"
    end

    # "name=value&name=value", percent-encoded by RFC 3986: a space is %20.
    def self.query(params)
      query = String.new
      pairs(:params, params).each do |name, value|
        next add(query, name, value) if value.instance_of?(String) || value.instance_of?(Integer) # The plain case.

        Content.named(:params, [[name, value]]).each do |inner, values|
          values.is_a?(Array) ? values.each { |each| add(query, inner, each) } : add(query, inner, values)
        end
      end
      query
    end

    # Text that patterns can be looked for in, as UTF-16 cannot.
    def self.readable(text) = text.encoding.ascii_compatible? ? text : text.encode(Encoding::UTF_8)

    # Bytes, percent-encoded by RFC 3986.
    def self.escaped(text) = text.b.gsub(RESERVED) { |byte| format("%%%02X", byte.ord) }

    # Text in UTF-8, and what is no text as it is.
    def self.bytes(text) = (text.encoding == Encoding::BINARY ? text : text.encode(Encoding::UTF_8)).b

    private_class_method def self.add(query, name, value)
      return if value.nil?

      query << "&" unless query.empty?
      query << encoded(name) << "=" << encoded(value)
    end

    private_class_method def self.encoded(value)
      text = value.to_s
      return text if text.ascii_only? && !text.match?(RESERVED)

      escaped(bytes(text))
    end

    private

    # A setting that becomes a header's value, as a String; nil for none.
    def label(name, value)
      return value&.to_s if value.nil? || value.is_a?(String) || value.is_a?(Symbol)

      raise ArgumentError, "#{name} is of class #{value.class}: give a String or a Symbol"
    end

    def rare(given, strict)
      redirects, digest_auth, again = given[:redirects], given[:digest_auth], given[:retry]
      rare = {}
      rare[:redirects] = RequestBuilder.redirects(redirects) unless redirects.nil?
      rare[:digest_auth] = RequestBuilder.login(digest_auth) unless digest_auth.nil?
      predicate = again.nil? ? @predicate : RetryPredicate.block(again)
      rare[:predicate] = RetryPredicate.new(predicate, @response_builder, strict) if predicate
      rare[:retry] = Client.retry_options(again) || false unless again.nil?
      rare
    end

    # The headers of a request, nil for none.
    def fields(given, type)
      basic_auth, bearer, digest_auth = given[:basic_auth], given[:bearer], given[:digest_auth]
      flat = RequestBuilder.flat_of(given[:headers])
      return flat if type.nil? && basic_auth.nil? && bearer.nil? && digest_auth.nil?

      flat ||= []
      # nil leaves what there is, false leaves the client's and the URL's out.
      authorization = authorization(basic_auth, bearer, digest_auth)
      flat.push("Authorization", authorization || nil) unless authorization.nil? || values(flat, "authorization").any?
      type ? with_type(flat, type) : flat
    end

    # The headers with the Content-Type of an encoded body, whose own is made.
    def with_type(flat, made)
      named = values(flat, "content-type")
      return flat.push("Content-Type", made) if named.empty? && @content_type.nil? # The plain case.

      own = named.flatten.compact.first
      type = GeneratedHeaders.content_type(made, own, (@content_type if named.empty?))
      return flat if type == own

      flat.each_slice(2).reject { |name, _| name.casecmp?("content-type") }.flatten(1).push("Content-Type", type)
    end

    # The values that headers have for a field, an Array for each time.
    def values(flat, name)
      return NO_VALUES if flat.empty?

      flat.each_slice(2).select { |other, _| other.casecmp?(name) }.map { |_, value| [value] }
    end

    # The value of Authorization; nil without a setting, or if it is set later; false if the request must have none.
    def authorization(basic_auth, bearer, digest_auth)
      if basic_auth ? bearer || digest_auth : bearer && digest_auth
        given = [basic_auth && "basic_auth", bearer && "bearer", digest_auth && "digest_auth"].select(&:itself)
        raise ArgumentError, "#{given.join(" and ")} cannot be combined: give one"
      end
      return basic(basic_auth) if basic_auth
      return bearer_token(bearer) if bearer && !bearer.respond_to?(:call) # Code is called when a request needs it.

      false if !digest_auth && (basic_auth == false || bearer == false || digest_auth == false)
    end

    # RFC 7617.
    def basic(pair)
      user, password = RequestBuilder.login(pair, :basic_auth)
      raise ArgumentError, "basic_auth: a user name cannot contain a colon (RFC 7617 §2)" if user.include?(":")
      raise ArgumentError, "basic_auth contains a control character" if "#{user}#{password}".match?(/[[:cntrl:]]/)

      "Basic #{["#{user}:#{password}"].pack("m0")}"
    end

    # RFC 6750 §2.1, and whatever else is printable: there are tokens with a bar or a colon.
    def bearer_token(token)
      unless token.is_a?(String)
        raise ArgumentError, "bearer is of class #{token.class}: give a String, or code that returns one"
      end

      raise ArgumentError,
        "bearer is not a token: use printable ASCII without spaces" unless token.b.match?(/\A[!-~]+\z/n)

      "Bearer #{token}"
    end
  end
end
