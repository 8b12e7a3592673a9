# The settings of a client. Generated: HECATON_UPDATE=1 cargo test -p hecaton-e2e --test settings
module Hecaton
  # Names of settings, for Client.
  module Settings
    # Every setting.
    NAMES = %i[
      timeout connect_timeout resolve_timeout resolve allow_address unix_socket local_address proxy no_proxy tls_timeout
      send_timeout first_byte_timeout expect_timeout read_timeout queue_timeout per_origin max_connections max_queue
      retry reconnect redirects redirects_to_http redirect_hosts cookies http ca crl client_cert client_key tls_min pins
      verify verify_hostname idle_timeout max_idle max_age max_body max_buffered max_header_fields max_header_bytes
      lenient decode concurrency user_agent raise_for_status on_deprecation client_key_password app_name app_env headers
      public_headers base_url strict_urls basic_auth bearer digest_auth features logger
    ].freeze

    # Settings of connections, which clients that share them have in common.
    OF_CONNECTIONS = %i[
      connect_timeout resolve_timeout resolve allow_address unix_socket local_address proxy no_proxy tls_timeout
      queue_timeout per_origin max_connections max_queue http ca crl client_cert client_key tls_min pins verify
      verify_hostname idle_timeout max_idle max_age max_buffered max_header_fields max_header_bytes client_key_password
    ].freeze

    # Those that the engine reads once for a client.
    OF_ENGINE = %i[
      timeout connect_timeout resolve_timeout resolve allow_address unix_socket local_address proxy no_proxy tls_timeout
      send_timeout first_byte_timeout expect_timeout read_timeout queue_timeout per_origin max_connections max_queue
      retry reconnect redirects redirects_to_http redirect_hosts cookies http ca crl client_cert client_key tls_min pins
      verify verify_hostname idle_timeout max_idle max_age max_body max_buffered max_header_fields max_header_bytes
      lenient decode concurrency user_agent
    ].freeze

    # Times in seconds.
    TIMES = %i[
      timeout connect_timeout resolve_timeout tls_timeout send_timeout first_byte_timeout expect_timeout read_timeout
      queue_timeout idle_timeout max_age
    ].freeze
  end

  class Client
    # nil is the default, and times are in seconds. docs/settings.md says all about each setting; this is its type and
    # its first sentence.
    #
    # timeout:: The total deadline of a request, from its start to the last byte of the body, connecting included.
    #   (seconds or Hash, must be given)
    # connect_timeout:: The longest time that opening a connection may take. (seconds, default 3)
    # resolve_timeout:: The longest time that turning a name into addresses may take. (seconds, default none)
    # resolve:: Addresses to use instead of DNS: { "host:port" => ["127.0.0.1", …] }. (Hash of String or Array of
    #   String, default none)
    # allow_address:: The addresses that may be connected to. (:public or String or Array of them or Hash, default: all)
    # unix_socket:: Path of a Unix socket that every connection goes to, whatever the URL's host and port. (String,
    #   default none)
    # local_address:: The address of this machine that connections are opened from, "192.0.2.7". (String, default none)
    # proxy:: The URL of the proxy for all requests, or false for none. (String or URI or false, default: the
    #   environment's)
    # no_proxy:: Hosts that are connected to without the proxy, an Array or a String with commas. (String or Array of
    #   String, default none)
    # tls_timeout:: The longest time that a TLS handshake may take. (seconds, default none)
    # send_timeout:: The longest time that writing the request may take, its body included. (seconds, default none)
    # first_byte_timeout:: The longest time from the last byte of the request to the head of the response. (seconds,
    #   default none)
    # expect_timeout:: How long a request with Expect: 100-continue waits for the server's 100 before it sends its body
    #   anyway. (seconds, default 1)
    # read_timeout:: The longest time between two pieces of the body. (seconds, default none)
    # queue_timeout:: How long a request may wait for a connection when a limit below is reached. (seconds, default
    #   none)
    # per_origin:: Most connections to one scheme, host and port. (whole number, default none)
    # max_connections:: Most connections in all, idle ones included. (whole number, default none)
    # max_queue:: Most requests that wait for a connection because of these two limits. (whole number, default none)
    # retry:: Whether requests are sent again. (true or false or whole number or Hash, default none)
    # reconnect:: Whether an idempotent request (GET HEAD OPTIONS TRACE PUT DELETE) is sent once more on a new
    #   connection. (true or false, default true)
    # redirects:: Most redirects of one request that are followed (RFC 9110 §15.4); true is 10. (whole number or true or
    #   false, default 0)
    # redirects_to_http:: Whether redirects may lead from https to http. (true or false, default false)
    # redirect_hosts:: An Array of the hosts that redirects may lead to: names, "*.example.org" (all names under it),
    #   and addresses. (Array of String, default none)
    # cookies:: A Cookies jar, which clients may share, or true for one of its own. (Hecaton::Cookies or true or false,
    #   default none)
    # http:: "1.1" or "2" alone, or as numbers. (String or number, default: what the server chooses)
    # ca:: The authorities that may sign a server's certificate, instead of the system's: the path of a PEM file, or its
    #   text. (String, default none)
    # crl:: Lists of revoked certificates (CRLs): the path of a PEM file, or its text. (String, default none)
    # client_cert:: The certificate, with its chain, for servers that demand one: path or text of PEM. (String, default
    #   none)
    # client_key:: The private key of client_cert: path or text of PEM. (String, default none)
    # tls_min:: The oldest version of TLS, "1.2" (the default) or "1.3". (String, default "1.2")
    # pins:: Array of "sha256/" and the base64 of the SHA-256 of a SubjectPublicKeyInfo. (Array of String, default none)
    # verify:: Whether a server's certificate must be valid, trusted and for the requested host. (true or false, default
    #   true)
    # verify_hostname:: Whether it must be for the requested host, beside being valid and trusted. (true or false,
    #   default true)
    # idle_timeout:: How long an unused connection stays open. (seconds, default 30)
    # max_idle:: Most connections that stay open while idle, to all origins together. (whole number, default none)
    # max_age:: How many seconds old a connection may be when a request is sent on it. (seconds, default none)
    # max_body:: Most bytes of a response's body that is held whole; more is a BodyError. (whole number, default
    #   67108864)
    # max_buffered:: Most bytes of response bodies that are held at once while they are received. (whole number, default
    #   none)
    # max_header_fields:: Most fields in the head of a response; more is a ProtocolError. (whole number, default 2000)
    # max_header_bytes:: Most bytes in the head of a response, status line, names and values together; more is a
    #   ProtocolError. (whole number, default 262144)
    # lenient:: Whether malformed responses over HTTP/1.1 that browsers and curl accept are accepted, as long as the end
    #   of the body stays certain. (true or false, default false)
    # decode:: Whether bodies in gzip, deflate, br and zstd are requested and decoded. (true or false, default true)
    # concurrency:: Requests in flight in a batch. (whole number, default 200)
    # user_agent:: The `User-Agent` of requests that carry none. (String, default "hecaton/0.1.0")
    # raise_for_status:: Whether a status of 400 or more is a StatusError, and no Response. (true or false, default
    #   false)
    # on_deprecation:: Called with each Response (or Stream) whose headers say that the resource is deprecated or will
    #   end: see AnyResponse#sunset and #deprecation. (Proc, default none)
    # client_key_password:: The passphrase of the key, a String. (String, default none)
    # app_name:: The name of the program, for the logs of the other side: sent as X-App-Name. (String or Symbol, default
    #   none)
    # app_env:: The environment of the program, "staging" and the like: sent as X-App-Env. (String or Symbol, default
    #   none)
    # headers:: Fields for every request, as in #request. (Hash, default none)
    # public_headers:: Array of names of headers that may go anywhere, and whose values the log shows. (Array of String
    #   or Symbol, default none)
    # base_url:: What the URLs of requests are relative to. (String or URI, default none)
    # strict_urls:: Whether a URL that is not percent-encoded is refused. (true or false, default false)
    # basic_auth:: User and password of every request, as in #request. (Array of a user and a password, default none)
    # bearer:: The token of every request, or code that returns it, as in #request. (String or Hecaton::Token, default
    #   none)
    # digest_auth:: User and password for digest authentication of every request, as in #request. (Array of a user and a
    #   password, default none)
    # features:: An Array of objects that see each request before it is sent, and each outcome before it is returned.
    #   (Array of objects, default none)
    # logger:: A Logger, or an object with its info and debug. (Logger, default none)
    def initialize(timeout:, connect_timeout: nil, resolve_timeout: nil, resolve: nil, allow_address: nil,
      unix_socket: nil, local_address: nil, proxy: nil, no_proxy: nil, tls_timeout: nil, send_timeout: nil,
      first_byte_timeout: nil, expect_timeout: nil, read_timeout: nil, queue_timeout: nil, per_origin: nil,
      max_connections: nil, max_queue: nil, retry: nil, reconnect: nil, redirects: nil, redirects_to_http: nil,
      redirect_hosts: nil, cookies: nil, http: nil, ca: nil, crl: nil, client_cert: nil, client_key: nil, tls_min: nil,
      pins: nil, verify: nil, verify_hostname: nil, idle_timeout: nil, max_idle: nil, max_age: nil, max_body: nil,
      max_buffered: nil, max_header_fields: nil, max_header_bytes: nil, lenient: nil, decode: nil, concurrency: nil,
      user_agent: nil, raise_for_status: nil, on_deprecation: nil, client_key_password: nil, app_name: nil,
      app_env: nil, headers: nil, public_headers: nil, base_url: nil, strict_urls: nil, basic_auth: nil, bearer: nil,
      digest_auth: nil, features: nil, logger: nil)
      configure(Derivation.given(binding, Settings::NAMES))
    end
  end
end
