//! The facts of a connection: its two ends, and what its TLS handshake agreed on.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// The facts of one connection, which all attempts on it share. Through a proxy the peer is the proxy, and `tls` is
/// about the handshake with the origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionFacts {
    /// The other end.
    pub peer: Option<Endpoint>,
    /// This end; none for a Unix socket, whose path is that of the other end.
    pub local: Option<Endpoint>,
    /// None before the handshake is complete, and without TLS.
    pub tls: Option<TlsFacts>,
}

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// An address and a port.
    Ip(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// The result of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFacts {
    /// `1.2` or `1.3`.
    pub version: &'static str,
    /// The cipher suite by its name in IANA's registry, such as `TLS_AES_128_GCM_SHA256`; empty over HTTP/3, where it is
    /// not known.
    pub cipher: String,
    /// The protocol that the server chose (ALPN), such as `h2`.
    pub alpn: Option<String>,
    /// The peer's certificates as it sent them, its own first, in DER. Connections with equal certificates share them.
    pub certificates: Arc<[Vec<u8>]>,
}
