//! Every setting of a client, with its unit; the one home of every default.
//!
//! The defaults of the client live here. Ruby's documentation names them, its code does not, and `docs/settings.md` is made
//! from these defaults and Ruby's texts (`tests/settings`). Types for one setting have files of their own: `retry`, `cookies`,
//! `allowed` (which addresses), `addresses` (`resolve`), `redirect_hosts`, `proxy`, `pem`.

pub(crate) mod addresses;
pub(crate) mod allowed;
pub(crate) mod cookies;
pub(crate) mod network;
pub(crate) mod pem;
pub(crate) mod proxy;
pub(crate) mod redirect_hosts;
pub(crate) mod retry;

use std::path::PathBuf;
use std::time::Duration;

use self::addresses::Addresses;
use self::allowed::AllowAddress;
use self::cookies::Cookies;
use self::pem::Pem;
use self::proxy::Proxy;
use crate::message::failure::InvalidRequest;
use crate::message::retry::Retry;
use crate::message::zone::ZonedAddress;

/// The settings of a [`Client`](crate::Client). Plain data: change the fields you need.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The total deadline of one request: from the moment it is started (a request that waits its
    /// turn in a [`Batch`](crate::Batch) is not started) to the last byte of the body, connecting
    /// included. There is no default and no "off": zero fails every request.
    pub timeout: Duration,
    /// The longest time that opening a connection may take, name resolution excluded, however many addresses
    /// the name has: each is tried when the one before failed or had 250 ms alone (RFC 8305).
    /// Default 3 s, which survives the loss of one SYN (retransmitted after 1 s, RFC 6298 §2).
    /// The total deadline applies beside it, so a larger value than `timeout` has no effect.
    pub connect_timeout: Duration,
    /// The longest time that turning a name into addresses may take. Default none: the total deadline
    /// alone. Here as below, zero leaves no time at all.
    pub resolve_timeout: Option<Duration>,
    /// Addresses that need no lookup, for a host and port each. Default none: all names are looked up.
    pub resolve: Addresses,
    /// The addresses that may be connected to. The check is about the addresses that a name was resolved to, right before
    /// connecting to exactly those. It includes addresses in URLs and in redirects. Default [`AllowAddress::Any`], Ruby's nil.
    /// A forbidden address is skipped; if all are forbidden, the request ends in an error of kind
    /// [`Connect`](crate::Kind::Connect). Addresses of proxies are not checked, and a name that a proxy resolves is the proxy's
    /// to check.
    pub allow_address: AllowAddress,
    /// The path of a Unix socket that every connection goes to, whatever the URL's host and port, which still make
    /// the `Host` header. Default none.
    pub unix_socket: Option<PathBuf>,
    /// The address of this machine that connections are opened from. Only addresses of its kind (IPv4 or IPv6) are connected to
    /// then; if a name has none, the request ends in an error of kind [`Connect`](crate::Kind::Connect). It excludes
    /// `unix_socket`. Default none: the system chooses.
    pub local_address: Option<ZonedAddress>,
    /// The proxies on the way. Default [`Proxy::Environment`], Ruby's nil: those that the environment names. [`Proxy::Off`],
    /// Ruby's false: none. [`Proxy::Url`]: this one.
    pub proxy: Proxy,
    /// Hosts that are connected to without a proxy. An entry is a name, which covers all names under it too, an address, or a
    /// network (`10.0.0.0/8`). Names and addresses may have a `:port`. `*` is all hosts. Default: the environment's `no_proxy`
    /// if the proxies are the environment's, else none.
    pub no_proxy: Option<Vec<String>>,
    /// The longest time that a TLS handshake may take. Default none.
    pub tls_timeout: Option<Duration>,
    /// The longest time that writing the request may take, its body included. Default none.
    pub send_timeout: Option<Duration>,
    /// The longest time from the last byte of the request to the head of the response. Default none.
    pub first_byte_timeout: Option<Duration>,
    /// How long a request with `Expect: 100-continue` waits for the server's `100 Continue` (RFC 9110 §10.1.1)
    /// before it sends its body anyway. Default 1 s. Zero sends it at once. After a final response, such as
    /// 417, no body is sent.
    pub expect_timeout: Duration,
    /// The longest time between two pieces of a body. Default none. It does not limit the whole: a
    /// body that drips is ended by the total deadline.
    pub read_timeout: Option<Duration>,
    /// The longest wait for a connection when a limit below is reached, or for a stream of one when the
    /// server's limit on streams is (HTTP/2). Default none.
    pub queue_timeout: Option<Duration>,
    /// The version of HTTP. Default [`Protocol::Auto`], Ruby's nil: the server chooses in the TLS handshake (ALPN), and without
    /// TLS it is HTTP/1.1. [`Protocol::Http1`], Ruby's `"1.1"`, allows only HTTP/1.1. [`Protocol::Http2`], Ruby's `"2"`, allows
    /// only HTTP/2. Without TLS that needs prior knowledge that the server supports it (RFC 9113 §3.3). Over HTTP/2 all
    /// requests to an origin share one connection, up to the number of streams that the server allows, and then another one.
    pub http: Protocol,
    /// Most connections to one origin; requests beyond wait their turn, first come, first served, and
    /// their total deadline runs. Default none. 0 counts as 1. A server of a few threads may take no more than some tens or a hundred at
    /// once, and let the others wait until they time out: see `concurrency`.
    pub per_origin: Option<usize>,
    /// Most connections of the client, idle ones included: the one idle longest is closed for a new
    /// one. Default none. 0 counts as 1.
    pub max_connections: Option<usize>,
    /// Most requests that wait for a connection because of these limits; one more is an error of kind
    /// [`Connect`](crate::Kind::Connect) at once, in the phase `queue`. Default none. 0 lets none wait.
    pub max_queue: Option<usize>,
    /// Whether requests are sent again. Default none: each is sent once.
    pub retry: Option<Retry>,
    /// Whether an idempotent request (GET, HEAD, OPTIONS, TRACE, PUT, DELETE; RFC 9110 §9.2.2) is re-sent, at once and on a new
    /// connection, if its connection was closed or reset before a byte of the response came. The server may have ended an idle
    /// connection just then, or be reloading. A request is re-sent once in all for this reason, with all its retries. Default
    /// true. A POST or PATCH is never re-sent after a byte was sent. Any request is re-sent at most once more if a new
    /// connection ended before anything was sent.
    pub reconnect: bool,
    /// Most redirects of one request that are followed (301, 302, 303, 307, 308; RFC 9110 §15.4). Default 0: a redirect is a
    /// response. With more than 0, a redirect that cannot be followed is an error of kind [`Redirect`](crate::Kind::Redirect):
    /// one too many, a circle, or a `Location` that is no HTTP URL.
    pub redirects: u32,
    /// Whether a redirect may lead from https to http. Default false.
    pub redirects_to_http: bool,
    /// The hosts that redirects may lead to, beside the one that redirects: names, `*.example.org` for all names under that
    /// one, addresses. Default none: any. With an empty list all stay where they are.
    pub redirect_hosts: Option<Vec<String>>,
    /// The authorities that may sign a server's certificate, instead of the system's; a server may also show exactly one
    /// of these. A certificate names its hosts as subject alternative names: a common name alone does not count (RFC 9110 §4.3.4).
    /// Default none: the system's, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR` (as OpenSSL has them) if one is set. The
    /// system's are read at the first TLS handshake.
    pub ca: Option<Pem>,
    /// Lists of revoked certificates (CRLs), each signed by the authority that it is of. With any, every certificate of a chain
    /// must be in the scope of one of the lists, not be on it, and the list must not be out of date; else the handshake fails.
    /// They are read when the client is made, and never fetched. Default none: nothing is known of revocations.
    pub crl: Option<Pem>,
    /// The certificate (with its chain) that the client shows to servers that demand one. Default none.
    pub client_cert: Option<Pem>,
    /// The private key of `client_cert`, without a passphrase. Default: it is in `client_cert` too.
    pub client_key: Option<Pem>,
    /// The oldest version of TLS that may be used. Default TLS 1.2.
    pub tls_min: TlsVersion,
    /// If there are any, a server's certificate must have one of these keys, beside all else that is
    /// verified: `sha256/` and the base64 of the SHA-256 of its SubjectPublicKeyInfo. The server's own
    /// certificate counts, not its authorities'. Default none.
    pub pins: Vec<String>,
    /// Whether a server's certificate must be valid, trusted, and for the host of the URL. Default true.
    /// Dangerous when false: anyone on the way can read and change everything. Then a certificate of any version, with any extension and
    /// with an RSA key of any length is taken. Two things hold still, as with OpenSSL and `curl -k`: the server must have the key of its
    /// certificate, and that key must be among `pins` if there are any.
    pub verify: bool,
    /// Whether a server's certificate must be for the host of the URL, beside being valid and trusted. Default true. Dangerous when
    /// false, unless `ca` or `pins` name what is trusted: whoever has any certificate of a trusted authority can pass for the server.
    pub verify_hostname: bool,
    /// The jar that keeps the cookies of responses, redirects among them, and adds them to requests that carry no
    /// `Cookie` of their own (RFC 6265). Default none: cookies are headers like others.
    pub cookies: Option<Cookies>,
    /// How long an unused connection stays in the pool. Default 30 s. Zero closes each connection after its response.
    pub idle_timeout: Duration,
    /// Most idle connections in the pool, to all origins together: the one idle longest is closed for another. Default
    /// none. 0 closes each connection after its response.
    pub max_idle: Option<usize>,
    /// How old a connection may be when a request is sent on it, whatever its use. Default none. With a limit, clients follow
    /// names that move to other addresses. Zero closes each connection after its response.
    pub max_age: Option<Duration>,
    /// Most bytes of a response's body that is held whole; a [`Streaming`](crate::Streaming) one has no
    /// such limit. Default 64 MiB, counted after decoding. A longer body ends in an error of kind
    /// [`Body`](crate::Kind::Body), and no more than this is ever held. Zero allows only empty bodies.
    pub max_body: usize,
    /// Most bytes of response bodies that the client holds at once. Bodies that are being received to be held whole count, and
    /// the memory of their decoders (up to 16 MiB each for br, 8 MiB for zstd). A body that would exceed the limit ends in an
    /// error of kind [`Body`](crate::Kind::Body) that may be retried. Bodies that were handed over do not count, nor does a
    /// [`Streaming`](crate::Streaming) one. Default none: `max_body` for each request in flight.
    pub max_buffered: Option<usize>,
    /// Most fields in the head of a response; one more is an error of kind [`Protocol`](crate::Kind::Protocol).
    /// Default 2,000. 0 allows none.
    pub max_header_fields: usize,
    /// Most bytes in the head of a response, status line, names and values together; more is an error of kind
    /// [`Protocol`](crate::Kind::Protocol). Default 256 KiB. At least 1. Over HTTP/2 that ends the stream alone, unless the
    /// head is more than four times as large: such a server loses the connection.
    pub max_header_bytes: usize,
    /// Whether malformed HTTP/1.1 responses that browsers and curl accept are accepted, as long as the end of the body stays certain.
    /// Default false: they are errors of kind [`Protocol`](crate::Kind::Protocol) and [`Body`](crate::Kind::Body). Accepted are:
    ///
    /// - `Transfer-Encoding: identity`,
    /// - several spaces in the status line, and a space before the colon of a field,
    /// - a field with an invalid name, which is left out,
    /// - a control character in a value, which becomes a space,
    /// - lines of trailers that end in two carriage returns, and lines around chunks that end in none.
    ///
    /// Two different lengths, a length beside a coding, and whatever else two readers could frame in two ways stay refused.
    pub lenient: bool,
    /// Whether bodies in gzip, deflate, br and zstd are requested, by `Accept-Encoding`, and decoded (RFC 9110 §8.4).
    /// Default true. A request with an `Accept-Encoding` or a `Range` of its own gets its body as it comes, and so does
    /// one whose response has another coding. `Content-Encoding` stays among the headers.
    pub decode: bool,
    /// How many requests a [`Batch`](crate::Batch) keeps in flight. Default 200. At least 1. Over HTTP/1.1 that is as many connections
    /// to a server if all are for the same one; `per_origin` is for those that take fewer.
    pub concurrency: usize,
    /// The `User-Agent` of requests that carry none. Default `hecaton/<version>`.
    pub user_agent: String,
}

impl Config {
    /// How many redirects are followed where a program says no more than that they are: Ruby's `redirects: true`.
    pub const REDIRECTS: u32 = 10;

    /// The defaults, with the one setting that has none: the total deadline of a request.
    pub fn new(timeout: Duration) -> Config {
        Config {
            timeout,
            connect_timeout: Duration::from_secs(3),
            retry: None,
            reconnect: true,
            redirects: 0,
            cookies: None,
            redirects_to_http: false,
            redirect_hosts: None,
            allow_address: AllowAddress::Any,
            queue_timeout: None,
            http: Protocol::Auto,
            per_origin: None,
            max_connections: None,
            max_queue: None,
            max_idle: None,
            max_age: None,
            resolve_timeout: None,
            resolve: Addresses::default(),
            unix_socket: None,
            local_address: None,
            proxy: Proxy::Environment,
            no_proxy: None,
            tls_timeout: None,
            send_timeout: None,
            first_byte_timeout: None,
            expect_timeout: Duration::from_secs(1),
            read_timeout: None,
            ca: None,
            crl: None,
            client_cert: None,
            client_key: None,
            tls_min: TlsVersion::Tls12,
            pins: Vec::new(),
            verify: true,
            verify_hostname: true,
            idle_timeout: Duration::from_secs(30),
            max_body: 64 << 20,
            max_buffered: None,
            max_header_fields: 2000,
            max_header_bytes: 256 << 10,
            lenient: false,
            decode: true,
            concurrency: 200,
            user_agent: concat!("hecaton/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl Config {
    /// Reads the files that the settings name. So a copy of the settings makes an equal client later, even in a process that
    /// may not read the files.
    pub(crate) fn read_files(&mut self) -> Result<(), InvalidRequest> {
        for (name, pem) in [
            ("ca", &mut self.ca),
            ("crl", &mut self.crl),
            ("client_cert", &mut self.client_cert),
            ("client_key", &mut self.client_key),
        ] {
            if let Some(pem) = pem {
                pem.read()
                    .map_err(|why| InvalidRequest(format!("{name}: {why}")))?;
            }
        }
        Ok(())
    }
}

/// The version of HTTP that a client uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// The server chooses in the TLS handshake (ALPN, RFC 7301); HTTP/1.1 without TLS.
    #[default]
    Auto,
    /// HTTP/1.1 alone.
    Http1,
    /// HTTP/2 alone (RFC 9113): by ALPN over TLS, and without TLS with prior knowledge that the server supports it (§3.3).
    Http2,
}

/// The oldest version of TLS that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}
