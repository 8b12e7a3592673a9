//! Many machines that see one folder: a queue hands out its parts (`nats`; `missing` in a build without it).

#[cfg(not(feature = "nats"))]
mod missing;
#[cfg(feature = "nats")]
mod nats;
mod verbs;

#[cfg(not(feature = "nats"))]
pub use self::missing::{enqueue, run_worker};
#[cfg(feature = "nats")]
pub use self::nats::{enqueue, run_worker};
pub use self::verbs::{Enqueued, WorkerOptions, check};
