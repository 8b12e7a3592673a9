# The keywords of a request and the defaults of its client → the engine's arguments.
module Hecaton
  # One for each client; Client#request and Batch#request both ask it, so that a keyword means the same in both.
  # What a request does not ask for costs it nothing: no Hash and no Array is made in the plain case.
  class Preparation
    # Names of the fields that prove who asks. Those of the client stay at base_url's origin, if there is one.
    CREDENTIALS = %w[authorization cookie proxy-authorization].freeze
    # All but what RFC 3986 §2.3 calls unreserved.
    RESERVED = /[^A-Za-z0-9\-._~]/n
    private_constant :CREDENTIALS, :RESERVED

    # The client's defaults; Client.new says what each is.
    def initialize(headers: nil, base_url: nil, basic_auth: nil, bearer: nil, app_name: nil, app_env: nil)
      @base = base_url && Native.resolve(base_url.to_s, "")
      @home = @base && @base[%r{\A[^/]+//[^/?#]*}] + "/"
      flat = { "X-App-Name" => app_name, "X-App-Env" => app_env }.flat_map { |name, value| value ? [name, value.to_s] : [] }
      @at_home = own(flat, headers, authorization(basic_auth, bearer)).freeze
      @plain = @base.nil? && @at_home.empty?
      @elsewhere = @at_home.each_slice(2).reject { |name, _| CREDENTIALS.include?(name.downcase) }.flatten(1).freeze
    end

    # Whether the client adds nothing to a request that asks for nothing: such a one can do without `call`.
    def plain? = @plain

    # Yields method, URL, headers, body, timeout and options as the engine takes them, and returns what the block does.
    # Not an Array, because this is done for each request.
    def call(method, url, headers, body, timeout, params, basic_auth, bearer, redirects, json, form, multipart)
      # A String, or none, is the plain case.
      unless json.nil? && form.nil? && multipart.nil? && (body.nil? || body.instance_of?(String))
        body, type = Content.of(body, json, form, multipart)
      end
      headers = nil if headers && Preparation.pairs(:headers, headers).size == 0
      url = url.to_s
      url = Preparation.with_query(url, params) if params
      url = Native.resolve(@base, url) if @base
      unless @plain && headers.nil? && basic_auth.nil? && bearer.nil? && type.nil?
        flat = fields(url, headers, basic_auth, bearer, type)
      end
      yield method.to_s, url, flat, body, timeout.nil? ? nil : Client.seconds(timeout),
        redirects.nil? ? nil : { redirects: Preparation.count(:redirects, redirects) }
    end

    # Without the credentials, which whatever holds this would show.
    def inspect = "#<Hecaton::Preparation>"

    class << self
      # A number of something, nil for nil.
      def count(name, value)
        return value if value.nil? || (value.is_a?(Integer) && value.between?(0, 2**32 - 1))

        raise ArgumentError, "#{name} is #{value.inspect}: use an Integer of at least 0"
      end

      # Itself, if it can be names and values.
      def pairs(name, value)
        return value if value.respond_to?(:flat_map) && value.respond_to?(:size)

        raise ArgumentError, "#{name} is of class #{value.class}: give a Hash, or an Array of pairs"
      end

      # Headers as the engine takes them: [name, value, name, value].
      def flat(headers)
        pairs(:headers, headers).flat_map { |name, values| Array(values).flat_map { |value| [name.to_s, value.to_s] } }
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
        pairs = pairs(:params, params).flat_map do |name, values|
          (values.is_a?(Array) ? values : [values]).compact.map do |value|
            if value.is_a?(Hash) || value.is_a?(Array)
              raise ArgumentError, "params: the value of #{name.inspect} is nested: give strings, or an Array of them"
            end

            "#{encoded(name)}=#{encoded(value)}"
          end
        end
        pairs.join("&")
      end

      private

      def encoded(value) = bytes(value.to_s).gsub(RESERVED) { |byte| format("%%%02X", byte.ord) }

      # Text in UTF-8, and what is no text as it is.
      def bytes(text) = (text.encoding == Encoding::BINARY ? text : text.encode(Encoding::UTF_8)).b
    end

    private

    # The headers of a request, nil for none.
    def fields(url, headers, basic_auth, bearer, type)
      defaults = @home.nil? || url.start_with?(@home) ? @at_home : @elsewhere
      if type
        flat = own(defaults, headers, authorization(basic_auth, bearer))
        named = flat.each_slice(2).any? { |name, _| name.casecmp?("content-type") }
        named ? flat : flat.push("Content-Type", type)
      elsif headers || !basic_auth.nil? || !bearer.nil?
        flat = own(defaults, headers, authorization(basic_auth, bearer))
        flat unless flat.empty?
      elsif !defaults.empty?
        defaults
      end
    end

    # Defaults, with the headers of a request in place of those of the same name.
    def own(defaults, headers, authorization)
      flat = headers ? Preparation.flat(headers) : []
      return flat if defaults.empty? && !authorization

      named = headers ? headers.map { |name, _| name.to_s.downcase } : []
      unless authorization.nil? || named.include?("authorization")
        named << "authorization"
        flat.push("Authorization", authorization) if authorization
      end
      defaults.each_slice(2).reject { |name, _| named.include?(name.downcase) }.flatten(1).concat(flat)
    end

    # The value of Authorization; nil when nothing is said of it, false when there shall be none.
    def authorization(basic_auth, bearer)
      raise ArgumentError, "basic_auth and bearer exclude each other: give one" if basic_auth && bearer
      return basic(basic_auth) if basic_auth
      return bearer_token(bearer) if bearer

      false if basic_auth == false || bearer == false
    end

    # RFC 7617.
    def basic(pair)
      raise ArgumentError, "basic_auth is not [user, password]" unless pair.is_a?(Array) && pair.size == 2

      user, password = pair.map { |part| part.to_s.encode(Encoding::UTF_8) }
      raise ArgumentError, "basic_auth: a user name can not contain a colon (RFC 7617 §2)" if user.include?(":")
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
