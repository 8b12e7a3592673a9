//! The descriptors that this process has open, so that a child of `fork` can close its duplicates of them.
//!
//! A child must not drop its parent's connections, because that would remove the parent's registrations with the
//! kernel, which both share. The child closes the bare numbers, and forgets the objects. The numbers are in a table
//! without a lock, because another thread may hold a lock when a process forks. The child has no such thread, so
//! nothing would release the lock.
//!
//! A value that is dropped in a child later, such as a future on the stack of the forking thread, knows by its
//! generation that it is the parent's. A number says what is open only at the moment of the fork: later the program may
//! have closed it and opened something else. So numbers are closed by `forget_inherited` right after the fork, and
//! never afterwards (`forget_inherited_late`). Even if the engine does not learn of a fork, servers see the ends of
//! connections, because a socket is shut down before it is closed.

use std::fs::ReadDir;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsRawFd, RawFd};
use std::process;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nix::sys::socket::{Shutdown, shutdown};
use nix::unistd::close;

/// Descriptors from this number on are not noted, and stay open in a child.
const MOST: usize = 1 << 18;

/// A bit for each descriptor.
static OPEN: [AtomicU64; MOST / 64] = [const { AtomicU64::new(0) }; MOST / 64];

/// The process in which these descriptors are open; 0 before the first is noted.
static HOME: AtomicU32 = AtomicU32::new(0);

/// How often this process and those it descends from have forgotten what they inherited.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// To be called in a child right after `fork`, before it uses a client. Closes the child's duplicates of everything
/// that clients and reactors of the parent had open, so that connections end when the parent ends them. The parent's
/// own stay open.
///
/// From then on reactors, clients, and futures of the parent can be dropped in the child without harm, and without
/// effect; they must not be used. Called again, or in a process that did not fork, it does nothing. It allocates
/// nothing and takes no lock, so a handler of `pthread_atfork` may call it, which no fork can bypass.
pub fn forget_inherited() {
    forget(|descriptor| {
        let _ = close(descriptor);
    });
}

/// Does what `forget_inherited` does, but closes nothing: for a child that has run for a while. By now the program may
/// have closed these descriptors itself, as daemons do, and have files of its own under their numbers.
pub fn forget_inherited_late() {
    forget(|_| {});
}

fn forget(each: impl Fn(RawFd)) {
    let (home, here) = (HOME.load(Ordering::Relaxed), process::id());
    if home == 0 || home == here {
        return;
    }
    HOME.store(here, Ordering::Relaxed);
    GENERATION.fetch_add(1, Ordering::Relaxed);
    for (at, word) in OPEN.iter().enumerate() {
        let mut bits = word.swap(0, Ordering::Relaxed);
        while bits != 0 {
            each((at * 64 + bits.trailing_zeros() as usize) as RawFd);
            bits &= bits - 1;
        }
    }
}

/// The process that created a value, as `forget_inherited` counts processes. Reading it needs no system call.
#[derive(Clone, Copy)]
pub(crate) struct Generation(u32);

impl Generation {
    pub fn now() -> Generation {
        Generation(GENERATION.load(Ordering::Relaxed))
    }

    /// Whether that was a process that this one descends from.
    pub fn is_past(self) -> bool {
        self.0 != GENERATION.load(Ordering::Relaxed)
    }
}

/// Notes an open descriptor.
fn note(descriptor: RawFd) {
    if HOME.load(Ordering::Relaxed) == 0 {
        HOME.store(process::id(), Ordering::Relaxed);
    }
    if let Some((word, bit)) = word_and_bit(descriptor) {
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

/// To be called before a descriptor is closed: afterwards its number may be another's.
fn unnote(descriptor: RawFd) {
    if let Some((word, bit)) = word_and_bit(descriptor) {
        word.fetch_and(!bit, Ordering::Relaxed);
    }
}

fn word_and_bit(descriptor: RawFd) -> Option<(&'static AtomicU64, u64)> {
    let descriptor = usize::try_from(descriptor).ok()?;
    Some((OPEN.get(descriptor / 64)?, 1 << (descriptor % 64)))
}

/// A value that takes locks when it is used or dropped. In a child of `fork` it is forgotten, because a thread that the
/// child does not have may hold such a lock.
pub(crate) struct OfProcess<T> {
    own: Option<T>, // None while it is dropped.
    made: Generation,
}

impl<T> OfProcess<T> {
    pub fn new(own: T) -> OfProcess<T> {
        OfProcess {
            own: Some(own),
            made: Generation::now(),
        }
    }

    /// Whether it was made by a process that this one descends from.
    pub fn is_inherited(&self) -> bool {
        self.made.is_past()
    }

    /// The value itself.
    pub fn into_inner(mut self) -> T {
        self.own.take().expect("it is not being dropped")
    }
}

impl<T> Deref for OfProcess<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.own.as_ref().expect("it is not being dropped")
    }
}

impl<T> DerefMut for OfProcess<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.own.as_mut().expect("it is not being dropped")
    }
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if self.made.is_past() {
            std::mem::forget(self.own.take());
        }
    }
}

/// Something with a duplicate of a descriptor of the program, noted for as long as it is open. Unlike [`Noted`] it ends
/// nothing: the connection, if it is one, is the program's.
pub(crate) struct Duplicate<S: AsRawFd> {
    own: Option<S>, // None while it is dropped.
    made: Generation,
}

impl<S: AsRawFd> Duplicate<S> {
    pub fn new(own: S) -> Duplicate<S> {
        note(own.as_raw_fd());
        Duplicate {
            own: Some(own),
            made: Generation::now(),
        }
    }
}

impl<S: AsRawFd> Deref for Duplicate<S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.own.as_ref().expect("it is not being dropped")
    }
}

impl<S: AsRawFd> Drop for Duplicate<S> {
    fn drop(&mut self) {
        match self.own.take() {
            Some(parents) if self.made.is_past() => std::mem::forget(parents),
            Some(own) => unnote(own.as_raw_fd()),
            None => {}
        }
    }
}

/// A socket that is noted for as long as it is open, and a connection that ends with it.
pub(crate) struct Noted<S: AsRawFd>(Duplicate<S>);

impl<S: AsRawFd> Noted<S> {
    pub fn new(socket: S) -> Noted<S> {
        Noted(Duplicate::new(socket))
    }

    /// Whether it was opened by a process that this one descends from, and is closed here. Its number may be another's.
    pub fn is_inherited(&self) -> bool {
        self.0.made.is_past()
    }

    /// Whether this process opened it. Also compares process ids, because nothing may have reported a
    /// fork to the child.
    pub fn is_own(&self) -> bool {
        !self.is_inherited() && HOME.load(Ordering::Relaxed) == process::id()
    }
}

impl<S: AsRawFd> Deref for Noted<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S: AsRawFd> DerefMut for Noted<S> {
    fn deref_mut(&mut self) -> &mut S {
        self.0.own.as_mut().expect("it is not being dropped")
    }
}

impl<S: AsRawFd> Drop for Noted<S> {
    /// Ends the connection itself, because a child that does not know of `forget_inherited` has a duplicate. The
    /// parent's socket is closed already in a child, and its number may be another's.
    fn drop(&mut self) {
        if !self.is_inherited() {
            let _ = shutdown(self.as_raw_fd(), Shutdown::Both);
        }
    }
}

/// The descriptors of a reactor, and where it was made.
pub(crate) struct Anonymous {
    descriptors: Vec<RawFd>,
    made: Generation,
}

impl Anonymous {
    /// Calls `make`, and finds the descriptors that it opened to wait for events in the system's list (Linux), because
    /// tokio does not report them. Descriptors that others open meanwhile are not taken, because a reactor's own wait
    /// for each other.
    pub fn of<T>(make: impl FnOnce() -> T) -> (T, Anonymous) {
        let (before, list) = listed();
        let made = make();
        drop(list); // Its own descriptor is in it, whose number must not be used again before.
        let mut opened = listed().0;
        opened.retain(|descriptor| before.binary_search(descriptor).is_err());
        let descriptors = waiting_for_each_other(&opened);
        descriptors.iter().copied().for_each(note);
        let anonymous = Anonymous {
            descriptors,
            made: Generation::now(),
        };
        (made, anonymous)
    }

    /// Whether they were opened by a process that this one descends from, and are closed here.
    pub fn is_inherited(&self) -> bool {
        self.made.is_past()
    }

    /// To be called before they are closed.
    pub fn release(&mut self) {
        if !self.is_inherited() {
            self.descriptors.drain(..).for_each(unnote);
        }
    }
}

/// The descriptors of this process, in order, with the open list; none where the system has none.
fn listed() -> (Vec<RawFd>, Option<ReadDir>) {
    let mut list = std::fs::read_dir("/proc/self/fd").ok();
    let mut all: Vec<_> = list
        .iter_mut()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    all.sort_unstable();
    (all, list)
}

/// The epoll instances among these that wait only for events among these, and those events.
fn waiting_for_each_other(opened: &[RawFd]) -> Vec<RawFd> {
    let kind = |descriptor: RawFd| std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok();
    let is = |descriptor: RawFd, name: &str| {
        kind(descriptor).is_some_and(|link| link.as_os_str() == name)
    };
    let mut all = Vec::new();
    for &poll in opened {
        if !is(poll, "anon_inode:[eventpoll]") {
            continue;
        }
        if let [event] = watched(poll)[..] {
            if opened.contains(&event) && is(event, "anon_inode:[eventfd]") {
                all.extend([poll, event]);
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// The descriptors that an epoll instance waits for.
fn watched(poll: RawFd) -> Vec<RawFd> {
    let listed = std::fs::read_to_string(format!("/proc/self/fdinfo/{poll}")).unwrap_or_default();
    let target = |line: &str| {
        let rest = line.strip_prefix("tfd:")?;
        rest.split_whitespace().next()?.parse().ok()
    };
    listed.lines().filter_map(target).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn is_noted(descriptor: RawFd) -> bool {
        let (word, bit) = word_and_bit(descriptor).unwrap();
        word.load(Ordering::Relaxed) & bit != 0
    }

    #[test]
    fn a_socket_is_noted_while_it_is_open_and_its_end_is_seen_though_a_duplicate_is_open() {
        let (own, mut peer) = UnixStream::pair().unwrap();
        let duplicate = own.try_clone().unwrap();
        let number = own.as_raw_fd();
        let noted = Noted::new(own);
        assert!(is_noted(number));
        drop(noted);
        assert_eq!(peer.read(&mut [0]).unwrap(), 0, "the end, though there is");
        drop(duplicate);
    }

    // With epoll. Mio's `poll` has no descriptor that waits for others.
    #[cfg(not(mio_unsupported_force_poll_poll))]
    #[test]
    fn a_reactor_has_three_descriptors_that_are_its_own() {
        let build = || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder.enable_io().build().unwrap()
        };
        // Another test may make one at the same time.
        let three = (0..100).any(|_| {
            let (_runtime, anonymous) = Anonymous::of(build);
            let all = &anonymous.descriptors;
            assert!(all.iter().all(|descriptor| is_noted(*descriptor)));
            all.len() == 3
        });
        assert!(three);
    }

    #[test]
    fn a_number_beyond_the_table_is_left_out() {
        assert!(word_and_bit(-1).is_none() && word_and_bit(RawFd::MAX).is_none());
        assert!(word_and_bit(MOST as RawFd).is_none() && word_and_bit(MOST as RawFd - 1).is_some());
    }
}
