//! The setting `proxy`: which proxies a client uses.

use std::fmt;

/// Which proxies a client uses.
#[derive(Clone, PartialEq, Eq)]
pub enum Proxy {
    /// Those that the environment names when the client is made, as curl reads it: `http_proxy` and `https_proxy`
    /// by the scheme of the URL, else `all_proxy`, not for the hosts of `no_proxy`. In lower case first, then
    /// in upper case, of which `HTTP_PROXY` does not count in CGI programs, where a client can set it.
    Environment,
    /// None.
    Off,
    /// This one for all URLs: `http://`, `https://` (itself asked over TLS, and trusted as servers are, but not pinned
    /// nor shown `client_cert`), `socks5://` (names are resolved here), `socks5h://` (there), `socks4://` (here) or
    /// `socks4a://` (there), with `user:password@` if it demands them.
    Url(String),
}

impl fmt::Debug for Proxy {
    /// Without the URL, which may have credentials in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Proxy::Environment => "Environment",
            Proxy::Off => "Off",
            Proxy::Url(_) => "Url",
        })
    }
}
