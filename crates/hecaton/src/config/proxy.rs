//! The setting `proxy`: which proxies a client uses.

use std::fmt;

/// Which proxies a client uses.
#[derive(Clone, PartialEq, Eq)]
pub enum Proxy {
    /// The proxies in the environment when the client is made, read as curl reads it. The URL's scheme chooses
    /// `http_proxy` or `https_proxy`, else `all_proxy` counts; hosts in `no_proxy` get no proxy. Names in lower case
    /// come before names in upper case. `HTTP_PROXY` is ignored in CGI programs, where a client can set it.
    Environment,
    /// No proxy.
    Off,
    /// This proxy for all URLs. `http://` and `https://` are HTTP proxies. `https://` uses TLS to the proxy, whose
    /// certificate is verified like a server's; pins and `client_cert` do not apply. With `socks5://` and `socks4://`
    /// the client resolves names, with `socks5h://` and `socks4a://` the proxy does. `user:password@` in the URL are
    /// the credentials for the proxy.
    Url(String),
}

impl fmt::Debug for Proxy {
    /// Leaves out the URL, which may have credentials in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Proxy::Environment => "Environment",
            Proxy::Off => "Off",
            Proxy::Url(_) => "Url",
        })
    }
}
