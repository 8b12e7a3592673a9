//! Runs a plan: drivers as processes, the origin beside them, one round after another.

mod account;
mod built;
mod conductor;
mod cores;
mod driver;
mod failure;
mod install;
mod limits;
mod noise;
mod process;
pub mod raw;
mod reach;
mod receipt;
mod round;
mod servers;
mod visit;
mod warm_up;
mod wire;

pub use crate::plan::Cell;
pub use account::Account;
pub use conductor::{Event, Stage, sweep};
pub use cores::{Pinning, choose_cores, on_core};
pub use driver::Driver;
pub use failure::{DriverError, Interrupted, Problem};
pub use install::{Installed, install};
pub use limits::{allow_descriptors, descriptors_needed};
pub use noise::Noise;
pub use reach::reach;
pub use receipt::{Missing, receipt};
pub use round::{Claim, Round, Start};
pub use servers::Servers;
pub use visit::Bench;
pub use wire::{Go, Hello, PROTO, Prepare, Verify};
