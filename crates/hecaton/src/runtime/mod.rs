//! Runs futures: the reactor that waiting threads drive, and its use of the machine.
//!
//! The thread that waits drives the sockets, its own and everyone's; `docs/decisions/who-drives-the-sockets.md` has the
//! measurement that decided it.
//!
//! `reactor` is what threads wait on. `keeper` drives while nobody waits. `timer` limits phases, `yield_now` limits
//! what one request does in one turn, and `descriptors` closes what a child of `fork` inherits.
//!
//! Decisions:
//!
//! - The engine spawns one small thread, and only while connections are open and nobody waits (`keeper`; the system's
//!   resolver runs in one of tokio's). It spawns tasks only for HTTP/2 and HTTP/3 connections and for watching idle ones (`tend`
//!   in `pool/tending.rs`).
//! - The reactor waits without tokio's cooperative budget (see `block_on` in `reactor`), and long bodies yield by
//!   themselves. With the budget, a request of a large first wave slept until its deadline (`ruby/test/batch_test.rb`
//!   has the wave).

pub(crate) mod descriptors;
pub(crate) mod keeper;
pub(crate) mod lock;
pub(crate) mod reactor;
pub(crate) mod readable;
pub(crate) mod spare;
pub(crate) mod tasks;
pub(crate) mod timer;
pub(crate) mod yield_now;
