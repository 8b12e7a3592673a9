//! Responses that need more than one write: long bodies, chunks, bodies without a length, faults.

use crate::request::fault::Fault;
use crate::wire::head::{After, Field, Length};
use crate::wire::source::Source;

/// The content of a stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) kind: Kind,
    pub(crate) content_type: &'static str,
    pub(crate) fields: Vec<Field>,
    pub(crate) is_head: bool,
    pub(crate) version: u8,
    pub(crate) after: After,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Body(Length, Source),
    Fault(Fault),
}
