//! Where requests go: scheme, host and port.

use http::uri::PathAndQuery;

use crate::message::zone;

/// The protocol: plain HTTP, or HTTP inside TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `http`, port 80 unless the URL says otherwise.
    Http,
    /// `https`, port 443 unless the URL says otherwise.
    Https,
}

impl Scheme {
    /// `http` or `https`.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The port of URLs that name none.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// Where a request goes; connections are shared by requests of equal origins.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The scheme.
    pub scheme: Scheme,
    /// Host name or address, an IPv6 address without brackets, and with its zone after a `%` if the URL has one.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl Origin {
    /// Host and port as a URL writes them.
    pub(crate) fn authority(&self) -> String {
        let mut authority = Vec::new();
        self.write_authority(&mut authority);
        String::from_utf8_lossy(&authority).into_owned()
    }

    /// Host and port as a `Host` header writes them: without the zone, which has a meaning only on this machine (RFC
    /// 6874 §4).
    pub(crate) fn host_header(&self) -> String {
        let mut header = Vec::new();
        self.write(zone::without(&self.host), "", &mut header);
        String::from_utf8_lossy(&header).into_owned()
    }

    /// The URL of a target at this origin, with its query.
    pub(crate) fn url(&self, target: &PathAndQuery) -> String {
        let mut url = Vec::new();
        self.write_url(target, &mut url);
        String::from_utf8_lossy(&url).into_owned()
    }

    /// Appends the URL of a target at this origin, with its query, to `out`.
    pub(crate) fn write_url(&self, target: &PathAndQuery, out: &mut Vec<u8>) {
        out.extend_from_slice(self.scheme.name().as_bytes());
        out.extend_from_slice(b"://");
        self.write_authority(out);
        out.extend_from_slice(target.as_str().as_bytes());
    }

    /// The host, in brackets if it is an IPv6 address, and the port if it is not the usual one.
    pub(crate) fn write_authority(&self, out: &mut Vec<u8>) {
        // Each response has its URL written. A loop over a few bytes is quicker than two searches in a string.
        if !self.host.bytes().any(|byte| byte == b':') {
            out.extend_from_slice(self.host.as_bytes());
            return self.write_port(out);
        }
        let host = zone::without(&self.host);
        let zone = self.host[host.len()..].trim_start_matches('%');
        self.write(host, zone, out);
    }

    fn write(&self, host: &str, zone: &str, out: &mut Vec<u8>) {
        let brackets: [&[u8]; 2] = if self.host.contains(':') {
            [b"[", b"]"]
        } else {
            [b"", b""]
        };
        let percent: &[u8] = if zone.is_empty() { b"" } else { b"%25" };
        for part in [
            brackets[0],
            host.as_bytes(),
            percent,
            zone.as_bytes(),
            brackets[1],
        ] {
            out.extend_from_slice(part);
        }
        self.write_port(out);
    }

    fn write_port(&self, out: &mut Vec<u8>) {
        if self.port != self.scheme.default_port() {
            out.push(b':');
            out.extend_from_slice(itoa::Buffer::new().format(self.port).as_bytes());
        }
    }
}

/// Whether a host is this domain or below it, in any case.
pub(crate) fn is_within(host: &str, domain: &str) -> bool {
    let (host, domain) = (host.as_bytes(), domain.as_bytes());
    host.len().checked_sub(domain.len()).is_some_and(|start| {
        host[start..].eq_ignore_ascii_case(domain) && (start == 0 || host[start - 1] == b'.')
    })
}

/// The URL without credentials and query, for messages.
pub(crate) fn display_url(origin: &Origin, target: &PathAndQuery) -> String {
    format!(
        "{}://{}{}",
        origin.scheme.name(),
        origin.authority(),
        target.path()
    )
}
