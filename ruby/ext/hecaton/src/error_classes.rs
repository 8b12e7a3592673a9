//! Which class of Ruby an error of the engine becomes.

use hecaton::Kind;

/// The classes of errors.
const CLASSES: [(Kind, &str); 8] = [
    (Kind::Timeout, "TimeoutError"),
    (Kind::Resolve, "ResolveError"),
    (Kind::Connect, "ConnectError"),
    (Kind::Tls, "TLSError"),
    (Kind::Protocol, "ProtocolError"),
    (Kind::Body, "BodyError"),
    (Kind::Redirect, "RedirectError"),
    (Kind::Cancelled, "CancelledError"),
];

/// The class of an error.
pub fn class(kind: Kind) -> &'static str {
    let known = CLASSES.iter().find(|(known, _)| *known == kind);
    known.map_or("Error", |(_, name)| name)
}

/// The kind of error that has this class.
pub fn kind(class: &str) -> Option<Kind> {
    let known = CLASSES.iter().find(|(_, name)| *name == class);
    known.map(|(kind, _)| *kind)
}
