//! The settings of QUIC and its TLS, and the handshake of a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quinn::congestion::CubicConfig;
use quinn::crypto::rustls::{HandshakeData, QuicServerConfig};
use quinn::{Connection, IdleTimeout, Incoming, TransportConfig, VarInt};
use rustls::ServerConfig;
use rustls::server::StoresServerSessions;

use crate::options::Http3;
use crate::wire::certificates::Identity;
use crate::wire::deadline::IDLE;
use crate::wire::tls::{Secure, Tls};

/// Windows large enough that an upload does not wait for them on loopback.
const WINDOW: u32 = 1024 * 1024;
/// Bytes that may be sent before the first acknowledgement. Linux sends as many over TCP: ten segments of 1,448 bytes.
/// `quinn`'s default is ten datagrams of 1,200 bytes. RFC 9002 (§7.2) allows ten of the path's size, up to 14,720 bytes.
const INITIAL_WINDOW: u64 = 14_480;
/// Streams that a connection may have open at once.
const MOST_STREAMS: u32 = 4096;
/// How often a connection without traffic is tried, so that the server learns that its client has gone.
const TRIED_EVERY: Duration = Duration::from_secs(10);

/// The state of QUIC in the test server's thread.
pub(crate) struct Port {
    tls: ServerConfig,
    quic: quinn::ServerConfig,
    pub(super) options: Http3,
    pub(super) stall: bool,
}

impl Port {
    /// `exposed`: strangers may connect, and their connections end when they are idle.
    pub(crate) fn new(
        tls: &Tls,
        identity: &Identity,
        options: Http3,
        exposed: bool,
    ) -> Result<Port, String> {
        if tls.only_1_2 {
            return Err("HTTP/3 needs TLS 1.3".to_owned());
        }
        let mut config = tls.config(identity, &["h3"])?;
        if options.early_data {
            config.max_early_data_size = u32::MAX; // the only number that QUIC knows (RFC 9001 §4.6.1)
        }
        let crypto = crypto(config.clone())?;
        let mut quic = quinn::ServerConfig::with_crypto(crypto);
        quic.transport_config(Arc::new(transport(&options, exposed)));
        Ok(Port {
            tls: config,
            quic,
            options,
            stall: tls.stall,
        })
    }

    pub(super) fn config(&self) -> quinn::ServerConfig {
        self.quic.clone()
    }

    /// Shakes hands; none if that fails.
    pub(super) async fn shake_hands(&self, incoming: Incoming) -> Option<(Connection, Secure)> {
        let sessions = Arc::new(Sessions {
            all: self.tls.session_storage.clone(),
            found: AtomicBool::new(false),
        });
        let mut tls = self.tls.clone();
        tls.session_storage = sessions.clone();
        let mut config = self.quic.clone();
        config.crypto = crypto(tls).ok()?;
        let connection = incoming.accept_with(Arc::new(config)).ok()?.await.ok()?;
        let data = connection
            .handshake_data()?
            .downcast::<HandshakeData>()
            .ok()?;
        let secure = Secure {
            version: "1.3",
            sni: data.server_name,
            alpn: data
                .protocol
                .map(|name| String::from_utf8_lossy(&name).into_owned()),
            resumed: sessions.found.load(Ordering::Relaxed),
            client_certificate: connection.peer_identity().is_some(),
        };
        Some((connection, secure))
    }
}

fn crypto(tls: ServerConfig) -> Result<Arc<QuicServerConfig>, String> {
    let config = QuicServerConfig::try_from(tls).map_err(|error| error.to_string())?;
    Ok(Arc::new(config))
}

fn transport(options: &Http3, exposed: bool) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let mut cubic = CubicConfig::default();
    cubic.initial_window(INITIAL_WINDOW);
    transport
        .congestion_controller_factory(Arc::new(cubic))
        .max_concurrent_bidi_streams(options.max_streams.unwrap_or(MOST_STREAMS).into())
        .stream_receive_window(WINDOW.into())
        .receive_window((4 * WINDOW).into())
        // Responses go out one after another, as is the default of RFC 9218 (§4.2): half of them are whole before the
        // last, where taking turns would end all of them together. `prefer` says in which order.
        .send_fairness(false)
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(idle());
    if !exposed {
        transport.keep_alive_interval(Some(TRIED_EVERY));
    }
    transport
}

fn idle() -> Option<IdleTimeout> {
    let milliseconds = u32::try_from(IDLE.as_millis()).ok()?;
    Some(VarInt::from_u32(milliseconds).into())
}

/// The sessions of all connections, as one connection sees them: whether it has resumed one.
#[derive(Debug)]
struct Sessions {
    all: Arc<dyn StoresServerSessions>,
    found: AtomicBool,
}

impl StoresServerSessions for Sessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.all.put(key, value)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.all.get(key)
    }

    /// A client that resumes a session takes it (RFC 8446 §2.2).
    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let session = self.all.take(key);
        self.found.fetch_or(session.is_some(), Ordering::Relaxed);
        session
    }

    fn can_cache(&self) -> bool {
        self.all.can_cache()
    }
}
