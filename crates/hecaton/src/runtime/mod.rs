//! Runs futures: the reactor that waiting threads drive, and its use of the machine.
//!
//! The thread that waits drives the sockets, its own and everyone's; `docs/decisions/who-drives-the-sockets.md` has the
//! measurement that decided it.
//!
//! `reactor` is what threads wait on. `keeper` drives while nobody waits. `timer` has the limits of phases, `yield_now`
//! what one request may do at a time, and `descriptors` what a child of `fork` closes.
//!
//! Decisions:
//!
//! - The engine spawns one small thread, and only while connections are open and nobody waits (`keeper`; the system's
//!   resolver runs in one of tokio's). It spawns tasks for HTTP/2's connections and for looking after idle ones alone
//!   (`tend` in `pool/idle.rs`).
//! - A trap: wake-ups of the cooperative budget are lost between two waits. tokio lets a task do 128 operations a turn,
//!   and defers the wake-ups of the rest to the turn's end. When the wait ends first they are forgotten, and a request
//!   of a large first wave slept until its deadline. So the reactor waits `unconstrained`, and long bodies yield by
//!   themselves (`ruby/test/batch_test.rb` has the wave).

pub(crate) mod descriptors;
pub(crate) mod keeper;
pub(crate) mod reactor;
pub(crate) mod readable;
pub(crate) mod spare;
pub(crate) mod tasks;
pub(crate) mod timer;
pub(crate) mod yield_now;
