//! The setting `proxy`: which proxies a client uses.

use std::fmt;

/// Which proxies a client uses.
#[derive(Clone, PartialEq, Eq)]
pub enum Proxy {
    /// Those that the environment names when the client is made, as curl reads it: `http_proxy` and `https_proxy` by the scheme
    /// of the URL, else `all_proxy`, not for the hosts of `no_proxy`. In lower case first, then in upper case, but `HTTP_PROXY`
    /// does not count in CGI programs, where a client can set it.
    Environment,
    /// None.
    Off,
    /// This proxy for all URLs. `http://` and `https://` are HTTP proxies. `https://` uses TLS to the proxy, which is trusted
    /// as servers are; pins and `client_cert` do not apply. `socks5://` and `socks4://` resolve names here, `socks5h://` and
    /// `socks4a://` at the proxy. `user:password@` in the URL are its credentials.
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
