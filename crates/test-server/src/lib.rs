//! A scripted HTTP server that records what its clients really do.
//!
//! [`TestServer::start`] runs the server on a thread of its own. A response to `/r/<id>` ends in a check value,
//! which only a client that read the body can know. The [`Interval`] of a round and the [`Summary`] since the start
//! say what really arrived. The other paths serve the tests of HTTP clients: see the table in `request/route.rs`,
//! `request/fault.rs` for deliberate faults, and `round/chaos.rs` for random faults. It supports HTTP/1.1, HTTP/2 and HTTP/3,
//! plaintext and TLS, TCP and Unix sockets.

// In the order in which a request passes through them; each imports only from those below it (`tests/architecture/`).

mod server;

mod http1;

mod http2;

mod http3;

mod multiplexed;

mod replies;

mod hub;

mod options;

mod request;

mod ledger;

mod round;

mod wire;

pub use ledger::interval::Interval;
pub use ledger::pace::Pace;
pub use ledger::summary::Summary;
pub use ledger::times::Times;
pub use options::{Http2, Http3, Options, RoundSpec, StartError};
pub use round::chaos::{Chaos, ChaosError, Dealt};
pub use round::delay::{Delay, DelayError, without_unit};
pub use round::varied::Interim;
pub use server::closed_port::ClosedPort;
pub use server::remote::{Remote, RemoteServer, serve as serve_remote};
pub use server::test_server::TestServer;
pub use wire::certificates::{Flaw, Identity, make as make_certificates};
pub use wire::tls::{Certificate, CertificateError, Tls};
