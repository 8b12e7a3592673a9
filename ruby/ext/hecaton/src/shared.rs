//! The parts that all clients of a process share: the reactor that threads wait on, and the waits of fibers.
//!
//! The first client makes it, and it ends with the last engine: a process without clients has no thread and no
//! descriptor of ours. A child of `fork` makes another at its first request.

use std::io;
use std::sync::{Arc, Mutex, Weak};

use hecaton::{Phase, Reactor, without_os_numbers};
use magnus::{Class, Error, ExceptionClass, Module, RModule, Ruby, kwargs};

use crate::awaited::Fibers;
use crate::lock;

pub struct Shared {
    // Dropped before the reactor, with which the connections of their futures are registered.
    pub fibers: Fibers,
    pub reactor: Reactor,
}

/// An engine client, and the reactor that it shares with all other clients of the process.
pub struct Engine {
    // Dropped before the reactor, with which its connections are registered.
    pub client: hecaton::Client,
    pub shared: Arc<Shared>,
}

/// Locked only by threads with the GVL, and never across a call of Ruby. So no other thread can hold it when a thread
/// forks.
static SHARED: Mutex<Weak<Shared>> = Mutex::new(Weak::new());

/// The shared parts of this process. Fails with a `ConnectError` when the process is out of descriptors.
pub fn shared(ruby: &Ruby) -> Result<Arc<Shared>, Error> {
    let queues = queues_for_lock(ruby)?;
    current_or_new(queues).map_err(|error| refused(ruby, &error))
}

/// Whether threads get Ruby's lock in the order in which they have asked for it: from Ruby 3.3 on.
fn queues_for_lock(ruby: &Ruby) -> Result<bool, Error> {
    let version: String = ruby.class_object().const_get("RUBY_VERSION")?;
    let numbers: Vec<u32> = version
        .split('.')
        .map_while(|number| number.parse().ok())
        .collect();
    Ok(numbers >= vec![3, 3])
}

fn current_or_new(queues_for_lock: bool) -> io::Result<Arc<Shared>> {
    let mut current = lock(&SHARED);
    if let Some(shared) = current.upgrade() {
        if !shared.reactor.is_inherited() {
            return Ok(shared);
        }
    }
    let reactor = match queues_for_lock {
        true => Reactor::for_queued_lock()?,
        false => Reactor::new()?,
    };
    let fibers = Fibers::default();
    let made = Arc::new(Shared { fibers, reactor });
    *current = Arc::downgrade(&made);
    Ok(made)
}

/// Ruby's `ConnectError` about a reactor that could not be made: the process has too many descriptors, as a rule.
fn refused(ruby: &Ruby, error: &io::Error) -> Error {
    let message = format!(
        "cannot start the reactor, which needs three descriptors: {}; close some, or raise their limit (ulimit -n)",
        without_os_numbers(error.to_string())
    );
    let made = || {
        let object = ruby.class_object();
        let hecaton: RModule = object.const_get("Hecaton")?;
        let class: ExceptionClass = hecaton.const_get("ConnectError")?;
        let system: ExceptionClass = object.const_get("SystemCallError")?;
        let cause = system.new_instance(((), error.raw_os_error()))?;
        let phase = ruby.to_symbol(Phase::Connect.name());
        class.new_instance((message, kwargs!(ruby, "phase" => phase, "cause" => cause)))
    };
    made().map_or_else(|error| error, Error::from)
}
