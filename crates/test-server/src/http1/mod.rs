//! Connections of HTTP/1.1: reads requests, and writes the responses in their order.

pub(crate) mod connection;
pub(crate) mod fault;
pub(crate) mod input;
pub(crate) mod outbox;
pub(crate) mod reader;
pub(crate) mod stream;
pub(crate) mod wire;
