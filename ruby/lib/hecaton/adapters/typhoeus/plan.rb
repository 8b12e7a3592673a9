# The options of a request → the client that sends it, and its arguments.

module Hecaton::Typhoeus
  # Made for each request that is more than a plain GET.
  class Plan
    include ProxyOptions
    include TlsOptions
    include ClientOptions
    include RequestOptions

    # Options whose meaning is the same for each request: for equal ones the last plan is taken again.
    LASTING = %i[method headers timeout timeout_ms connecttimeout connecttimeout_ms followlocation maxredirs
                 forbid_reuse nosignal ssl_verifypeer ssl_verifyhost accept_encoding
                 cache_ttl].to_h { |name| [name, true] }.freeze
    # A client's settings → their names in Typhoeus.
    OPTIONS_OF = { "ca" => :cainfo, "crl" => :crlfile, "local_address" => :interface,
                   "client_cert" => :sslcert, "client_key" => :sslkey, "pins" => :pinnedpublickey }.freeze
    REDIRECTS = [301, 302, 303, 307, 308].freeze
    # How many plans are kept for further requests.
    MOST = 4
    private_constant :LASTING, :OPTIONS_OF, :REDIRECTS, :MOST

    @kept = [].freeze # Replaced, never changed.

    # The plan for a request. Most programs repeat the same few options.
    def self.of(base_url, options)
      plan = known(options)
      return plan if plan

      lasting = lasting(options)
      plan = new(base_url.to_s, lasting || options, lasting)
      @kept = [plan, *@kept.first(MOST - 1)].freeze if plan.lasting
      plan
    end

    # A plan that was made of such options, nil for none. Without a block, which costs as much as comparing does.
    def self.known(options)
      kept = @kept
      at = -1
      while (plan = kept[at += 1])
        return plan if plan.lasting.eql?(options) # Not ==, for 1 and 1.0 are two headers.
      end
    end

    # The next requests get new plans.
    def self.forget = @kept = [].freeze # :nodoc:

    # A copy, as deep as they are, if their meaning is the same for each request; else nil.
    private_class_method def self.lasting(options)
      Marshal.load(Marshal.dump(options)).freeze if options.all? { |name, _| LASTING[name] }
    rescue TypeError
      nil
    end

    # Hash: the options that it was made of, frozen, if it may be taken again; else nil.
    attr_reader :lasting

    # Whether each outcome is the response as it is: none is unwanted, forbidden or verbose, and there are no cookies.
    attr_reader :plain

    # The Hecaton::Client, and the arguments of its `request`.
    attr_reader :client, :verb, :headers, :body, :timeout, :redirects, :basic_auth, :digest_auth, :multipart
    # Cookies that are read from files and written to one, nil for none.
    attr_reader :cookies

    def initialize(url, options, lasting)
      @url = url
      options.each { |name, value| take(name.to_sym, value) }
      set_up_request
      authenticate if @userpwd || @username
      set_up
      Clients.warn_of_timeout unless @timeout
      @client = choose_client
      @lasting = lasting if @body.nil?
      @plain = !@lasting.nil? && @redirects != 0
    end

    # The URL for a request of this plan.
    def url_of(request) = @lasting ? absolute(request.base_url.to_s) : @url

    # The return code of a response whose status the options make a failure: failonerror, maxredirs: 0, and
    # resume_from where the server starts from the beginning. Or nil.
    def unwanted(response)
      return unless @fail_on_error || @resumes || @redirects == 0
      return :too_many_redirects if @redirects == 0 &&
                                    REDIRECTS.include?(response.status) && response.headers["location"]

      return :http_returned_error if @fail_on_error && response.status >= 400

      :range_error if @resumes && response.status == 200 && @verb != "HEAD"
    end

    # Whether heads are printed.
    def verbose? = @verbose

    # The outcome of a URL whose scheme `protocols` forbids, else nil.
    def forbidden
      return unless @protocols

      scheme = @url[/\A\w+/].to_s.downcase
      return if @protocols.include?(scheme.to_sym)

      why = "URL #{@url.inspect} has the scheme \"#{scheme}\": the option protocols does not have it"
      Hecaton::URLError.new(why, phase: :queue, reason: :scheme_unsupported, url: @url)
    end

    # Calls `request` of its client with all of it. Raises Hecaton::URLError for an invalid URL.
    def request(url)
      @client.request(@verb, url, options)
    rescue ArgumentError => error
      refuse(error, url)
    end

    # Queues it in a batch, by the way of its client, and returns the Pending, which is mostly a Sent.
    def queue(way, url)
      pending = way.repeat(@verb, url, @translated ||= way.translate(options), Sent) if @lasting
      pending || way.send_request(@verb, url, options)
    rescue ArgumentError => error
      refuse(error, url)
    end

    # Writes the cookies.
    def finish = (CookieFiles.write(@cookie_jar, @cookies) if @cookie_jar)

    private

    def refuse(error, url)
      if error.is_a?(Hecaton::InvalidURL)
        raise Hecaton::URLError.new(error.message, phase: :queue, reason: error.reason, url: url)
      end

      Refusals.value(takes_body? ? :headers : :body, "[hidden]", "Hecaton cannot send it: #{error.message}.")
    end

    # Whether the body can be sent.
    def takes_body?
      Hecaton::Content.given(body: @body, headers: @headers)
      true
    rescue ArgumentError
      false
    end

    def options
      @options ||= { headers: @headers, body: @body, timeout: @timeout, redirects: @redirects, basic_auth: @basic_auth,
                     digest_auth: @digest_auth, multipart: @multipart }.compact.freeze
    end

    def take(name, value)
      if TAKERS.key?(name)
        taker = TAKERS[name]
        return if taker.nil? || value.nil?

        taker.is_a?(Array) ? note(*taker, value) : send(taker, name, value)
      elsif (new_name = EasyFactory::RENAMED_OPTIONS[name])
        warn("Deprecated option #{name}. Please use #{new_name} instead.")
        take(new_name, value)
      elsif !(value.nil? && Refusals::REASONS.key?(name))
        Refusals.option(name)
      end
    end

    def note(variable, made_by, value)
      instance_variable_set(variable, made_by == :on? ? on?(value) : value.public_send(made_by))
    end

    # The rest, which depends on more than one option.
    def set_up
      set_up_connecting if @connect_within
      set_up_decoding if @accept_encoding
      set_up_low_speed if @low_speed_time
      set_up_proxy if @proxy || @proxy_userpwd || @proxy_user
      set_up_tls
      set_up_cookies if @cookie_files || @cookie_jar || @cookie_list
    end

    def setting(name, value) = (@settings ||= {})[name] = value

    # Cookies are those of one request: it gets a client of its own, on the connections of the shared one.
    def choose_client
      client = @settings ? Clients.for(@settings, @ca_file || @crl_file || @cert || @key ? stamps : nil) :
        Clients.default
      @cookies ? client.with(cookies: @cookies) : client
    rescue ArgumentError => error
      Refusals.value(OPTIONS_OF.fetch(error.message[/\A\w+/], "one of a connection"),
        "[hidden]", "Hecaton says: #{error.message}.")
    end

    # So that files that were replaced are read again.
    def stamps
      [@ca_file, @crl_file, @cert, @key].compact.map { |path|
        File.file?(path) ? File.stat(path).then { |stat| [stat.mtime, stat.size] } : nil
      }
    end

    def set_cookiefile(_name, value) = (@cookie_files ||= []) << value.to_s
    def set_cookielist(_name, value) = (@cookie_list ||= []).concat(Array(value))

    def set_up_cookies
      @cookies = Hecaton::Cookies.joining
      @cookie_files&.each { |path| CookieFiles.read(path, @cookies, lasting: @cookie_session) }
      @cookie_list&.each { |line| CookieFiles.take(line.to_s, @cookies, @url) }
    end

    def set_off(name, value)
      only(name, value, !on?(value) || value.to_s == "ignored", "Hecaton cannot do it: leave the option out.")
    end

    def set_on(name, value) = only(name, value, on?(value), "Hecaton always does it: leave the option out.")

    def set_refused(name, value) = only(name, value, false, "Hecaton cannot do it: leave the option out.")

    # Values of options as libcurl takes them → plain ones.

    # One of these names (Symbols; nil where a number has none), given as a Symbol, a String or its index in the list.
    def enum(name, value, names)
      found = value.is_a?(Integer) ? names[value] : value.to_s.to_sym
      return found if found && names.include?(found)

      Refusals.value(name, value, "There are #{names.compact.map(&:inspect).join(", ")}.")
    end

    # A number of at least 0.
    def number(name, value)
      return value if value.is_a?(Numeric) && value.real? && value >= 0

      Refusals.value(name, value, "Give a number of at least 0.")
    end

    # Whether libcurl takes the value for true.
    def on?(value) = value && value != 0

    # Milliseconds → seconds; nil for 0, which is libcurl's word for its default.
    def milliseconds(name, value)
      warn("Value '#{value}' for option '#{name}' must be integer.") unless value.is_a?(Integer)
      value = number(name, value)
      value.zero? ? nil : value.ceil / 1000.0
    end

    # Seconds, nil for 0.
    def seconds(name, value)
      value = number(name, value)
      value.zero? ? nil : value
    end

    # Only what Hecaton does anyhow.
    def only(name, value, good, why) = good ? nil : Refusals.value(name, value, why)
  end
end
