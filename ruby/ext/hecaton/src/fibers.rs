//! `Hecaton::Native::Wait` and `Driver`: the waits of fibers of a `Fiber.scheduler`, driven together by one Ruby thread
//! for the process.
//!
//! A fiber must not wait as threads do, because it would hold up the other fibers of its thread. So its wait is put
//! beside those of other fibers, and one thread drives them all (`ruby/lib/hecaton/fibers.rb`). The thread lives as
//! long as there are waits. The fiber sleeps in a queue of Ruby's, which its scheduler knows.
//!
//! No fiber may drive, because that would hold up the others of its thread. A fiber waits for a future that owns
//! everything it needs. If an exception ends the wait, the fiber drops the future, whether or not it is being driven.
//! The queues are Ruby's own, so a scheduler needs no support for this.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use magnus::value::ReprValue;
use magnus::{Error, Module, RArray, RModule, Ruby, Value, method};

use crate::awaited::Awaited;
use crate::shared::{Engine, Shared};
use crate::{gvl, lock};

/// Waits for a future while other Ruby threads run, and other fibers of this one if it has a scheduler.
///
/// An earlier end of the wait (an exception of the scheduler's, `Thread#kill`, Ctrl-C) is returned, and the future is
/// dropped.
pub fn wait<F>(ruby: &Ruby, engine: &Arc<Engine>, future: F) -> Result<F::Output, Error>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    gvl::check_stack(ruby)?;
    if !gvl::is_in_fiber_of_scheduler(ruby) {
        return gvl::block_on(ruby, &engine.shared.reactor, future);
    }
    let output = Arc::new(Mutex::new(None));
    let slot = output.clone();
    let awaited = Arc::new(Awaited::new(async move {
        let result = AssertUnwindSafe(future).catch_unwind().await;
        *lock(&slot) = Some(result);
    }));
    engine.shared.fibers.add(awaited.clone());
    let wait = Wait {
        awaited: awaited.clone(),
        engine: engine.clone(),
    };
    let hecaton: RModule = ruby.class_object().const_get("Hecaton")?;
    let fibers: RModule = hecaton.const_get("Fibers")?;
    let woken = fibers.funcall::<_, _, Value>("wait", (ruby.obj_wrap(wait),));
    awaited.give_up();
    woken?;
    let output = lock(&output).take();
    match output {
        Some(Ok(output)) => Ok(output),
        Some(Err(panic)) => Err(gvl::bug(ruby, panic.as_ref())),
        None => Err(gvl::bug(ruby, &"a fiber was woken too early")),
    }
}

/// The wait of one fiber.
#[magnus::wrap(class = "Hecaton::Native::Wait", free_immediately, size)]
struct Wait {
    awaited: Arc<Awaited>,
    engine: Arc<Engine>,
}

impl Wait {
    fn tag(&self) -> u64 {
        self.awaited.tag
    }

    fn is_ended(&self) -> bool {
        self.awaited.is_ended()
    }

    /// A driver if no thread drives, which the caller must then run; else none.
    fn driver(&self) -> Option<Driver> {
        let shared = self.engine.shared.clone();
        let number = shared.fibers.claim()?;
        Some(Driver { number, shared })
    }
}

/// For the thread that drives.
#[magnus::wrap(class = "Hecaton::Native::Driver", free_immediately, size)]
struct Driver {
    number: u64,
    shared: Arc<Shared>,
}

impl Driver {
    /// Waits until some have ended, and returns their tags. Nil when none is left; from then on no thread drives.
    fn drive(ruby: &Ruby, this: &Driver) -> Result<Option<RArray>, Error> {
        let shared = &this.shared;
        let mut turned = false;
        let turn = std::future::poll_fn(|cx| shared.fibers.poll(cx, &mut turned));
        if !gvl::block_on(ruby, &shared.reactor, turn)? {
            return Ok(None);
        }
        Ok(Some(ruby.ary_from_iter(shared.fibers.take_ended())))
    }

    /// Lets another thread drive, if this one still does.
    fn leave(&self) {
        self.shared.fibers.leave(self.number);
    }
}

/// Defines the classes.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let class = crate::define::<Wait>(ruby, native, "Wait")?;
    class.define_method("tag", method!(Wait::tag, 0))?;
    class.define_method("ended?", method!(Wait::is_ended, 0))?;
    class.define_method("driver", method!(Wait::driver, 0))?;
    let class = crate::define::<Driver>(ruby, native, "Driver")?;
    class.define_method("drive", method!(Driver::drive, 0))?;
    class.define_method("leave", method!(Driver::leave, 0))
}
