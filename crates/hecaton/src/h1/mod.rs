//! HTTP/1.1 on the wire (RFC 9112) as pure functions: bytes in, bytes out, no socket in sight.
//!
//! `encode` writes a request; `fields` looks into header fields; `head` reads the head of a response and decides how its body is
//! framed; `body` finds it in what has arrived.

mod body;
mod encode;
mod fields;
mod head;

pub(crate) use body::{BodyError, BodyReader, Ready};
pub(crate) use encode::{encode, expects_content, waits_to_send};
pub(crate) use fields::Fields;
pub(crate) use head::{BadHead, Framing, Head, HeadReader, HeadRules};
