//! NATS JetStream hands out the parts of a folder that many machines see.
//!
//! A part is one message of a work queue. `enqueue` publishes the parts that are not done. `worker` takes one after
//! another and renews each lease (`lease`) until the part is done. `leased` is the state that the run and its NATS
//! session (`session`) share. `server` has the connection and the names of the queue.
//!
//! NATS only dispatches: the exclusive creation of `COMMIT` in the folder decides which records count. A double ack of
//! NATS could not decide it, because a server accepts the ack of a worker that lost the message long ago. So losing
//! NATS loses no record: `enqueue` fills the queue again.
//!
//! A lease is 30 s by default, and is renewed after each third of it. A worker whose renewal was not confirmed for two
//! thirds of the lease sends nothing more for the part, and gives up the part when the lease is over. So two workers
//! never send for one part at a time. `clock` is the clock of leases, which runs on while a machine sleeps.

mod clock;
mod enqueue;
mod lease;
mod leased;
mod server;
mod session;
mod worker;

pub use self::enqueue::enqueue;
pub use self::worker::run_worker;
