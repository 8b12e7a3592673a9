//! Requests, responses, errors, and their parts. Data; no sockets, no settings.
//!
//! Decisions:
//!
//! - A valid URL goes on the wire byte for byte. Any other is encoded by the `url` crate as browsers do (`address`).
//! - One rule (`public_headers`) says which header may go to another origin, both for redirects and
//!   for absolute URLs beside a `base_url`. Only public headers may, whether the client or the request has them.
//! - The engine polls the bodies of requests (`body`): a source gives its next piece when the previous one has been
//!   written. The engine cannot call Ruby, because it runs without the GVL. It reports that a piece is needed, which
//!   ends the wait, and Ruby's thread reads it (`ruby/ext/hecaton/src/body_source.rs`). If a pipe or a socket has
//!   nothing, the engine polls it with everything else. Any other slow body holds up its batch, as a slow callback
//!   does.

pub(crate) mod address;
pub(crate) mod alt_svc;
pub(crate) mod announced_framing;
pub(crate) mod attempt;
pub(crate) mod body;
pub(crate) mod broken;
pub(crate) mod connection_facts;
pub(crate) mod deadline;
pub(crate) mod digest;
pub(crate) mod elapsed;
pub(crate) mod error;
pub(crate) mod failure;
pub(crate) mod fields;
pub(crate) mod framing;
pub(crate) mod head;
pub(crate) mod merge;
pub(crate) mod origin;
pub(crate) mod public_headers;
pub(crate) mod reason;
pub(crate) mod redirect;
pub(crate) mod reference;
pub(crate) mod request;
pub(crate) mod request_flags;
pub(crate) mod request_options;
pub(crate) mod response;
pub(crate) mod retry;
pub(crate) mod sent;
pub(crate) mod template;
pub(crate) mod words;
pub(crate) mod zone;
