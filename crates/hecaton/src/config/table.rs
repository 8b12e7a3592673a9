//! The table of all settings of a client: everything else that names them is made from it.
//!
//! A row has the text for people, the name, the type in the engine and the default. Then it says whether the setting is
//! of connections or of each request, and the type in Ruby (as in RBS). Where 0 has a special meaning, the row says
//! which. The settings below `gem` are Ruby's. The engine gets them with each request, or not at all; the type behind
//! `engine` is what it gets.
//!
//! The table yields [`Config`] with its defaults, the settings that a derived client may change, and what the bridge
//! reads (`for_each_setting`). `tests/settings` writes three files from it: Ruby's keywords
//! (`ruby/lib/hecaton/settings.rb`), their signatures (`ruby/sig/hecaton/settings.rbs`) and `docs/settings.md`. The
//! texts are written for Ruby. Where one names a `ConnectError`, a program in Rust gets an error of kind
//! [`Connect`](crate::Kind::Connect); nil is the default.

use std::path::PathBuf;
use std::time::Duration;

use super::addresses::Addresses;
use super::allowed::AllowAddress;
use super::cookies::Cookies;
use super::pem::Pem;
use super::proxy::Proxy;
use super::{Protocol, TlsVersion};
use crate::message::retry::Retry;
use crate::message::zone::ZonedAddress;

/// A row of the table: a setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name, in Ruby too.
    pub name: &'static str,
    /// Whether it is a setting of connections, which all clients on these connections share.
    pub of_connections: bool,
    /// The type in the engine; none for a setting of Ruby's alone.
    pub engine: Option<&'static str>,
    /// The type in Ruby, as in RBS.
    pub ruby: &'static str,
    /// The meaning of 0, where it is not clear from the number.
    pub zero: Option<&'static str>,
    /// The text for people.
    pub text: &'static str,
}

macro_rules! settings {
    (
        ($d:tt) $given:ident;
        $(
            $(#[doc = $text:literal])+
            $name:ident: $type:ty = $default:expr, $scope:ident, $ruby:literal $(, zero $zero:literal)?;
        )+
        gem {
            $(
                $(#[doc = $gems_text:literal])+
                $gems:ident: $gems_scope:ident, $gems_ruby:literal $(, engine $gems_engine:literal)?;
            )+
        }
    ) => {
        /// The settings of a [`Client`](crate::Client). Plain data: change the fields you need.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Config {
            $($(#[doc = $text])+ pub $name: $type,)+
        }

        impl Config {
            /// The defaults, with the one setting that has none: the total deadline of a request.
            pub fn new($given: Duration) -> Config {
                Config { $($name: $default,)+ }
            }

            /// The names of the settings of connections that differ.
            pub(crate) fn different_connections(&self, other: &Config) -> Vec<&'static str> {
                let mut names = Vec::new();
                $(if is_of_connections!($scope) && self.$name != other.$name {
                    names.push(stringify!($name));
                })+
                names
            }

            /// These settings for requests, with the other's settings for connections.
            pub fn with_connections_of(self, other: &Config) -> Config {
                Config {
                    $($name: match is_of_connections!($scope) {
                        true => other.$name.clone(),
                        false => self.$name,
                    },)+
                }
            }
        }

        /// Every setting: those of the engine, then those of Ruby alone.
        pub const SETTINGS: &[Setting] = &[
            $(Setting {
                name: stringify!($name),
                of_connections: is_of_connections!($scope),
                engine: Some(stringify!($type)),
                ruby: $ruby,
                zero: first!($($zero)?),
                text: concat!($($text, "\n"),+),
            },)+
            $(Setting {
                name: stringify!($gems),
                of_connections: is_of_connections!($gems_scope),
                engine: first!($($gems_engine)?),
                ruby: $gems_ruby,
                zero: None,
                text: concat!($($gems_text, "\n"),+),
            },)+
        ];

        /// Calls a macro with the names of the engine's settings, which are fields of [`Config`]: for code that reads
        /// each of them.
        #[macro_export]
        macro_rules! for_each_setting {
            ($d each:ident) => { $d each! { $($name)+ } };
        }
    };
}

macro_rules! is_of_connections {
    (connection) => {
        true
    };
    (request) => {
        false
    };
}

macro_rules! first {
    () => {
        None
    };
    ($one:literal) => {
        Some($one)
    };
}

settings! {
    ($) timeout;

    /// The total deadline of a request, from its start to the last byte of the body, connecting included. Required:
    /// ArgumentError without it. Fractions count.
    ///
    /// A Hash sets this limit and others at once: `{ total: 5, connect: 1, first_byte: 2 }`. Its keys are the names
    /// below without `_timeout`.
    timeout: Duration = timeout, request, "seconds | limits", zero "every request fails";
    /// The longest time that opening a connection may take. Default 3, which survives one lost SYN. If the name has
    /// several addresses, each is tried when the one before failed or had 0.25 s alone (RFC 8305), all within this
    /// time.
    connect_timeout: Duration = Duration::from_secs(3), connection, "seconds?", zero "no time";
    /// The longest time that turning a name into addresses may take. Default none, as for the other timeouts below: only
    /// the total deadline holds. Each ends in a TimeoutError whose phase says which.
    resolve_timeout: Option<Duration> = None, connection, "seconds?", zero "no time";
    /// Addresses to use instead of DNS: `{ "host:port" => ["127.0.0.1", …] }`. Default none.
    resolve: Addresses = Addresses::default(), connection, "Hash[String, String | Array[String]]?";
    /// The addresses that may be connected to. Default nil: all. The value is one of these:
    ///
    /// - `:public` forbids addresses that are private, loopback, link-local, reserved or multicast. It also forbids a
    ///   cloud's own (169.254.169.254), and IPv6 addresses that stand for a forbidden IPv4 address.
    /// - An Array has networks ("10.0.0.0/8"), addresses and `:public`.
    /// - A Hash `{ allow: …, deny: … }` has such Arrays, and `deny` takes precedence.
    ///
    /// The check is made right before connecting, on the address itself. So it covers names, URLs with addresses, and
    /// redirects alike. A forbidden address is skipped; if all are forbidden, the request is a ConnectError.
    ///
    /// Addresses of proxies are not checked, and a name that a proxy resolves is the proxy's to check. A Proc is not
    /// accepted, because requests run outside of Ruby's lock.
    allow_address: AllowAddress = AllowAddress::Any, connection, "addresses | address_rule | nil";
    /// Path of a Unix socket that every connection goes to, whatever the URL's host and port. Default none.
    unix_socket: Option<PathBuf> = None, connection, "String?";
    /// The address of this machine that connections are opened from, "192.0.2.7". Only addresses of its
    /// kind, IPv4 or IPv6, are connected to then. Not with unix_socket. Default none: the system chooses.
    local_address: Option<ZonedAddress> = None, connection, "String?";
    /// The URL of the proxy for all requests, or false for none. It has USER:PASSWORD@ if the proxy demands them.
    /// Default: as curl, what the environment names in `http_proxy`, `https_proxy` and `all_proxy`, in lower case or
    /// upper (`HTTP_PROXY` not in CGI programs), read here.
    ///
    /// - `http://HOST:PORT` connects to the proxy without TLS, and `https://…` with it. The certificate of a proxy is
    ///   verified as a server's, but pins do not apply, and `client_cert` is not sent.
    /// - `socks5://…` and `socks4://…` resolve names here; `socks5h://…` and `socks4a://…` let the proxy resolve them.
    /// - A request to an http URL is handed to the proxy. If the proxy refuses it, that is the Response.
    /// - A request to an https URL gets a tunnel. If the proxy refuses the tunnel, the request is a ConnectError.
    /// - A Proxy-Authorization among headers goes only to a proxy that the request is handed to. A tunnel has the
    ///   credentials of this URL.
    proxy: Proxy = Proxy::Environment, connection, "url | false | nil";
    /// Hosts that are connected to without the proxy, an Array or a String with commas. An entry is a name, which
    /// includes all names under it, an address, or a network ("10.0.0.0/8"). Names and addresses may have a ":port".
    /// "*" is all hosts. Default: the environment's `no_proxy` if the proxy is the environment's, else none.
    no_proxy: Option<Vec<String>> = None, connection, "String | Array[String] | nil";
    /// The longest time that a TLS handshake may take. Default none.
    tls_timeout: Option<Duration> = None, connection, "seconds?", zero "no time";
    /// The longest time that writing the request may take, its body included. Default none.
    send_timeout: Option<Duration> = None, request, "seconds?", zero "no time";
    /// The longest time from the last byte of the request to the head of the response. Default none.
    first_byte_timeout: Option<Duration> = None, request, "seconds?", zero "no time";
    /// How long a request with Expect: 100-continue waits for the server's 100 before it sends its
    /// body anyway. Default 1; 0 sends it at once. After a final response, such as 417, no body is sent.
    expect_timeout: Duration = Duration::from_secs(1), request, "seconds?", zero "the body is sent at once";
    /// The longest time between two pieces of the body. Default none. It does not limit the whole: a body that drips is
    /// ended by the total deadline.
    read_timeout: Option<Duration> = None, request, "seconds?", zero "no time";
    /// How long a request may wait for a connection when a limit below is reached. Over HTTP/2 it is also
    /// the wait for a stream, when the server's limit on streams is reached. Default none.
    queue_timeout: Option<Duration> = None, connection, "seconds?", zero "no time";
    /// Most connections to one scheme, host and port. Further requests wait their turn, first come, first
    /// served, and their timeout runs meanwhile. Default none.
    per_origin: Option<usize> = None, connection, "Integer?", zero "counts as 1";
    /// Most connections in all, idle ones included. Default none.
    max_connections: Option<usize> = None, connection, "Integer?", zero "counts as 1";
    /// Most requests that wait for a connection because of these two limits. A further request is a ConnectError at
    /// once, whose phase is `:queue`. Default none; 0 lets none wait.
    max_queue: Option<usize> = None, connection, "Integer?", zero "none waits";
    /// Whether requests are sent again. nil (the default) is never. true uses the engine's defaults. An Integer is the
    /// most tries after the first. All tries share the timeout, and each try is listed in `attempts`.
    ///
    /// A Hash has some of these keys:
    ///
    /// - `max`: most tries after the first, default 2.
    /// - `methods`: which methods, default the idempotent ones, GET HEAD OPTIONS TRACE PUT DELETE. If nothing of a
    ///   request was sent, it is retried whatever its method.
    /// - `on`: which errors, default `:resolve`, `:connect`, `:timeout`, `:protocol` and `:body`. There is `:tls` too.
    /// - `statuses`: which statuses, Integers and Ranges of them, default none.
    /// - `interval`: seconds before the first retry, default 0.1. A longer Retry-After takes precedence.
    /// - `backoff`: each further wait is longer by this factor, default 2.
    /// - `jitter`: this share of a wait is left to chance, default 0.5.
    /// - `if`: a Proc that decides instead of `methods`, `on` and `statuses`.
    ///
    /// The Proc is called with each outcome, a Response or an Error, as long as a try and time are left. If it returns
    /// true, the request is sent again, whatever its method. It gets only the head of a response that is read in
    /// pieces. It runs in the thread that waits. An exception in it leaves the request, or the batch.
    retry: Option<Retry> = None, request, "bool | Integer | retry_options | nil", zero "each is sent once";
    /// Whether an idempotent request (GET HEAD OPTIONS TRACE PUT DELETE) is sent once more on a new connection. This
    /// happens when its connection ended before a byte of the response (RFC 9110 §9.2.2). The server may have closed an
    /// idle connection just then, or be reloading. Default true.
    ///
    /// The attempt is listed as `:resent` and is no retry, so it does not depend on `retry`.
    ///
    /// Any request is sent once more, too, if a new connection ended before anything was sent. Whatever this setting is,
    /// a request is sent again of which the server says that it processed nothing (RFC 9113 §8.7). Once a byte was
    /// sent, POST and PATCH are sent again for no other reason, except by `retry` and `digest_auth`.
    reconnect: bool = true, request, "bool?";
    /// Most redirects of one request that are followed (RFC 9110 §15.4); true is 10. Default 0: a redirect is a
    /// Response.
    ///
    /// With more than 0, a redirect that cannot be followed is a RedirectError:
    ///
    /// - one redirect too many
    /// - a redirect that is part of a circle
    /// - a redirect from https to http
    /// - a redirect without an HTTP URL in Location
    ///
    /// After 301, 302 and 303 a POST becomes a GET.
    ///
    /// A redirect to another scheme, host or port drops the request's Host, credentials and all headers but public
    /// ones. That holds for the client's headers and for the request's own. Name in `public_headers` what may go along.
    redirects: u32 = 0, request, "Integer | bool | nil", zero "none followed";
    /// Whether redirects may lead from https to http. Default false.
    redirects_to_http: bool = false, request, "bool?";
    /// An Array of the hosts that redirects may lead to: names, "*.example.org" (all names under it),
    /// and addresses. The host that redirects is always allowed. A redirect to any other host is a RedirectError.
    /// Default nil: any.
    redirect_hosts: Option<Vec<String>> = None, request, "Array[String]?";
    /// A Cookies jar, which clients may share, or true for one of its own. The jar stores the cookies that
    /// responses set, and sends them back. Default none: cookies are headers like others.
    cookies: Option<Cookies> = None, request, "Cookies | bool | nil";
    /// "1.1", "2" or "3" alone, or as numbers. Default nil: over TLS the server chooses 1.1 or 2 (ALPN), and without TLS
    /// it is "1.1". With "2" and no TLS the server must be known to support it (RFC 9113 §3.3). "3" is HTTP/3 over QUIC
    /// and needs https; no proxy and no Unix socket. :auto (or an Array, ["3", "2", "1.1"]) is nil and also uses HTTP/3 for
    /// origins that have announced it (Alt-Svc). Over HTTP/2 and HTTP/3 the requests to an origin share one
    /// connection, up to the number of streams that the server allows, and then another one. So limits count
    /// connections. The client responds to pings while no thread waits, too.
    http: Protocol = Protocol::Auto, connection, "http_versions?";
    /// The authorities that may sign a server's certificate, instead of the system's: the path of a PEM file, or
    /// its text. Default: the system's, or what SSL_CERT_FILE and SSL_CERT_DIR name. Files are read here, once.
    /// A certificate names its hosts as subject alternative names; a common name alone does not count.
    ca: Option<Pem> = None, connection, "pem?";
    /// Lists of revoked certificates (CRLs): the path of a PEM file, or its text. Each certificate of a chain must be
    /// in the scope of a list, and not on it. A list that is out of date or missing is a TLSError. Files are read here,
    /// once. Default none: nothing is known of revocations.
    crl: Option<Pem> = None, connection, "pem?";
    /// The certificate, with its chain, for servers that demand one: path or text of PEM. It may contain the
    /// key, too. Default none.
    client_cert: Option<Pem> = None, connection, "pem?";
    /// The private key of client_cert: path or text of PEM. Default: it is in client_cert.
    client_key: Option<Pem> = None, connection, "pem?";
    /// The oldest version of TLS, "1.2" (the default) or "1.3".
    tls_min: TlsVersion = TlsVersion::Tls12, connection, "String?";
    /// Array of "sha256/" and the base64 of the SHA-256 of a SubjectPublicKeyInfo. The key of a server's own
    /// certificate must be among them. All else is verified as without pins. Default none.
    pins: Vec<String> = Vec::new(), connection, "Array[String]?";
    /// Whether a server's certificate must be valid, trusted and for the requested host. Default true. Dangerous
    /// when false: anyone on the way can read and change everything. Old, odd and weak certificates are accepted, too.
    /// The server must still have the key of its certificate, and pins still apply.
    verify: bool = true, connection, "bool?";
    /// Whether a server's certificate must name the requested host. If false, it must still be valid and trusted.
    /// Default true. Dangerous when false, unless ca or pins say whom to trust: whoever has any certificate of a
    /// trusted authority can pass for the server.
    verify_hostname: bool = true, connection, "bool?";
    /// How long an unused connection stays open. Default 30; 0 closes it after each response.
    idle_timeout: Duration = Duration::from_secs(30), connection, "seconds?", zero "closed after each response";
    /// Most connections that stay open while idle, to all origins together. Default none; 0 closes each after its
    /// response.
    max_idle: Option<usize> = None, connection, "Integer?", zero "closed after each response";
    /// How many seconds old a connection may be when a request is sent on it. Default none.
    max_age: Option<Duration> = None, connection, "seconds?", zero "closed after each response";
    /// Most bytes of a response's body that is held whole; more is a BodyError. Default 64 MiB,
    /// counted after decoding. The memory of the decoder is not part of the body: max_buffered limits that.
    max_body: usize = 64 << 20, request, "Integer?", zero "only empty bodies";
    /// Most bytes of memory for response bodies while they are received. All requests of the client count
    /// together, with the memory that decoders need, also of bodies that are read in pieces. A body without an announced length may take twice its bytes, but
    /// never more than max_body. A request that would exceed the limit is a BodyError, which may be retried. Default none.
    ///
    /// The buffers of connections do not count, nor do the windows of streams over HTTP/2. These shrink as streams become
    /// more, so that together they allow as much again: 64 MiB at most, and 64 KiB for each at least. Bytes that came under
    /// a larger window stay. Over HTTP/3 each connection allows 64 MiB, or max_buffered if that is less, but never less
    /// than 4 MiB.
    max_buffered: Option<usize> = None, connection, "Integer?", zero "no body is held";
    /// Most fields in the head of a response; more is a ProtocolError. Default 2000.
    max_header_fields: usize = 2000, connection, "Integer?", zero "none allowed";
    /// Most bytes in the head of a response, status line, names and values together; more is a ProtocolError. Default
    /// 256 KiB. Over HTTP/2 that ends the stream alone, unless the head is more than four times as large: such a server
    /// loses the connection.
    max_header_bytes: usize = 256 << 10, connection, "Integer?", zero "refused";
    /// Whether malformed responses that browsers and curl accept are accepted, as long as the end of the
    /// body stays certain. Default false: they are a ProtocolError or a BodyError. Accepted are:
    ///
    /// - `Transfer-Encoding: identity`,
    /// - several spaces in the status line, `http/1.1` or `HTTP/2` in it, and a line that continues it,
    /// - a space before the colon of a field that does not frame the body,
    /// - a field with an invalid name, which is left out,
    /// - a control character in a value or in the status line, which becomes a space,
    /// - lines of trailers that end in two carriage returns, and lines around chunks that end in none,
    /// - words after the size of a chunk,
    /// - a user and a password in Location, which are left out,
    /// - a redirect that is part of a circle, which is followed as often as `redirects` allows,
    /// - more than 100 interim responses over HTTP/1.1, if they have at most `max_header_bytes` together,
    /// - bytes that follow the end of a content coding, which are left out.
    ///
    /// Whatever two readers could frame in two ways is still refused, such as two different lengths, or a length beside
    /// a repaired coding.
    lenient: bool = false, request, "bool?";
    /// Whether bodies in gzip, deflate, br and zstd are requested and decoded. Default true. A request with an
    /// Accept-Encoding (see `decode_always`) or a Range of its own gets its body as it comes. Content-Encoding stays among
    /// the headers.
    decode: bool = true, request, "bool?";
    /// Whether bodies are also decoded if the request has an Accept-Encoding of its own, which is sent as it is. Default
    /// false. With `decode` false, nothing is decoded.
    decode_always: bool = false, request, "bool?";
    // The engine does not read it: `Batch::new` gets its own number, and the gem passes this one. It stands here
    // because all defaults do.
    /// Requests in flight in a batch. Default 200. Over HTTP/1.1 each has a connection of its own. A server of a few
    /// threads may leave most of them waiting until they time out; `per_origin` limits that.
    concurrency: usize = 200, request, "Integer?", zero "refused";
    /// The `User-Agent` of requests that carry none. Default `app_name`, or else "hecaton/VERSION".
    user_agent: String = concat!("hecaton/", env!("CARGO_PKG_VERSION")).to_owned(), request, "String?";

    gem {
        /// Whether a status of 400 or more is a StatusError instead of a Response. Default false.
        raise_for_status: request, "bool?";
        /// Called with each Response (or Stream) whose headers say that the resource is deprecated or will end: see
        /// `AnyResponse#sunset` and `#deprecation`. It is called before the Response is returned, or handed to
        /// callbacks. An exception in it leaves the request, or the batch, as one in a callback would. Default none.
        on_deprecation: request, "_Callable?";
        /// The passphrase of the key, a String. The key is decrypted here, once, by Ruby's openssl.
        /// Default none: the key has none.
        client_key_password: connection, "String?";
        /// The name of the program, for the logs of the other side: sent as X-App-Name. Default none.
        app_name: request, "name?";
        /// The environment of the program, "staging" and the like: sent as X-App-Env. Default none.
        app_env: request, "name?";
        /// Fields for every request, as in #request. A request's own field replaces the one here, and nil there leaves
        /// it out. With a base_url these fields go only to its scheme, host and port, but for public ones. Without a
        /// base_url they go to every requested URL. Redirects to elsewhere take along public ones alone.
        headers: request, "fields?", engine "Array[String]";
        /// Array of names of headers that may go anywhere, and whose values the log shows. Default none.
        ///
        /// - These always may: Accept, Accept-Charset, Accept-Encoding, Accept-Language, Cache-Control, Connection,
        ///   Content-Digest, Content-Disposition, Content-Encoding, Content-Language, Content-MD5, Content-Range,
        ///   Content-Type, Digest, Expect, If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since,
        ///   Pragma, Prefer, Priority, Range, Repr-Digest, TE and User-Agent.
        /// - These never may: Authorization, Cookie and Proxy-Authorization.
        public_headers: request, "Array[name]?", engine "Array[String]?";
        /// The URLs of requests are relative to this one. Default none. With "http://host/v1", whether a slash ends it
        /// or not:
        ///
        /// - "users" is "http://host/v1/users".
        /// - "/users" is "http://host/users".
        /// - "" is the base with a slash.
        ///
        /// All else is as RFC 3986 §5 says. A request may still name an absolute URL. A user and a password in the
        /// `base_url` count as `basic_auth`.
        base_url: request, "url?", engine "String?";
        /// Whether a URL that is not percent-encoded is refused. Default false: spaces, letters beyond ASCII
        /// and the like are encoded as browsers do (WHATWG). Valid URLs are sent unchanged. Control
        /// characters are always refused, and beside a base_url backslashes.
        strict_urls: request, "bool?", engine "bool?";
        /// User and password of every request, as in #request. With a base_url they go only where headers go. Default none.
        basic_auth: request, "credentials?";
        /// The token of every request, or code that returns it, as in #request. With a base_url it goes only where
        /// headers go. Default none.
        bearer: request, "(String | _Tokens)?";
        /// User and password for digest authentication of every request, as in #request. With a base_url they go only
        /// where headers go. Default none.
        digest_auth: request, "credentials?", engine "credentials?";
        /// An Array of objects that see each request before it is sent, and each outcome before it is returned. The
        /// page "Add a feature to a client" shows how. Default none.
        features: request, "Array[Features::feature]?";
        /// A Logger, or an object with its `info` and `debug`. It gets a line for each request that has ended. At level
        /// debug it gets the heads, too, without secrets. See `RequestLog`. Default none.
        logger: request, "_Logger?";
    }
}
