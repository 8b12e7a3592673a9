//! Runs a plan: drivers as processes, the origin beside them, one round after another.

mod round;

pub use round::{Cell, Claim, Round};
