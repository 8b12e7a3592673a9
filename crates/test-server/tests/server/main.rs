//! The test server over real sockets: one program, so that it is linked once.

mod chaos;
mod delay;
mod faults;
mod http;
mod http2;
mod http2_faults;
mod http3;
mod http3_faults;
mod ledger;
mod quic;
mod routes;
mod start;
mod streams;
mod support;
mod tls;
mod witness;
