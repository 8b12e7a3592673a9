//! The server as a program holds it: its thread, its ports, and one on another machine.

pub(crate) mod closed_port;
pub(crate) mod handshake;
pub(crate) mod ports;
pub(crate) mod remote;
pub(crate) mod test_server;
