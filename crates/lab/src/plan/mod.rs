//! In which order a sweep is done: complete blocks in random order, and how long all of it takes.

mod budget;
mod order;

pub use crate::spec::{Cell, Control, Load, Mode};
pub use budget::{ServiceTime, estimate};
pub use order::{Trial, trials};
