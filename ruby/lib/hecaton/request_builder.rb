# A Request and the defaults of its client → the engine's arguments.
module Hecaton
  # Each client has one, for single requests and batches alike, so that an option means the same in both. The engine
  # adds the client's own headers.
  class RequestBuilder
    # All but what RFC 3986 §2.3 calls unreserved.
    RESERVED = /[^A-Za-z0-9\-._~]/n
    private_constant :RESERVED

    # For the engine: the client's headers, [name, value, name, value].
    attr_reader :headers

    # Array of Strings in small letters: their names.
    def header_names = @headers.each_slice(2).map { |name, _| name.downcase }

    # For clients and batches: TokenSource, if bearer is code to call; the client's timeout.
    attr_reader :token_source, :timeout

    # Whether a request that is no more than a URL can go to the engine as it is.
    def plain? = @token_source.nil? && @log.nil? && @predicate.nil?

    # For the engine: user and password of digest authentication, nil for none.
    attr_reader :login

    # The client's defaults; Client.new documents each.
    def initialize(headers: nil, basic_auth: nil, bearer: nil, digest_auth: nil, app_name: nil, app_env: nil, predicate: nil,
      base: nil, log: nil, timeout: nil, public_headers: nil)
      code = bearer if bearer.respond_to?(:call)
      credentials = { headers: headers, basic_auth: basic_auth, bearer: bearer, digest_auth: digest_auth }
      own = fields(credentials, nil).to_a.each_slice(2).to_a
      @base = base
      @public_headers = public_headers || []
      @log = log
      @timeout = timeout
      @token_source = TokenSource.new(code, base) if code && !Token.named?(own)
      app = [["X-App-Name", app_name], ["X-App-Env", app_env]].select do |name, value|
        value && own.none? { |other, _| other.casecmp?(name) }
      end
      fields = app.map { |name, value| [name, value.to_s] } + own.reject { |_, value| value.nil? }
      @headers = fields.flatten(1).freeze
      @login = RequestBuilder.login(digest_auth)
      @predicate = predicate
      @typed = fields.any? { |name, _| name.casecmp?("content-type") }
    end

    # Yields method, URL, headers, body, timeout and options of a Request as the engine takes them, and returns what the
    # block does. Not an Array, because this is done for each request.
    def call(request)
      given = request.given
      body, type = request.content
      url = with_params(request)
      flat = fields(given, type)
      @log&.head(request.http_method, url, flat, @headers)
      timeout = given[:timeout]
      yield request.http_method, url, flat, body, timeout.nil? ? nil : Client.seconds(timeout), options(given)
    end

    # For Request: the absolute URL, or what was given if that is no URL.
    def url(request)
      url = with_params(request).to_s
      Native.resolve(@base || "http://localhost/", url).sub(/#.*\z/m, "")
    rescue ArgumentError
      url
    end

    # For Request: Headers, the client's and its own.
    def headers_of(request)
      own = fields(request.given, request.content.last).to_a.each_slice(2).to_a
      named = own.map { |name, _| name.downcase }
      home = @base.nil? || Request.origin_of(request.url) == Request.origin_of(@base)
      clients = @headers.each_slice(2).select { |name, _| home || Native.public_header?(name, @public_headers) }
      Headers.new(clients.reject { |name, _| named.include?(name.downcase) } + own.reject { |_, value| value.nil? })
    end

    # Without the credentials, which whatever holds this would show.
    def inspect = "#<Hecaton::RequestBuilder>"

    class << self
      # A method as it goes on the wire: a Symbol in capitals, a String as it is.
      def verb(method)
        return method if method.instance_of?(String)

        method.is_a?(Symbol) ? method.to_s.upcase : method.to_s
      end

      # Whether these options of a request are headers alone, or none.
      def headers_alone?(options) = options.nil? || (options.size == 1 && options.key?(:headers))

      # Headers as the engine takes them, nil for none.
      def flat_of(headers)
        return if headers.nil?

        flat = flat(headers)
        flat unless flat.empty?
      end

      # Most redirects as the engine takes them, nil for nil.
      def redirects(value)
        return value if value.nil? || (value.is_a?(Integer) && value.between?(0, 2**32 - 1))
        return value ? Native::REDIRECTS : 0 if value == true || value == false

        raise ArgumentError, "redirects is #{value.inspect}: use an Integer of at least 0, true or false"
      end

      # User and password of digest authentication, nil for none.
      def login(pair)
        return unless pair
        raise ArgumentError, "digest_auth is not [user, password]" unless pair.is_a?(Array) && pair.size == 2

        pair.map { |part| part.to_s.encode(Encoding::UTF_8) }
      end

      # Itself, if it is names and values.
      def pairs(name, value)
        return value if value.is_a?(Hash) || value.is_a?(Headers)
        unless value.respond_to?(:flat_map) && value.respond_to?(:size)
          raise ArgumentError, "#{name} is of class #{value.class}: give a Hash, or an Array of pairs"
        end

        odd = value.find_index { |entry| !(entry.is_a?(Array) && entry.size == 2) }
        return value unless odd

        raise ArgumentError, "#{name}: entry #{odd} is no pair: give a Hash, or an Array of [name, value]"
      end

      # A value that is sent as text, if it is more than its inspect then.
      def plain(name, key, value)
        return value unless value.is_a?(Enumerable) ? !value.is_a?(Range) : value.respond_to?(:read) && !BodySource.pathname?(value)

        nested = "nested, " if value.is_a?(Hash) || value.is_a?(Array)
        raise ArgumentError, "#{name}: the value of #{key.inspect} is #{nested}of class #{value.class}: give text, or an Array of it"
      end

      # Headers as the engine takes them: [name, value, name, value]. Where the value is nil, the client's is left out.
      def flat(headers)
        flat = []
        pairs(:headers, headers).each do |name, values|
          name = name.is_a?(Symbol) ? Headers.title(name) : name.to_s unless name.instance_of?(String)
          next flat.push(name, values) if values.instance_of?(String) # The plain case.

          values = values.is_a?(Array) ? values : [*plain(:headers, name, values)]
          values.empty? ? flat.push(name, nil) : values.each { |value| flat.push(name, plain(:headers, name, value).to_s) }
        end
        flat
      end

      # The URL with these parameters behind those it has, and without fragment.
      def with_query(url, params)
        url = url[/\A[^#]*/]
        query = query(params)
        return url if query.empty?

        separator = url.include?("?") ? "&" : "?"
        "#{url}#{separator unless url.end_with?("?", "&")}#{query}"
      end

      # "name=value&name=value", percent-encoded by RFC 3986: a space is %20.
      def query(params)
        pairs = Content.named(:params, pairs(:params, params)).flat_map do |name, values|
          (values.is_a?(Array) ? values : [values]).compact.map { |value| "#{encoded(name)}=#{encoded(value)}" }
        end
        pairs.join("&")
      end

      private

      def encoded(value) = bytes(value.to_s).gsub(RESERVED) { |byte| format("%%%02X", byte.ord) }

      # Text in UTF-8, and what is no text as it is.
      def bytes(text) = (text.encoding == Encoding::BINARY ? text : text.encode(Encoding::UTF_8)).b
    end

    private

    # The URL with the params of the request, as the engine takes it.
    def with_params(request)
      params, url = request.given[:params], request.target
      params && !url.nil? ? RequestBuilder.with_query(url.to_s, params) : url
    end

    # Rare options of a request; nil if this one has none.
    def options(given)
      redirects, digest_auth, again = given[:redirects], given[:digest_auth], given[:retry]
      return if redirects.nil? && digest_auth.nil? && again.nil? && @predicate.nil?

      options = { redirects: RequestBuilder.redirects(redirects), digest_auth: RequestBuilder.login(digest_auth) }
      options[:predicate] = again.nil? ? @predicate : RetryPredicate.block(again)
      options[:retry] = Client.retry_options(again) || false unless again.nil?
      options
    end

    # The headers of a request, nil for none.
    def fields(given, type)
      basic_auth, bearer, digest_auth = given[:basic_auth], given[:bearer], given[:digest_auth]
      plain = type.nil? && basic_auth.nil? && bearer.nil? && digest_auth.nil?
      flat = RequestBuilder.flat_of(given[:headers])
      return flat if plain

      flat ||= []
      authorization = authorization(basic_auth, bearer, digest_auth)
      flat.push("Authorization", authorization || nil) unless authorization.nil? || values(flat, "authorization").any?
      if type
        given = values(flat, "content-type")
        flat.push("Content-Type", type) if given.empty? ? !@typed : given.flatten == [nil]
      end
      flat
    end

    # The values that headers have for a field, an Array for each time.
    def values(flat, name) = flat.each_slice(2).select { |other, _| other.casecmp?(name) }.map { |_, value| [value] }

    # The value of Authorization; nil without a setting, or when it is the engine's business, false when there
    # shall be none.
    def authorization(basic_auth, bearer, digest_auth)
      if basic_auth ? bearer || digest_auth : bearer && digest_auth
        given = [basic_auth && "basic_auth", bearer && "bearer", digest_auth && "digest_auth"].select(&:itself)
        raise ArgumentError, "#{given.join(" and ")} exclude each other: give one"
      end
      return basic(basic_auth) if basic_auth
      return bearer_token(bearer) if bearer && !bearer.respond_to?(:call) # Code is called when a request needs it.

      false if !digest_auth && (basic_auth == false || bearer == false || digest_auth == false)
    end

    # RFC 7617.
    def basic(pair)
      raise ArgumentError, "basic_auth is not [user, password]" unless pair.is_a?(Array) && pair.size == 2

      user, password = pair.map { |part| part.to_s.encode(Encoding::UTF_8) }
      raise ArgumentError, "basic_auth: a user name cannot contain a colon (RFC 7617 §2)" if user.include?(":")
      raise ArgumentError, "basic_auth contains a control character" if "#{user}#{password}".match?(/[[:cntrl:]]/)

      "Basic #{["#{user}:#{password}"].pack("m0")}"
    end

    # RFC 6750 §2.1, and whatever else is printable: there are tokens with a bar or a colon.
    def bearer_token(token)
      raise ArgumentError, "bearer is not a token: use printable ASCII without spaces" unless token.to_s.b.match?(/\A[!-~]+\z/n)

      "Bearer #{token}"
    end
  end
end
