//! In which order a sweep is done: complete blocks in random order, and how long all of it takes.

mod budget;
mod order;
mod shown;

pub use crate::spec::{Cell, Control, Load, Mode};
pub use budget::{ROUNDS_OF_A_PROOF, ServiceTime, estimate, later};
pub use order::{Trial, trials};
pub use shown::{Shown, ToDo};
