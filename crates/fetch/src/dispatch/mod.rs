//! Many machines: the parts of a folder that all see, handed out by NATS JetStream.
//!
//! A part is one message of a work queue. `offer` publishes those that are not done; `work` takes one after another and renews its
//! lease of each (`lease`) until the part is done: `hand` is what its run and its talk with NATS (`talk`) share. `server` is what both
//! sides need of NATS. NATS only dispatches: what counts is the
//! folder, where the exclusive creation of `COMMIT` decides. A double ack is no fence: a server takes that of a worker that lost the
//! message long ago. So whoever loses all of NATS loses no record, and offers again.
//!
//! A lease is 30 s by default, and renewed every third of it. A worker that was not told of its renewal for two thirds of it sends
//! nothing more of the part, and after all of it leaves the part. So two workers never send for one part at a time.

mod hand;
mod lease;
mod offer;
mod server;
mod talk;
mod work;

pub use self::lease::Times;
pub use self::offer::{Offered, offer};
pub use self::work::{Asked, work};

use crate::error::{Error, Result};

/// What NATS's client runs on: beside the engine, on a thread that has nothing else to do.
fn runtime() -> Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(|error| Error::failed(format!("cannot start: {error}")))
}
