//! A scripted HTTP server that records what its clients really do.
//!
//! [`TestServer::start`] runs the server on a thread of its own. A response to `/r/<id>` ends in a check value,
//! which only a client that read the body can know. The [`Interval`] of a round and the [`Summary`] since the start
//! say what really arrived. The other paths serve the tests of HTTP clients: see the table in `route.rs`,
//! `fault.rs` for deliberate faults, and `chaos.rs` for random faults. It supports HTTP/1.1, HTTP/2 and HTTP/3,
//! plaintext and TLS, TCP and Unix sockets.

mod age;
mod body;
mod bomb;
mod certificates;
mod chaos;
mod check_value;
mod clock;
mod closed_port;
mod coding;
mod connection;
mod cut;
mod date;
mod delay;
mod detail;
mod document;
mod draw;
mod exposure;
mod fault;
mod gate;
mod held;
mod http2;
#[cfg(feature = "http3")]
mod http3;
mod hub;
mod ids;
mod input;
mod interval;
mod ledger;
mod multiplexed;
mod options;
mod outbox;
mod pace;
mod parse;
mod permutation;
mod plain;
mod reader;
mod remote;
mod reply;
mod request;
mod response;
mod route;
mod script;
mod server;
mod socket;
mod source;
mod special;
mod stream;
mod summary;
mod tally;
mod test_server;
mod timer;
mod times;
mod tls;
mod varied;
mod wire;

pub use certificates::{Flaw, Identity, make as make_certificates};
pub use chaos::{Chaos, ChaosError, Dealt};
pub use closed_port::ClosedPort;
pub use delay::{Delay, DelayError, without_unit};
pub use interval::Interval;
#[cfg(feature = "http3")]
pub use options::Http3;
pub use options::{Http2, Options, RoundSpec, StartError};
pub use pace::Pace;
pub use remote::{Remote, RemoteServer, serve as serve_remote};
pub use summary::Summary;
pub use test_server::TestServer;
pub use times::Times;
pub use tls::{Certificate, CertificateError, Tls};
pub use varied::Interim;
