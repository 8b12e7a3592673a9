//! The raw loader: the lab's own driver, as fast as one thread can be. It is the ceiling of every comparison.
//!
//! It speaks the driver protocol like any client's driver and is started as `hecaton raw`. Requests are
//! prepared bytes, answers are read no further than correctness asks.

mod connection;
mod loader;
mod response;
mod serve;
mod tally;
mod target;

pub use serve::serve;
