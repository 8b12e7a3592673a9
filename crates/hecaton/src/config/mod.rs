//! The settings of a client: the table of all of them with their defaults (`table`), and the types that some have. The
//! options of a request in Ruby have a table beside it (`request_table`).
//!
//! Types for one setting have files of their own: `cookies`, `allowed` (which addresses), `addresses`
//! (`resolve`), `redirect_hosts`, `proxy`, `pem`.

pub(crate) mod addresses;
pub(crate) mod allowed;
pub(crate) mod cookies;
pub(crate) mod network;
pub(crate) mod pem;
pub(crate) mod proxy;
pub(crate) mod redirect_hosts;
pub(crate) mod request_table;
pub(crate) mod table;

pub use self::table::Config;
use crate::message::failure::InvalidRequest;
use crate::message::origin::Scheme;
use crate::message::request_flags::RequestFlags;

impl Config {
    /// How many redirects are followed if the program gives no number: `redirects: true` in Ruby.
    pub const REDIRECTS: u32 = 10;

    /// Whether a request with these headers gets an Accept-Encoding.
    pub(crate) fn offers_codings(&self, flags: RequestFlags) -> bool {
        self.decode && !flags.has_coding && !flags.has_range
    }

    /// Whether the body of its response is decoded.
    pub(crate) fn decodes(&self, flags: RequestFlags) -> bool {
        self.decode && !flags.has_range && (self.decode_always || !flags.has_coding)
    }
}

impl Config {
    /// Reads the files that the settings name. So a copy of the settings makes an equal client later, even in a process
    /// that may not read the files.
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
    /// Only HTTP/1.1.
    Http1,
    /// Only HTTP/2 (RFC 9113): by ALPN over TLS, and without TLS with prior knowledge that the server supports it
    /// (§3.3).
    Http2,
    /// Only HTTP/3 (RFC 9114), which needs https and the feature `http3`.
    Http3,
    /// As `Auto`, and HTTP/3 to origins that have announced it (`Alt-Svc`, RFC 7838). Needs the feature `http3`.
    Any,
}

impl Protocol {
    /// Whether requests to an origin with this scheme share connections, or might.
    pub(crate) fn may_share(self, scheme: Scheme) -> bool {
        match self {
            Protocol::Http1 => false,
            Protocol::Http2 | Protocol::Http3 => true,
            Protocol::Auto | Protocol::Any => scheme == Scheme::Https,
        }
    }

    /// Whether a server may be used that supports only HTTP/1.1.
    pub(crate) fn allows_http1(self) -> bool {
        matches!(self, Protocol::Http1 | Protocol::Auto | Protocol::Any)
    }
}

/// The oldest version of TLS that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}
