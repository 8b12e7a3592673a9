//! The baseline loader: the lab's own driver, as fast as one thread can be. Every comparison shows clients beside it.
//!
//! It implements the driver protocol like any client's driver and is started as `hecaton baseline-loader`. Requests are
//! prepared bytes, and responses are read no further than correctness demands.

mod alarm;
mod connection;
mod loader;
mod pace;
mod response;
mod serve;
mod tally;
mod target;

pub use serve::serve;
