//! `Hecaton::Native::BodySource`: hands the pieces of a request's body from Ruby to the engine, one at a time.
//!
//! The engine runs without the GVL, so it cannot call Ruby. It reports that it needs a piece, which ends the wait.
//! Ruby's thread reads one and waits again.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use hecaton::{Readable, Source};
use magnus::{Error, Module, Object, RModule, RString, Ruby, function, method};

use crate::process::ProcessLocal;
use crate::ruby_queue::RubyQueue;
use crate::{gvl, lock};

#[derive(Clone)]
#[magnus::wrap(class = "Hecaton::Native::BodySource", free_immediately, size)]
pub struct BodySource(Arc<Shared>);

struct Shared {
    length: Option<u64>,
    rewindable: bool,
    slot: Mutex<Slot>,
}

#[derive(Default)]
struct Slot {
    piece: Option<Bytes>,
    ended: bool,
    /// Whether Ruby could not read it to its end.
    failed: bool,
    needed: bool,
    rewound: bool,
    waker: Option<ProcessLocal<Waker>>,
    ruby_queue: Option<(Arc<RubyQueue>, usize)>,
    /// The descriptor that must be readable before the reading thread is woken.
    watched: Option<Readable>,
}

impl BodySource {
    fn new(length: Option<u64>, rewindable: bool) -> BodySource {
        BodySource(Arc::new(Shared {
            length,
            rewindable,
            slot: Mutex::default(),
        }))
    }

    /// The source for the engine, and its length if that is known. Adds `tag` to `ruby_queue` when a piece is needed.
    pub fn source(
        &self,
        ruby_queue: Arc<RubyQueue>,
        tag: usize,
    ) -> (impl Source + 'static + use<>, Option<u64>) {
        lock(&self.0.slot).ruby_queue = Some((ruby_queue, tag));
        (Outlet(self.0.clone()), self.0.length)
    }

    /// Whether a piece is needed.
    pub fn is_needed(&self) -> bool {
        lock(&self.0.slot).needed
    }

    /// Whether the source must begin again before the next piece. Only the first call returns true.
    fn take_rewound(&self) -> bool {
        std::mem::take(&mut lock(&self.0.slot).rewound)
    }

    /// Gives the piece that was needed, nil at the end.
    fn give(&self, piece: Option<RString>) {
        let piece = piece.map(|piece| piece.to_bytes());
        let mut slot = lock(&self.0.slot);
        slot.ended = piece.is_none();
        slot.piece = piece;
        slot.needed = false;
        wake(slot);
    }

    /// An exception left the reading of a piece, so the next piece would not follow the last one. The request fails.
    fn fail(&self) {
        let mut slot = lock(&self.0.slot);
        (slot.failed, slot.needed) = (true, false);
        wake(slot);
    }

    /// There is no piece yet: the reading thread is woken when this descriptor is readable. The engine waits for that
    /// with everything else.
    fn read_when_ready(ruby: &Ruby, this: &BodySource, descriptor: i32) -> Result<(), Error> {
        let duplicate = gvl::duplicate(ruby, descriptor)?;
        let mut slot = lock(&this.0.slot);
        slot.watched = Some(Readable::new(duplicate));
        wake(slot);
        Ok(())
    }
}

/// Wakes the engine after a change.
fn wake(mut slot: MutexGuard<'_, Slot>) {
    let waker = slot.waker.take();
    drop(slot);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The engine's end of a source.
struct Outlet(Arc<Shared>);

impl Source for Outlet {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let mut slot = lock(&self.0.slot);
        if let Some(piece) = slot.piece.take() {
            return Poll::Ready(Some(Ok(piece)));
        }
        if slot.ended {
            return Poll::Ready(None);
        }
        if slot.failed {
            let why = "an exception ended the reading of the request's body";
            return Poll::Ready(Some(Err(io::Error::other(why))));
        }
        slot.waker = Some(ProcessLocal::new(cx.waker().clone()));
        let reports = match &mut slot.watched {
            Some(watched) => {
                let ready = watched.poll(cx).is_ready();
                if ready {
                    slot.watched = None;
                }
                ready
            }
            None => !slot.needed,
        };
        slot.needed = true;
        if let (true, Some((ruby_queue, tag))) = (reports, &slot.ruby_queue) {
            ruby_queue.add(*tag);
        }
        Poll::Pending
    }

    fn rewind(&mut self) -> bool {
        let mut slot = lock(&self.0.slot);
        if !self.0.rewindable || slot.failed {
            return false;
        }
        slot.rewound = true;
        (slot.piece, slot.ended, slot.needed) = (None, false, false);
        slot.watched = None;
        true
    }
}

/// Defines the class.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let class = crate::define::<BodySource>(ruby, native, "BodySource")?;
    class.define_singleton_method("new", function!(BodySource::new, 2))?;
    class.define_method("needed?", method!(BodySource::is_needed, 0))?;
    class.define_method("rewound?", method!(BodySource::take_rewound, 0))?;
    class.define_method("give", method!(BodySource::give, 1))?;
    class.define_method("fail", method!(BodySource::fail, 0))?;
    class.define_method("read_when_ready", method!(BodySource::read_when_ready, 1))
}
