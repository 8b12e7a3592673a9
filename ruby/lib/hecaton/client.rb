# A client: settings and a pool of connections, for one request or a batch of them.
module Hecaton
  # Threads may share it. It keeps connections, and all requests to the same scheme, host and port share them. It works
  # on both sides of a fork: a child opens connections of its own.
  class Client
    include Verbs
    include Sending
    include Many
    include Downloads

    # Names of the settings, all in seconds unless said otherwise; nil means the engine's default.
    #
    # timeout:: the total deadline of a request, from its start to the last byte of the body,
    #   connecting included. Required: ArgumentError without it. Fractions count. Or a Hash of this one, as total, and
    #   others below by the names that they have before _timeout: { total: 5, connect: 1, first_byte: 2 }.
    # connect_timeout:: to open a connection. Default 3, which survives one lost SYN. If the name has several addresses,
    #   each is tried when the one before failed or had 0.25 s alone (RFC 8305), all within this time.
    # resolve_timeout:: to turn a name into addresses. Default none, as for the other timeouts below: the total
    #   alone. Each ends in a TimeoutError whose phase says which.
    # resolve:: addresses that are known without asking: { "host:port" => ["127.0.0.1", …] }. Default none.
    # allow_address:: the addresses that may be connected to. The check is made right before connecting, on the address
    #   itself. So it covers names, URLs with addresses, and redirects alike. :public forbids addresses that are
    #   private, loopback, link-local, reserved or multicast. It also forbids a cloud's own (169.254.169.254), and IPv6
    #   addresses that stand for a forbidden IPv4 address. An Array has networks ("10.0.0.0/8"), addresses and :public.
    #   A Hash { allow: …, deny: … } has such Arrays, and deny takes precedence. A Proc is not accepted, because
    #   requests run outside of Ruby's lock. A forbidden address is skipped; if all are forbidden, the request is a
    #   ConnectError. Addresses of proxies are not checked, and a name that a proxy resolves is the proxy's to check.
    #   Default nil: all.
    # unix_socket:: path of a Unix socket that every connection goes to, whatever the URL's host and port. Default none.
    # local_address:: the address of this machine that connections are opened from, "192.0.2.7". Only addresses of its
    #   kind, IPv4 or IPv6, are connected to then. Not with unix_socket. Default none: the system chooses.
    # proxy:: the URL of the proxy for all requests, with USER:PASSWORD@ if the proxy demands them; false for none.
    #   Default: as curl, what the environment names in http_proxy, https_proxy and all_proxy, in lower case or upper
    #   (HTTP_PROXY not in CGI programs), read here. The client speaks to the proxy without TLS ("http://HOST:PORT") or
    #   with it ("https://…"). The certificate of a proxy is verified as a server's, but pins do not apply, and
    #   client_cert is not sent. Through "socks5://…" and "socks4://…" names are resolved here; through "socks5h://…"
    #   and "socks4a://…" the proxy resolves them. A request to an http URL is handed to the proxy, and an https URL
    #   gets a tunnel. If the proxy refuses a tunnel, the request is a ConnectError; if it refuses an http request, that
    #   is the Response. A Proxy-Authorization among headers goes only to a proxy that the request is handed to. A
    #   tunnel has the credentials of this URL.
    # no_proxy:: hosts that are connected to without the proxy, an Array or a String with commas. An entry is a name,
    #   which includes all names under it, an address, or a network ("10.0.0.0/8"). Names and addresses may have a
    #   ":port". "*" is all hosts. Default: the environment's no_proxy if the proxy is the environment's, else none.
    # tls_timeout:: for the TLS handshake.
    # send_timeout:: to write the request, its body included.
    # first_byte_timeout:: from the last byte of the request to the head of the response.
    # expect_timeout:: how long a request with Expect: 100-continue waits for the server to ask for its body before it
    #   sends it anyway. Default 1; 0 sends it at once. After a final response, such as 417, no body is sent.
    # read_timeout:: between two pieces of the body.
    # queue_timeout:: how long a request may wait for a connection when a limit below is reached. Over HTTP/2 it is also
    #   the wait for a stream, when the server's limit on streams is reached. Default none.
    # per_origin:: most connections to one scheme, host and port. Further requests wait their turn, first come, first
    #   served, and their timeout runs meanwhile. Default none.
    # max_connections:: most connections in all, idle ones included. Default none.
    # max_queue:: most requests that wait for a connection because of these two limits. A further request is a
    #   ConnectError at once, whose phase is :queue. Default none; 0 lets none wait.
    # retry:: whether requests are sent again. nil (the default) is never, and true is with the engine's defaults. An
    #   Integer is the most tries after the first. A Hash has some of the settings below. Each try is listed in
    #   attempts, and all of them share the timeout.
    #   max: most tries after the first, default 2.
    #   methods: which methods, default the idempotent ones, GET HEAD OPTIONS TRACE PUT DELETE. A request of which
    #   nothing was sent is retried whatever its method.
    #   on: which errors, default :resolve, :connect, :timeout, :protocol and :body. There is :tls too.
    #   statuses: which statuses, Integers and Ranges of them, default none.
    #   interval: seconds before the first retry, default 0.1. A longer Retry-After takes precedence.
    #   backoff: the factor by which each further wait grows, default 2.
    #   jitter: the share of a wait that is left to chance, default 0.5.
    #   if: a Proc instead of methods, on and statuses. It is called with each outcome, a Response or an Error, as long
    #   as a try and time are left. If it returns true, the request is sent again, whatever its method. Of a response
    #   that is read in pieces, it gets the head alone. It runs in the thread that waits. An exception in it leaves the
    #   request, or the batch.
    # reconnect:: whether an idempotent request (GET HEAD OPTIONS TRACE PUT DELETE) is sent once more, on a new
    #   connection, when its connection was closed or reset before a byte of the response (RFC 9110 §9.2.2). The server
    #   may have ended an idle connection just then, or be reloading. The attempt is listed as :resent and is no retry, so
    #   it does not depend on retry. Default true. POST and PATCH are never sent again once a byte was sent.
    # redirects:: most redirects of one request that are followed (301, 302, 303, 307, 308; RFC 9110 §15.4); true is 10.
    #   Default 0: a redirect is a Response. With more than 0, a redirect that cannot be followed is a RedirectError:
    #   one too many, a circle, a way from https to http, or a Location that is no HTTP URL. 301, 302 and 303 make a GET
    #   of a POST. On the way to another scheme, host or port, the request loses its Host, the user and password of a
    #   URL, and all headers but public ones. That holds for the client's headers and for the request's own. Name in
    #   public_headers what may go along.
    # redirects_to_http:: whether redirects may lead from https to http. Default false.
    # redirect_hosts:: an Array of the hosts that redirects may lead to: names, "*.example.org" (all names under it),
    #   and addresses. The host that redirects is always allowed. A redirect to any other host is a RedirectError.
    #   Default nil: any.
    # raise_for_status:: whether a status of 400 or more is a StatusError, and no Response. Default false.
    # on_deprecation:: called with each Response (or Stream) whose headers say that the resource is deprecated or will
    #   end: see AnyResponse#sunset and #deprecation. It is called before the Response is returned, or handed to
    #   callbacks. An exception in it leaves the request, or the batch, as one in a callback would. Default none.
    # cookies:: a Cookies jar, which clients may share, or true for one of its own: keeps the cookies that responses
    #   set, and sends them back. Default none: cookies are headers like others.
    # http:: "1.1" or "2" alone, or as numbers. Default nil: over TLS the server chooses (ALPN), and without TLS it is
    #   "1.1". With "2" and no TLS the server must be known to support it (RFC 9113 §3.3). Over HTTP/2 the requests to
    #   an origin share one connection, up to the number of streams that the server allows, and then another one. So
    #   limits count connections. Pings of the server are answered while no thread waits, too.
    # ca:: the authorities that may sign a server's certificate, instead of the system's: the path of a PEM file, or
    #   its text. Default: the system's, or those of SSL_CERT_FILE and SSL_CERT_DIR. Files are read here, once.
    #   A certificate names its hosts as subject alternative names; a common name alone does not count.
    # crl:: lists of revoked certificates (CRLs): the path of a PEM file, or its text. Each certificate of a chain must be
    #   in the scope of one, and not on it; one that is out of date, or missing, is a TLSError. Files are read here,
    #   once. Default none: nothing is known of revocations.
    # client_cert::, client_key:: what the client shows to a server that demands a certificate: path or text of PEM;
    #   the key may stand in client_cert too. Default none.
    # client_key_password:: the passphrase of the key, a String. The key is decrypted here, once, by Ruby's openssl.
    #   Default none: the key has none.
    # tls_min:: the oldest version of TLS, "1.2" (the default) or "1.3".
    # pins:: Array of "sha256/" and the base64 of the SHA-256 of a SubjectPublicKeyInfo. The key of a server's own
    #   certificate must be among them. All else is verified as without pins. Default none.
    # verify:: whether a server's certificate must be valid, trusted and for the host asked. Default true. Dangerous
    #   when false: anyone on the way can read and change everything; old, odd and weak certificates are taken too.
    #   The server must still have the key of its certificate, and pins hold still.
    # verify_hostname:: whether it must be for the host asked, beside being valid and trusted. Default true. Dangerous
    #   when false, unless ca or pins say whom to trust: whoever has any certificate of a trusted authority can pass for
    #   the server.
    # idle_timeout:: how long an unused connection is kept. Default 30; 0 closes it after each response.
    # max_idle:: most connections that are kept idle, to all origins together. Default none; 0 closes each after its
    #   response.
    # max_age:: how many seconds old a connection may be when a request is sent on it. Default none.
    # max_body:: most bytes of a response's body that is held whole; more is a BodyError. Default 64 MiB,
    #   counted after decoding.
    # max_buffered:: most bytes of response bodies that are held at once while they are received. All requests of the
    #   client count together, with the memory that decoders need. A request that would exceed it is a BodyError, which
    #   may be retried. Default none.
    # max_header_fields::, max_header_bytes:: most fields, and most bytes, in the head of a response; more is a
    #   ProtocolError. Default 2000 and 256 KiB.
    # lenient:: whether malformed responses over HTTP/1.1 are accepted where they leave no doubt about the end of a
    #   body; see docs/settings.md. Default false: such a response is a ProtocolError or a BodyError.
    # decode:: whether bodies in gzip, deflate, br and zstd are asked for and decoded. Default true. A request with an
    #   Accept-Encoding or a Range of its own gets its body as it comes. Content-Encoding stays among the headers.
    # concurrency:: requests in flight in a batch. Default 200. Over HTTP/1.1 that is as many connections to a server,
    #   if all requests go to the same one. A server of a few threads may leave most of them waiting until they time
    #   out; per_origin limits that.
    # user_agent:: String. Default app_name, or else "hecaton/VERSION".
    # app_name::, app_env:: who asks, for the logs of the other side: sent as X-App-Name and X-App-Env. Default none.
    # headers:: fields for every request, as in #request. One that a request names itself takes their place, and
    #   nil there leaves them out. With a base_url they go to its scheme, host and port alone, but for public ones;
    #   without one to every URL asked for. Redirects to elsewhere take along public ones alone.
    # public_headers:: Array of names of headers that may go anywhere, and whose values the log shows. Default none.
    #   These always may: Accept, Accept-Charset, Accept-Encoding, Accept-Language, Cache-Control, Connection,
    #   Content-Digest, Content-Disposition, Content-Encoding, Content-Language, Content-MD5, Content-Range,
    #   Content-Type, Digest, Expect, If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Pragma,
    #   Prefer, Priority, Range, Repr-Digest, TE and User-Agent. Authorization, Cookie and Proxy-Authorization never
    #   may.
    # base_url:: what the URLs of requests are relative to: "users" beside "http://host/v1" is "http://host/v1/users",
    #   with a slash at the end of the base or without. "/users" begins at the host, "http://host/users", and "" is the
    #   base with a slash; all else is as RFC 3986 §5 says. A request may still name an absolute URL. A user and a
    #   password in it are as basic_auth. Default none.
    # strict_urls:: whether a URL that is not percent-encoded is refused. Default false: spaces, letters beyond ASCII
    #   and the like are encoded as browsers do (WHATWG), and what is valid goes on the wire as it stands. Control
    #   characters are always refused, and beside a base_url backslashes.
    # basic_auth::, bearer::, digest_auth:: credentials for every request, as in #request. They go where headers do.
    # features:: an Array of objects that see each request before it is sent, and each outcome before it is returned:
    #   see Features and docs/features.md. Default none.
    # logger:: a Logger, or what has its info and debug: gets a line for each request that has ended, and at level debug
    #   the heads, without secrets: see RequestLog. Default none.
    def initialize(timeout:, connect_timeout: nil, resolve_timeout: nil, tls_timeout: nil, send_timeout: nil,
      first_byte_timeout: nil, read_timeout: nil, queue_timeout: nil, per_origin: nil, max_connections: nil,
      max_queue: nil, max_idle: nil, max_age: nil, idle_timeout: nil, resolve: nil, allow_address: nil,
      unix_socket: nil, local_address: nil, proxy: nil, no_proxy: nil,
      retry: nil, max_body: nil, max_buffered: nil, max_header_fields: nil, max_header_bytes: nil, lenient: nil,
      expect_timeout: nil, decode: nil, concurrency: nil, user_agent: nil,
      ca: nil, crl: nil, client_cert: nil, client_key: nil, client_key_password: nil, tls_min: nil, http: nil, pins: nil,
      verify: nil, verify_hostname: nil,
      app_name: nil, app_env: nil, headers: nil, public_headers: nil, base_url: nil,
      strict_urls: nil, basic_auth: nil, bearer: nil, digest_auth: nil,
      reconnect: nil, redirects: nil, redirects_to_http: nil, redirect_hosts: nil, cookies: nil,
      raise_for_status: nil, on_deprecation: nil, logger: nil, features: nil)
      raise ArgumentError, "timeout is nil: give the longest time in seconds a request may take" if timeout.nil?

      if timeout.is_a?(Hash)
        initialize(**Times.flat(Derivation.given(binding, SETTINGS)))
        return
      end

      @settings = Derivation.given(binding, SETTINGS)
      times = {
        timeout: timeout, connect_timeout: connect_timeout, resolve_timeout: resolve_timeout,
        tls_timeout: tls_timeout, send_timeout: send_timeout, first_byte_timeout: first_byte_timeout,
        read_timeout: read_timeout, queue_timeout: queue_timeout, idle_timeout: idle_timeout, max_age: max_age,
        expect_timeout: expect_timeout
      }
      @timeout = Client.seconds(timeout)
      @cookies = Client.jar(cookies)
      again = @settings[:retry] # A keyword of Ruby's.
      public_headers = Client.names(:public_headers, public_headers)
      log = RequestLog.for(logger, public_headers || [])
      @request_builder = RequestBuilder.new(headers: headers, basic_auth: basic_auth, bearer: bearer, digest_auth: digest_auth,
        app_name: app_name, app_env: app_env, predicate: RetryPredicate.block(again),
        base: Client.base(base_url), log: log, timeout: @timeout, public_headers: public_headers)
      @features = Features.of(features)
      @bare = @request_builder.plain?
      @plain = @bare && @features.nil?
      @bare &&= !@features&.attempts?
      settings =
        times.to_h { |name, time| [name, Client.seconds(time, name)] }
          .merge(retry: Client.retry_options(again),
            reconnect: reconnect,
            redirects: RequestBuilder.redirects(redirects), redirects_to_http: redirects_to_http,
            redirect_hosts: redirect_hosts, allow_address: Client.address_rule(allow_address),
            cookies: @cookies&.native,
            per_origin: per_origin, max_connections: max_connections, max_queue: max_queue, max_idle: max_idle,
            max_body: max_body, max_buffered: max_buffered,
            max_header_fields: max_header_fields, max_header_bytes: max_header_bytes, lenient: lenient,
            resolve: Client.addresses(resolve),
            unix_socket: unix_socket, local_address: local_address&.to_s, proxy: Client.proxy(proxy),
            no_proxy: no_proxy.is_a?(String) ? [no_proxy] : no_proxy,
            decode: decode, concurrency: concurrency, user_agent: user_agent || (app_name && app_name.to_s),
            ca: ca, crl: crl, client_cert: client_cert, client_key: ClientKey.of(client_key, client_cert, client_key_password),
            tls_min: tls_min, http: Client.http(http), pins: pins, verify: verify, verify_hostname: verify_hostname,
            headers: @request_builder.headers, digest_auth: @request_builder.login, public_headers: public_headers,
            base_url: Client.base(base_url), strict_urls: strict_urls)
      @native = native_client(settings)
      @intercepted = Interception.settings(settings)
      @response_builder = ResponseBuilder.new(on_deprecation: on_deprecation, raise_for_status: raise_for_status,
        max_body: max_body, log: log)
    end

    SETTINGS = instance_method(:initialize).parameters.map(&:last).freeze
    private_constant :SETTINGS

    # Makes a client with these settings, yields it, closes it when the block is left, and returns what the block does.
    # Without a block it returns the client.
    def self.open(timeout:, **settings)
      client = new(timeout: timeout, **settings)
      return client unless block_given?

      begin
        yield client
      ensure
        client.close
      end
    end

    # A client with these settings instead of this one's, on the same connections. It shares the pool, its limits, the
    # counters (stats) and the nonces of digest authentication, so it costs next to nothing. This one stays as it is.
    #
    # settings:: the keywords of new. The value nil is the engine's default. headers are added to this client's: a name
    #   replaces the same one here, a nil value drops it, and headers: nil drops all. One of basic_auth, bearer and
    #   digest_auth replaces the one here. cookies are this client's jar unless others are given. All else is replaced
    #   whole: so headers and credentials go to a base_url that is given, even if it is another server's.
    #
    # ArgumentError for settings of connections, which are shared: connect_timeout, resolve_timeout, resolve,
    # allow_address, unix_socket, local_address, proxy, no_proxy, tls_timeout, queue_timeout, http, per_origin,
    # max_connections, max_queue, ca, crl, client_cert, client_key, client_key_password, tls_min, pins, verify,
    # verify_hostname, idle_timeout, max_idle, max_age, max_buffered, max_header_fields and max_header_bytes.
    #
    # To close either of them closes the connections of both; both can still be used.
    def with(**settings)
      kept = @cookies ? @settings.merge(cookies: @cookies) : @settings
      self.class.allocate.derive(@native, Derivation.merged(kept, Times.flat(settings)))
    end

    # For with: makes this a client on the connections of another. Returns itself.
    def derive(parent, settings)
      @parent = parent
      initialize(**settings)
      self
    end

    # Sends one request and returns its Response, whatever the status. Other Ruby threads run while
    # it waits, and other fibers of the thread if there is a Fiber.scheduler.
    #
    # request:: a Request, which has all of the following; or the method: "GET" and the like, as on the wire, or a
    #   Symbol in any case.
    # url:: an http or https URL, a String or a URI, absolute unless the client has a base_url; a fragment is dropped. A
    #   user and a password in it, percent-encoded, are as basic_auth; they are never shown.
    # headers:: Hash, Array of pairs, or Headers; a value may be an Array, for a repeated field. In a name that is a
    #   Symbol underscores are dashes, and it goes out in Title-Case. With Upgrade, a 101 is a Response without a body,
    #   whose connection is closed. With Expect: 100-continue, see expect_timeout.
    # body:: String; an IO, read from its position to its end, in pieces while it is sent; a Pathname; or an object that
    #   yields Strings by `each`. It has a Content-Length where the size is known (files but those of /proc and /sys,
    #   StringIO), or where headers have one. Else it is sent in chunks (RFC 9112 §7.1). Sent again (retry, redirects
    #   307 and 308) only what can be read again: no pipe, no Enumerator. An exception from reading ends the request and
    #   is raised here. A size that turns out wrong is a BodyError. A Hash, or another value, is encoded as the
    #   Content-Type among headers says, if that is registered: see MIME.
    # json:: what JSON.generate takes, or an object with a to_json of its own; anything else raises. It is sent with its
    #   Content-Type unless headers have another. nil sends nothing, and false sends the JSON value false (RFC 8259 §3).
    #   Give JSON's null as body.
    # form:: Hash or Array of pairs, as by URI.encode_www_form; what is nested is named as Rack reads it,
    #   <code>a[b]</code> and <code>a[]</code>.
    # multipart:: Hash or Array of pairs (RFC 7578); an Array as value repeats the name. A value is text; an IO or a
    #   Pathname, sent as a file under its own name; or {content:, filename:, type:} of these.
    # timeout:: seconds for this request instead of the client's.
    # params:: Hash or Array of pairs, percent-encoded (RFC 3986, in UTF-8) behind the query that the URL has. An Array
    #   repeats the name, nil leaves it out; what is nested is named as in form.
    # basic_auth:: [user, password] for Authorization (RFC 7617). This and bearer take the place of the URL's and the
    #   client's; false sends none; an Authorization among headers takes precedence.
    # bearer:: the token for Authorization (RFC 6750). Or a Proc (or an object with `call`) that returns it. The Proc is
    #   called for each request, right before that is sent, or queued in a batch. After a 401 it is called again. If
    #   that gives another token, the request is sent once more (with a block, in any case), within the same timeout;
    #   attempts lists both. If it takes an argument, that is nil the first time and then the Response that was a 401.
    #   The 401 of another server, to which a redirect led, stands, for that got no token. A body is sent again only if
    #   it is a String, json or form, and nothing is after on_headers or on_body of a batch. An exception in it is
    #   raised here, or leaves the batch.
    # digest_auth:: [user, password] for digest authentication (RFC 7616; MD5, SHA-256 and SHA-512/256, also -sess; qop
    #   auth, and auth-int for bodies that are Strings). When the server demands it by a 401, the request is sent once
    #   more with the credentials, or again if the server calls only the nonce old. Later requests carry it at once.
    #   Both attempts are listed, within timeout. A body that can be read only once is a BodyError then. The rest as
    #   basic_auth; it does not go to another server by a redirect.
    # redirects:: how many are followed, instead of the client's; true and false as there.
    # retry:: whether this request is sent again, instead of the client's: as there, false for never. What reconnect says
    #   still holds.
    # raise_for_status:: true or false, instead of the client's.
    #
    # With a block, yields the response as a Stream as soon as its head has arrived, and returns the block's value. The
    # block reads the body piece by piece.
    #
    # Raises Error (TimeoutError, ConnectError, …) when there is no response, and StatusError when raise_for_status is
    # set. ArgumentError is raised before anything is sent, when the request cannot be sent as given.
    def request(request, url = nil, options = nil, &block)
      return send_request(RequestBuilder.verb(request), url, options, &block) unless request.is_a?(Request)

      transmit(Request.alone(request, url, options), &block)
    end

    # For adapters: as request, with headers as the engine takes them: [name, value, name, value].
    def request_flat(method, url, flat, body, timeout = nil)
      unless @plain && (body.nil? || body.instance_of?(String))
        return transmit(Request.of(method, url, { headers: flat.each_slice(2).to_a, body: body, timeout: timeout }))
      end

      ended(method, nil, *engine.perform(method, url, flat, body, timeout && Client.seconds(timeout), nil))
    end

    # Cookies: the jar of the settings; nil without one.
    attr_reader :cookies

    # Connections that wait to be used again.
    def idle_connections = @native.idle_connections

    # Counters of this client in this process, as a Hash of Integers. Totals: requests (started), retries, and
    # connections opened and reused. At this moment: connections that are idle and in_use, and requests waiting for a
    # connection.
    def stats = @native.stats

    # Closes all connections and gives back the descriptors of what waited for them. Requests that other threads wait
    # for, and those of a batch that runs, reach their outcomes, and their connections are closed then. A client that
    # is used again begins anew. Returns nil.
    def close = @native.close

    # Without settings, which may hold secrets.
    def inspect = "#<Hecaton::Client #{idle_connections} idle connections>"

    RETRY_OPTIONS = %i[max methods on statuses interval backoff jitter if].freeze
    private_constant :RETRY_OPTIONS

    class << self
      # The jar that is meant, nil for none.
      def jar(value)
        return if value.nil? || value == false
        return Cookies.new if value == true
        return value if value.is_a?(Cookies)

        raise ArgumentError, "cookies: #{value.class} is not a Hecaton::Cookies, true, false or nil"
      end

      # Retry settings as the engine takes them, nil for none.
      def retry_options(value)
        return if value.nil? || value == false
        return {} if value == true
        return { max: value } if value.is_a?(Integer)

        raise ArgumentError, "retry: #{value.inspect} is not a Hash of settings, an Integer, true, false or nil" unless value.is_a?(Hash)

        unknown = value.keys - RETRY_OPTIONS
        raise ArgumentError, "retry: #{unknown.join(", ")} is unknown: there are #{RETRY_OPTIONS.join(", ")}" unless unknown.empty?

        value.except(:if).merge(
          methods: words(value, :methods)&.map(&:upcase), on: words(value, :on),
          interval: seconds(value[:interval], "retry: interval"),
          backoff: seconds(value[:backoff], "retry: backoff", "number"),
          jitter: seconds(value[:jitter], "retry: jitter", "number"), statuses: statuses(value[:statuses])
        )
      end

      # An HTTP version as the engine takes it.
      def http(value) = value.is_a?(Numeric) ? value.to_s.delete_suffix(".0") : value

      # Names of headers as the engine takes them, nil for none.
      def names(name, value)
        return value&.map { |each| Headers.field(each) } if value.nil? || value.is_a?(Array)

        raise ArgumentError, "#{name} is of class #{value.class}: give an Array of names"
      end

      # Known addresses as the engine takes them, nil for none.
      def addresses(value)
        return if value.nil?
        return value.transform_values { |addresses| Array(addresses) } if value.is_a?(Hash)

        raise ArgumentError, "resolve is of class #{value.class}: give a Hash of \"host:port\" and addresses"
      end

      # The rule for addresses as the engine takes it: what is allowed, what is denied; nil for none.
      def address_rule(value)
        return if value.nil?

        if value.respond_to?(:call)
          raise ArgumentError, "allow_address: a #{value.class} cannot be asked, for requests run outside of Ruby's lock: " \
                               "give :public, networks, or { allow: …, deny: … }"
        end
        rule = value.is_a?(Hash) ? value : { allow: value }
        unknown = rule.keys - %i[allow deny]
        raise ArgumentError, "allow_address: #{unknown.first.inspect} is unknown: there are allow and deny" unless unknown.empty?

        rule.compact.to_h { |name, list| [name.to_s, networks(list)] }
      end

      # A base URL as the engine takes it, nil for none: with a slash behind its path, so that what is relative goes
      # below it.
      def base(value)
        url = value&.to_s
        url&.valid_encoding? ? url.sub(%r{\A[^?#]*[^/?#](?=[?#]|\z)}, "\\0/") : url
      end

      # A proxy as the engine takes it: its URL, empty for none, nil for the environment's.
      def proxy(value)
        return value if value.nil?
        return "" if value == false
        return value.to_s unless value == true || value.to_s.b.strip.empty?

        raise ArgumentError, "proxy: give a URL, false for none, or nil for the environment's"
      end

      # A time in seconds, or another number of at least 0, as a Float; nil for nil.
      def seconds(value, name = :timeout, what = "time in seconds")
        return if value.nil?
        return value.to_f if value.is_a?(Numeric) && value.real? && value.to_f.finite? && value >= 0

        hint = value.is_a?(Hash) ? "one number (a Hash of several limits is for a client: Client.new and with)" : "a number of at least 0"
        raise ArgumentError, "#{name}: #{value.inspect} is not a #{what}: give #{hint}"
      end

      private

      # Statuses, with Ranges of them spelt out.
      def statuses(list)
        list = [list] if list.is_a?(Range)
        return list unless list.is_a?(Array)

        list.flat_map do |status|
          next [status] unless status.is_a?(Range)
          next status.to_a if [status.begin, status.end].all? { |edge| edge.is_a?(Integer) && edge.between?(0, 999) }

          raise ArgumentError, "retry: statuses has the Range #{status.inspect}: give one of Integers, such as 500..599"
        end
      end

      # Networks as the engine takes them.
      def networks(list)
        list = (list.is_a?(Array) ? list : [list]).map { |entry| entry == :public ? "public" : entry }
        return list if list.all?(String)

        raise ArgumentError, "allow_address: give :public, networks as Strings such as \"10.0.0.0/8\", or a Hash of allow and deny"
      end

      # A list of names among the settings of retry.
      def words(settings, name)
        list = settings[name]
        return list&.map(&:to_s) if list.nil? || list.is_a?(Array)

        raise ArgumentError, "retry: #{name} is #{list.inspect}: give an Array"
      end
    end

    private

    # The engine that sends requests: the native one, or its replacement in tests.
    def engine = Interception.active? ? Interception.engine(@native, @intercepted) : @native

    def native_client(options)
      @parent ? @parent.with(options) : Native::Client.new(options)
    rescue Ractor::UnsafeError
      raise Ractor::UnsafeError, SharedClient::MAIN_ALONE
    end
  end
end
