# One request as a value: method, URL, headers, body and options.
module Hecaton
  # The request that every verb of Client and Batch builds, and that features receive and return. It never changes:
  # `with` returns a copy.
  #
  #   request = Hecaton::Request.new(:post, "http://api.example/users", json: { name: "x" }, timeout: 2)
  #   client.request(request)
  #   batch.add(request.with(headers: { "x-trace" => "1" }))
  #
  # A request can be sent as often as you like, by several threads and clients, unless its body can be read only once.
  class Request
    CONTENT = %i[body json form multipart].freeze
    # Hash: no options.
    NOTHING = {}.freeze
    private_constant :CONTENT

    # String: "GET" and the like, as on the wire.
    attr_reader :http_method

    # The URL as it was given.
    attr_reader :target # :nodoc:

    # The options that were given, nil for none.
    attr_reader :own_options # :nodoc:

    # Whether the response is read in pieces, in a block or by on_body of a batch. Features read
    # in_parts?.
    attr_writer :in_parts # :nodoc:

    # http_method:: "GET" and the like, or a Symbol in any case.
    # url:: a String or a URI, absolute unless the client has a base_url.
    # options:: as in Client#request.
    def initialize(http_method, url, *others, **options)
      Request.refuse_options(*others) if others.any?
      load(http_method, url.nil? ? url : url.to_s.dup.freeze, options.empty? ? nil : Request.own(options).freeze)
    end

    # As `new`, but without a copy of what was given.
    def self.of(http_method, url, options) = allocate.load(http_method, url, options) # :nodoc:

    # With a builder, the request is not shared, and its URL and headers are what the builder's client
    # sends. The method is then a String, and the caller has checked the options. Returns itself.
    def load(http_method, url, options, builder = nil) # :nodoc:
      # @builder, @http_method and @target are set first, and others only if needed: Ruby 3.1 allocates extra memory for
      # an object with more than three instance variables.
      @builder = builder
      unless builder
        http_method = RequestBuilder.verb(http_method)
        RequestBuilder.needs(options) if options # ArgumentError for an unknown one.
      end
      @http_method = http_method
      @target = url
      @own_options = options if options
      self
    end

    # The options as they were given.
    def given = @own_options || NOTHING # :nodoc:

    # String: the URL. In a feature it is absolute and has the params; nil if none was given.
    def url = @url ||= @builder ? @builder.url(self) : @target&.to_s

    # String: scheme, host and port of the URL, "https://api.example:443"; nil if the URL is not absolute.
    def origin = Request.origin_of(url)

    # Headers: those of the request. In a feature the client's headers are included, if they may go to this URL. The
    # engine's own (Host, User-Agent, Accept, a jar's Cookie and the like) are known only in before_attempt.
    def headers
      @headers ||= @builder ? @builder.headers_of(self) :
        Headers.new(Request.fields(given[:headers]).reject { |_, value| value.nil? })
    end

    # String: the body as it is sent, encoded from json, form or multipart; nil for none. A body that is read while it
    # is sent (an IO, a file, what has each) is a BodySource.
    def body = content.first

    # An option, nil if it was not given: request[:timeout].
    def [](name) = given[name]

    # Hash: the options that were given, without headers and body.
    def options = given.except(:headers, *CONTENT)

    # A copy with changes.
    #
    # http_method::, url:: replace this request's.
    # headers:: are added. A field replaces the one with its name. A field whose value is nil is left out, even if the
    #   client has it.
    # body::, json::, form::, multipart:: each replaces all others. A body keeps the Content-Type that there is.
    #
    # All other options are replaced. nil stands for the client's setting.
    def with(http_method: @http_method, url: nil, **changes)
      RequestBuilder.needs(changes) # ArgumentError for an unknown one.
      changes = Request.own(changes)
      given = self.given.merge(changes)
      given[:headers] = Request.merged(self.given[:headers], changes[:headers]) if changes.key?(:headers)
      changed = changes.keys & CONTENT
      replace_content(given, changed) if changed.any?
      given.delete(:params) if url && @builder && !changes.key?(:params)
      dup.change(http_method, url || @target, given, changed.empty?)
    end

    # Hash: whatever features remember between their methods, each under a key of its own. It belongs to one
    # sending of the request, and all copies that `with` makes share it.
    def notes = @notes ||= {}

    # Whether the response is read in pieces, in a block or by on_body: its outcome then has no body.
    def in_parts? = @in_parts ? true : false

    # Equal in method, URL and options.
    def ==(other) = other.is_a?(Request) && [other.http_method, other.url, other.given] == [http_method, url, given]
    alias eql? ==

    # Integer: the same for equal requests.
    def hash = [http_method, url, given].hash

    # Without query, headers and body, which may be secret.
    def inspect = "#<Hecaton::Request #{http_method} #{RequestLog.given(@target)}>"

    # Body and its Content-Type, which is nil if the body does not say it. Made once.
    def content = @content ||= Content.given(given) # :nodoc:

    # A copy for one sending, whose URL and headers are those that this builder's client sends.
    def prepared(builder) = dup.adopt(builder, nil, @in_parts) # :nodoc:

    # This request, with the context of the request that it replaces; a copy, unless the two share a
    # context.
    def in_place_of(before) = notes.equal?(before.notes) ? self : dup.adopt(*before.context) # :nodoc:

    # The value by which a header selects a response. For User-Agent and Accept-Encoding, which the
    # engine adds to a request without them, it is the value of the settings. A body that was decoded is another than
    # one that was not.
    def selecting(name) # :nodoc:
      value = headers[name] || @builder&.implied&.[](name)
      name == "accept-encoding" && @builder&.decode_always ? "decoded #{value}" : value
    end

    # Whether redirects are followed.
    def follows_redirects? # :nodoc:
      own = given[:redirects]
      (own.nil? ? @builder&.redirects : RequestBuilder.redirects(own)).to_i.positive?
    end

    # What the client knows of this request, in the form that `adopt` takes.
    def context = [@builder, @notes, @in_parts] # :nodoc:

    # Sets what the client knows of it. Returns itself.
    def adopt(builder, notes, in_parts = nil) # :nodoc:
      @builder = builder
      @notes = notes
      @in_parts = in_parts
      @url = @headers = nil
      self
    end

    # Whether nothing but headers and timeout differs.
    def same_but_headers?(other) # :nodoc:
      [other.http_method, other.url] == [http_method, url] && other.given[:body].equal?(given[:body]) &&
        other.given.keys - %i[headers body timeout] == given.keys - %i[headers body timeout]
    end

    # Returns itself.
    def change(http_method, url, given, same_content) # :nodoc:
      notes # Creates the Hash now, so that the copy and its original share it.
      @http_method = RequestBuilder.verb(http_method)
      @target = url
      @own_options = given.empty? ? nil : given.freeze
      @url = @headers = nil
      @content = nil unless same_content
      self
    end

    # Whether the body can be sent again from a value that is held.
    def held? = (given[:body].nil? || given[:body].is_a?(String)) && given[:multipart].nil? # :nodoc:

    # Hashes, Arrays and Strings are copied deeply, because the program may change them later; other objects are
    # returned as they are.
    def self.own(value)
      return value.to_h { |name, inner| [name, own(inner)] } if value.instance_of?(Hash)
      return value.map { |inner| own(inner) } if value.instance_of?(Array)

      value.instance_of?(String) && !value.frozen? ? value.dup.freeze : value
    end

    # The request itself, if no URL and no options were given with it; else raises ArgumentError.
    def self.alone(request, url, options)
      return request if url.nil? && options.nil?

      raise ArgumentError, "a Hecaton::Request takes no further arguments: change it with its method `with`"
    end

    # Headers as pairs, with one entry for each name.
    def self.fields(headers) = headers.nil? ? [] : RequestBuilder.flat(headers).each_slice(2).to_a

    # Pairs of headers, some replaced.
    def self.merged(headers, others) = Headers.replaced(fields(headers), fields(others))

    # "http://host:80" of an absolute URL, nil for none.
    def self.origin_of(url)
      scheme, host, port = url&.match(%r{\A(https?)://(?:[^/?#@]*@)?(\[[^\]]*\]|[^:/?#]*)(?::(\d+))?}i)&.captures
      "#{scheme.downcase}://#{host.downcase}:#{port || { "http" => 80, "https" => 443 }[scheme.downcase]}" if host
    end

    # Raises ArgumentError for an option that no request has.
    def self.refuse(name) # :nodoc:
      if Settings::NAMES.include?(name)
        raise ArgumentError, "#{name}: is a setting of the client, not of a request: #{where(name)}"
      end

      raise ArgumentError, "unknown keyword: #{name.inspect}#{meant(name)}"
    end

    # Raises ArgumentError for what was given in place of keywords.
    def self.refuse_options(*given) # :nodoc:
      raise ArgumentError, "the options are of class #{given.map(&:class).join(" and ")}: " \
        "give keywords, such as params:, headers:, json:, form: or body:"
    end

    OF_MANY = %i[concurrency per_origin rate].freeze
    private_constant :OF_MANY

    # How a client gets a setting. A derived client shares those of connections.
    private_class_method def self.where(name)
      with = ", or client.with(#{name}: …)" unless Settings::OF_CONNECTIONS.include?(name.to_sym)
      "Client.new(#{name}: …)#{with}"
    end

    # A guess at the meaning of an option that no request has.
    private_class_method def self.meant(name)
      all = "(a request has #{Settings::OF_REQUESTS.join(", ")})"
      like = Suggestion.of(name, Settings::OF_REQUESTS)
      return "#{like} #{all}" unless like.empty?

      own = Suggestion.of(name, OF_MANY)
      return "#{own} get_all, all and batch have it, not a request" unless own.empty?

      of_client = Suggestion.like(name.to_s, Settings::NAMES)
      if of_client
        return "; did you mean #{of_client}? That is a setting of the client, not of a request: #{where(of_client)}"
      end

      "; a Hash of parameters is params:, one of headers is headers:, and one of data is json: or form: #{all}"
    end

    private

    # One kind of content replaces all others.
    def replace_content(given, changed)
      type = content.last if changed == [:body]
      (CONTENT - changed).each { |name| given.delete(name) }
      return if type.nil? || Request.fields(given[:headers]).any? { |name, _| name.casecmp?("content-type") }

      given[:headers] = Request.fields(given[:headers]) << ["Content-Type", type]
    end
  end
end
