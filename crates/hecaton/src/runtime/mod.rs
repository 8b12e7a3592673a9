//! What futures run on: the reactor that waiting threads drive, and what it needs of the machine.

pub(crate) mod descriptors;
pub(crate) mod keeper;
pub(crate) mod reactor;
pub(crate) mod timer;
pub(crate) mod yield_now;
