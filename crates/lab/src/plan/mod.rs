//! In which order a sweep is done: complete blocks in random order, and how long all of it takes.

mod budget;
mod cell;
mod order;

pub use budget::estimate;
pub use cell::Cell;
pub use order::{Visit, visits};
