//! Code that all protocols share: sockets, TLS, clocks, and the parts of responses.

pub(crate) mod certificates;
pub(crate) mod clock;
pub(crate) mod date;
pub(crate) mod deadline;
pub(crate) mod guests;
pub(crate) mod head;
pub(crate) mod small;
pub(crate) mod socket;
pub(crate) mod source;
pub(crate) mod timer;
pub(crate) mod tls;
