//! The sins: what the sinner does wrong, each by a switch of its own.

/// A sin: its name, and what it is.
pub const SINS: &[(&str, &str)] = &[
    (
        "repeats-get-after-time-out",
        "sends a GET again when its time is over",
    ),
    (
        "repeats-post-after-time-out",
        "sends a POST again when its time is over",
    ),
    (
        "repeats-stale-get-for-ever",
        "sends a GET five times when a reused connection ends",
    ),
    (
        "repeats-stale-post-after-fin",
        "sends a POST again when a reused connection is closed",
    ),
    (
        "repeats-stale-post-after-rst",
        "sends a POST again when a reused connection is reset",
    ),
    (
        "repeats-new-get-for-ever",
        "sends a GET five times when a new connection is closed",
    ),
    (
        "repeats-new-post-after-fin",
        "sends a POST again when a new connection is closed",
    ),
    (
        "repeats-new-post-after-rst",
        "sends a POST again when a new connection is reset",
    ),
    (
        "repeats-post-after-half-a-head",
        "sends a POST again when a response breaks in its head",
    ),
    (
        "repeats-post-after-half-a-body",
        "sends a POST again when a response breaks in its body",
    ),
    ("repeats-post-after-503", "sends a POST again after 503"),
    ("repeats-post-after-429", "sends a POST again after 429"),
    ("repeats-post-after-408", "sends a POST again after 408"),
    ("repeats-post-after-500", "sends a POST again after 500"),
    (
        "repeats-get-after-503-at-once",
        "sends a GET ten times after 503, without a pause",
    ),
    (
        "ignores-retry-after",
        "sends a GET again at once although Retry-After says later",
    ),
    (
        "sleeps-as-told",
        "sleeps as long as Retry-After says, whatever its limit is",
    ),
    (
        "takes-an-unrequested-response",
        "takes bytes on an idle connection for the next response",
    ),
    (
        "keeps-after-surplus",
        "takes bytes behind a response for the next response",
    ),
    (
        "keeps-after-close",
        "reuses a connection after `Connection: close`",
    ),
    (
        "keeps-http10",
        "reuses a connection of HTTP/1.0 without `keep-alive`",
    ),
    ("never-reuses", "opens a connection for each request"),
    (
        "never-reuses-after-404",
        "drops the connection after an error",
    ),
    (
        "sends-on-closed",
        "sends a request on a connection that the server has closed",
    ),
    (
        "sends-on-reset",
        "sends a request on a connection that the server has reset",
    ),
    (
        "keeps-after-time-out",
        "keeps a connection whose response it gave up",
    ),
    (
        "limit-per-read-of-head",
        "lets each read of a head take the whole limit",
    ),
    (
        "limit-per-read-of-body",
        "lets each read of a body take the whole limit",
    ),
    ("limit-per-hop", "gives each redirect the whole limit"),
    (
        "limit-forgets-interim",
        "begins the limit again with each interim response",
    ),
    (
        "accepts-short-length",
        "takes a body that is shorter than its length",
    ),
    (
        "accepts-short-chunks",
        "takes a chunked body without its last chunk",
    ),
    (
        "accepts-cut-chunk",
        "takes a chunk that is shorter than its size",
    ),
    (
        "accepts-reset-at-end",
        "takes a reset for the end of a body without a length",
    ),
    (
        "length-over-coding",
        "obeys Content-Length although the body is chunked",
    ),
    ("first-of-two-lengths", "takes the first of two lengths"),
    ("lenient-plus", "reads a length with a plus sign"),
    ("lenient-minus", "takes a negative length for none"),
    ("lenient-tail", "reads the digits at the start of a length"),
    ("lenient-overflow", "takes a length above 2^64 for none"),
    ("lenient-hex-prefix", "reads a chunk size with 0x"),
    (
        "lenient-hex-tail",
        "reads the digits at the start of a chunk size",
    ),
    (
        "lenient-hex-minus",
        "takes a negative chunk size for the end",
    ),
    (
        "lenient-hex-overflow",
        "takes a chunk size above 2^64 for the end",
    ),
    (
        "lenient-chunk-end",
        "does not look at what stands behind a chunk",
    ),
    (
        "keeps-chunked-http10",
        "reuses a connection of HTTP/1.0 after a chunked body",
    ),
    ("merges-trailers", "sets cookies from a trailer"),
    (
        "accepts-bare-cr",
        "takes a CR alone in a field for a line's end",
    ),
    ("final-103", "returns 103 as the response"),
    ("final-102", "returns 102 as the response"),
    ("final-100", "returns 100 as the response"),
    (
        "reads-body-of-head",
        "expects a body in the response to HEAD",
    ),
    ("reads-body-of-204", "expects a body in a 204"),
    ("reads-body-of-304", "expects a body in a 304"),
    (
        "accepts-http09",
        "takes bytes without a status line for a body",
    ),
    ("accepts-bad-status", "takes a status of four digits"),
    (
        "accepts-status-words",
        "takes a status that is no number for 200",
    ),
    ("accepts-http2-line", "takes a status line of HTTP/3.7"),
    (
        "accepts-unknown-coding",
        "ignores a transfer coding that it does not know",
    ),
    ("accepts-short-gzip", "takes half a gzip stream"),
    (
        "accepts-bad-crc",
        "takes a gzip stream with a wrong checksum",
    ),
    (
        "accepts-bad-isize",
        "takes a gzip stream with a wrong length",
    ),
    (
        "first-member-only",
        "takes only the first member of a gzip stream",
    ),
    (
        "accepts-plain-as-gzip",
        "returns a body that is not gzip although it should be",
    ),
    (
        "authorization-to-host",
        "sends Authorization to another host",
    ),
    (
        "authorization-to-port",
        "sends Authorization to another port",
    ),
    (
        "authorization-restored",
        "restores Authorization when a redirect returns",
    ),
    (
        "cookie-to-host",
        "sends the caller's Cookie to another host",
    ),
    (
        "api-key-to-host",
        "sends a field of the caller to another host",
    ),
    (
        "proxy-authorization-to-host",
        "sends Proxy-Authorization to another host",
    ),
    (
        "userinfo-in-target",
        "sends the user and the password within the target",
    ),
    (
        "userinfo-from-redirect",
        "takes a user and a password from a redirect",
    ),
    ("post-after-303", "sends a POST after 303"),
    ("body-after-303", "sends the body with the GET after 303"),
    ("put-after-303", "sends a PUT after 303"),
    ("get-after-307", "sends a GET after 307"),
    ("get-after-308", "sends a GET after 308"),
    ("no-body-after-307", "leaves the body out after 307"),
    ("get-of-put-after-301", "turns a PUT into a GET after 301"),
    ("get-of-put-after-302", "turns a PUT into a GET after 302"),
    (
        "type-after-303",
        "keeps Content-Type for a GET without a body",
    ),
    ("follows-for-ever", "follows redirects without an end"),
    (
        "follows-without-being-told",
        "follows redirects although it must not",
    ),
    (
        "query-dropped",
        "drops the path of a Location that is only a query",
    ),
    (
        "relative-to-root",
        "resolves a relative path against the root",
    ),
    ("double-slash-as-path", "takes //host for a path"),
    ("dots-kept", "sends dot segments of a Location"),
    ("fragment-sent", "sends the fragment of a Location"),
    ("space-sent", "sends a space in a Location as it is"),
    ("follows-file", "reads a file that a redirect names"),
    (
        "first-of-two-locations",
        "follows the first of two Locations",
    ),
    (
        "cookie-from-other-host",
        "keeps a cookie for another host's domain",
    ),
    ("cookie-to-everyone", "sends cookies of one host to all"),
    ("cookie-ignores-path", "sends cookies to all paths"),
    ("cookie-path-prefix", "takes /a for a prefix of /ab"),
    ("cookie-ignores-max-age", "keeps a cookie with Max-Age=0"),
    (
        "cookie-ignores-expires",
        "keeps a cookie that has expired by a date of RFC 1123",
    ),
    (
        "cookie-expires-wins",
        "obeys Expires although Max-Age is there",
    ),
    ("cookie-date-rfc850", "does not read dates with hyphens"),
    (
        "cookie-date-asctime",
        "does not read dates that end in the year",
    ),
    ("cookie-date-two-digits", "takes a year of 69 for 1969"),
    ("cookie-secure-plain", "sends a Secure cookie without TLS"),
    ("cookie-prefix-ignored", "accepts __Host- without Secure"),
    (
        "cookie-never-replaced",
        "keeps both of two cookies of one name",
    ),
    ("cookie-first-only", "reads only the first Set-Cookie"),
    ("crlf-in-value", "sends a line break in a header value"),
    ("crlf-removed", "removes a line break from a header value"),
    ("crlf-in-name", "sends a line break in a header name"),
    ("crlf-in-method", "sends a line break in a method"),
    ("crlf-in-target", "sends a line break in a target"),
    (
        "two-lengths-sent",
        "sends the caller's length beside its own",
    ),
    (
        "both-framings-sent",
        "sends the caller's Transfer-Encoding beside a length",
    ),
    ("two-hosts-sent", "sends the caller's Host beside its own"),
    (
        "no-length-of-empty-post",
        "sends a POST without a body and without a length",
    ),
    ("length-of-get", "sends a length with a GET without a body"),
    ("no-host", "sends no Host"),
    ("host-without-port", "leaves the port out of Host"),
    ("fragment-in-target", "sends the fragment of a URL"),
    ("head-without-end", "reads a head without a limit"),
    (
        "status-line-without-end",
        "reads a status line without a limit",
    ),
    (
        "interim-without-end",
        "reads interim responses without a limit",
    ),
    (
        "chunk-extension-without-end",
        "reads a chunk extension without a limit",
    ),
    ("trailers-without-end", "reads trailers without a limit"),
    ("bomb-without-end", "inflates without a limit"),
    ("body-without-end", "reads a body without a limit"),
    (
        "reads-redirect-to-its-end",
        "reads the body of a redirect as far as any other",
    ),
    (
        "fold-as-field",
        "takes a line that continues a field for a field",
    ),
    (
        "codings-in-small-letters-only",
        "does not know a content coding in capital letters",
    ),
    (
        "codings-without-end",
        "decodes any number of content codings",
    ),
    (
        "empty-body-when-repeated",
        "leaves the body out when it sends a request again",
    ),
    ("one-error-for-all", "reports all errors as one"),
    (
        "connects-four-times",
        "tries a silent address four times, each with the whole limit",
    ),
    (
        "no-limit-of-upload",
        "waits without a limit for a server that does not read",
    ),
    (
        "remembers-refusal",
        "never connects again to a server that refused once",
    ),
    (
        "ignores-idle-limit",
        "uses an idle connection that is older than its limit",
    ),
    (
        "waits-for-a-slot-for-ever",
        "waits for a slot of the pool without a limit",
    ),
    // Sins of TLS, HTTP/2, proxies, pools, process life, Expect and addresses.
    (
        "accepts-expired-certificate",
        "accepts a certificate that has expired",
    ),
    (
        "accepts-early-certificate",
        "accepts a certificate that is not valid yet",
    ),
    (
        "accepts-wrong-host",
        "accepts a certificate for another host",
    ),
    (
        "accepts-self-signed",
        "accepts a certificate that is signed by itself",
    ),
    (
        "accepts-unknown-authority",
        "accepts a certificate of an authority that it does not trust",
    ),
    (
        "accepts-certificate-of-client",
        "accepts a certificate that may only be used by clients",
    ),
    (
        "accepts-common-name",
        "accepts a host that stands only in the common name",
    ),
    ("accepts-old-tls", "offers TLS 1.1, and does not refuse it"),
    (
        "accepts-plaintext-on-tls",
        "takes a response without TLS for that of an https URL",
    ),
    (
        "sni-of-address",
        "sends a name in the handshake although the host is an address",
    ),
    (
        "keeps-unverified-connection",
        "uses a connection that was not verified for a call that verifies",
    ),
    (
        "downgrades-tls",
        "tries an older version of TLS when a handshake fails",
    ),
    ("never-resumes", "does a whole handshake each time"),
    (
        "post-in-early-data",
        "sends a POST before the handshake is done",
    ),
    (
        "accepts-unoffered-protocol",
        "accepts a protocol that it did not offer",
    ),
    (
        "no-limit-of-handshake",
        "waits for a handshake without a limit",
    ),
    (
        "accepts-cut-of-tls",
        "takes the end of a connection for the end of TLS",
    ),
    (
        "authorization-to-plaintext",
        "sends Authorization to http when a redirect leads from https to it",
    ),
    (
        "gives-up-after-goaway",
        "fails when the server goes away without processing a request",
    ),
    (
        "repeats-post-after-goaway",
        "sends a POST again that the server had processed when it went away",
    ),
    (
        "repeats-refused-for-ever",
        "sends a refused request ten times",
    ),
    (
        "gives-up-after-refusal",
        "fails when the server refuses a stream",
    ),
    (
        "accepts-reset-body",
        "takes what came before a reset for the whole body",
    ),
    (
        "h2-accepts-short-body",
        "takes a body that is shorter than its content-length",
    ),
    (
        "h2-accepts-long-body",
        "takes a body that is longer than its content-length",
    ),
    (
        "ignores-max-streams",
        "opens more streams than the server allows",
    ),
    ("no-ping-ack", "does not acknowledge a PING"),
    ("no-settings-ack", "does not acknowledge settings"),
    (
        "h2-accepts-upper-case",
        "takes field names with capital letters",
    ),
    (
        "h2-accepts-connection",
        "takes a field of the connections of HTTP/1.1",
    ),
    ("h2-accepts-no-status", "takes a response without a status"),
    (
        "keeps-silent-connection",
        "keeps a connection of HTTP/2 on which nothing comes",
    ),
    (
        "loses-neighbour-of-reset",
        "fails all requests of a connection when one stream is reset",
    ),
    (
        "h2-head-without-end",
        "reads a head of HTTP/2 without a limit",
    ),
    (
        "continuations-without-end",
        "reads any number of CONTINUATION frames",
    ),
    ("accepts-data-on-stream-0", "ignores DATA on stream 0"),
    ("accepts-push", "ignores a PUSH_PROMISE that it forbade"),
    ("accepts-endless-window", "accepts a window above 2^31-1"),
    (
        "accepts-unknown-stream",
        "ignores a response on a stream that nobody opened",
    ),
    (
        "ignores-window",
        "sends more of a body than the window allows",
    ),
    (
        "drops-early-response",
        "drops a response that comes before the whole request was sent",
    ),
    (
        "never-cancels-a-stream",
        "leaves a stream open that its caller gave up",
    ),
    ("h2-final-103", "returns 103 of HTTP/2 as the response"),
    (
        "ignores-no-proxy",
        "takes the proxy of the environment for hosts that no_proxy names",
    ),
    ("path-to-proxy", "sends only the path to a proxy"),
    ("connect-without-port", "leaves the port out of CONNECT"),
    (
        "tls-into-refusal",
        "begins TLS although the proxy refused the tunnel",
    ),
    (
        "direct-after-refusal",
        "goes without the proxy when the proxy fails",
    ),
    (
        "authorization-in-connect",
        "sends Authorization to the proxy",
    ),
    ("cookie-in-connect", "sends Cookie to the proxy"),
    (
        "proxy-authorization-in-tunnel",
        "sends Proxy-Authorization to the server behind a tunnel",
    ),
    (
        "accepts-bytes-before-tls",
        "takes bytes of the proxy for the response of the server",
    ),
    (
        "obeys-length-of-connect",
        "waits for a body of the response to CONNECT",
    ),
    (
        "one-at-a-time",
        "makes calls one after the other that were made at once",
    ),
    ("pool-keeps-one", "keeps one idle connection"),
    ("ignores-pool-size", "opens more connections than its limit"),
    (
        "loses-slot-after-time-out",
        "never frees the slot of a call that timed out",
    ),
    (
        "loses-slot-after-error",
        "never frees the slot of a call that failed",
    ),
    ("opens-ahead", "opens a connection that it does not use"),
    (
        "never-closes-idle",
        "leaves idle connections open when it is closed",
    ),
    (
        "never-closes-after-time-out",
        "leaves a connection open whose response was given up",
    ),
    (
        "child-uses-connections-of-parent",
        "sends a request of a child on a connection of its parent",
    ),
    (
        "waits-for-consent-for-ever",
        "waits for 100 Continue without a limit",
    ),
    (
        "repeats-expectation-for-ever",
        "sends a request with an expectation again and again",
    ),
    (
        "reuses-without-the-body",
        "reuses a connection on which it did not send the body that it announced",
    ),
    (
        "expects-without-body",
        "sends Expect with a request that has no body",
    ),
    (
        "first-address-only",
        "tries only the first address of a host",
    ),
    (
        "waits-for-dead-address",
        "waits for the first address until its time is over",
    ),
    (
        "waits-for-dead-ipv6",
        "waits for an IPv6 address until its time is over",
    ),
    (
        "post-to-next-address",
        "sends a POST to the next address when the first one closed the connection",
    ),
];

/// The sins of a client.
#[derive(Clone, Debug, Default)]
pub struct Sins(Vec<&'static str>);

impl Sins {
    /// One sin; none if it is unknown.
    pub fn one(name: &str) -> Sins {
        Sins(
            SINS.iter()
                .map(|(sin, _)| *sin)
                .filter(|sin| *sin == name)
                .collect(),
        )
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        debug_assert!(SINS.iter().any(|(sin, _)| *sin == name), "{name} is no sin");
        self.0.contains(&name)
    }
}
