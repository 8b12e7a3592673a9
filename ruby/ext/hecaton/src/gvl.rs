//! Waits without the GVL. The only file with unsafe code.
//!
//! `rb_thread_call_without_gvl` checks interrupts itself, and then jumps out over the Rust frames. Neither the code
//! after it nor `Drop` runs, and the frames' values leak at every `Timeout.timeout` and `Thread#kill`. So the call here
//! is `rb_nogvl` with `RB_NOGVL_INTR_FAIL`, which returns instead, and interrupts are checked afterwards under
//! `protect`, as a value.
//!
//! While a process has only one Ruby thread, `rb_nogvl` starts another for each call, to pass signals on. It waits for
//! that thread's end, and checks interrupts there after all (thread.c, `rb_thread_start_unblock_thread`, in Ruby 3.1).
//! `RB_NOGVL_UBF_ASYNC_SAFE` says that no such thread is needed, because `unblock` may run in a signal handler. It may,
//! because it only stores to an atomic and wakes the reactor of the only thread. That is a swap of atomics and a write
//! to an eventfd; nothing is allocated, freed or locked.
//!
//! A signal is for the main thread, and in Ruby 3.1 a thread that sleeps or waits for the GVL passes it on. If all
//! threads wait without the GVL, no thread passes it on, and Ctrl-C would wait for a request to end. So the main
//! thread, unless it is the only one, looks for signals itself now and then. Since Ruby 3.3 a thread of its own passes
//! signals on.
//!
//! When the machine stack overflows, Ruby's handler of SIGSEGV jumps out as well, over whatever runs. Frames of the
//! engine would never end, and what they hold would be held for ever: all later requests would hang. So the room on the
//! stack is checked before the engine is entered (`check_stack`).
//!
//! Rules: no Ruby value is touched without the GVL, and a panic does not cross C. An interrupt is Ruby's own exception,
//! never an error of ours.
//!
//! Seen in Ruby 3.1 with `RB_NOGVL_INTR_FAIL` and no other flag: Ctrl-C left a batch locked. It also waited for a
//! response in a process whose main thread ran a batch while another thread sent a request. The main thread looks every
//! 50 ms (`BETWEEN_LOOKS`).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::future::poll_fn;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::ptr::null_mut;
use std::sync::atomic::AtomicU32;
use std::task::{Context, Poll};
use std::time::Duration;

use hecaton::Reactor;
use magnus::rb_sys::AsRawValue;
use magnus::{Error, Ruby, Value};
use rb_sys::{
    Qnil, RB_NOGVL_INTR_FAIL, RB_NOGVL_UBF_ASYNC_SAFE, rb_ext_ractor_safe,
    rb_fiber_scheduler_current, rb_nogvl, rb_thread_check_ints, ruby_stack_check,
    ruby_stack_length,
};

use crate::process;
use crate::signal::Signal;

/// Waits for `future` on the calling thread while other Ruby threads run.
///
/// When an interrupt makes Ruby raise (`Thread#kill`, `Thread#raise`, Ctrl-C), `future` is dropped
/// and that exception is returned. An interrupt that raises nothing, such as a trapped signal, lets
/// the wait continue.
pub fn block_on<F>(ruby: &Ruby, reactor: &Reactor, future: F) -> Result<F::Output, Error>
where
    F: Future + Send,
    F::Output: Send,
{
    let mut future = pin!(Abandoned {
        future: ManuallyDrop::new(future),
        reactor
    });
    let looks = !ruby.thread_alone() && is_main(ruby);
    loop {
        let interrupt = Signal::default();
        // The output is stored here and not returned, because each return would copy it.
        let mut output = None;
        without_gvl(ruby, &interrupt, || {
            let wait = poll_fn(|cx| poll_or(&interrupt, cx, future.as_mut(), &mut output));
            match looks {
                false => reactor.block_on(wait),
                true => reactor
                    .block_on_at_most(wait, BETWEEN_LOOKS)
                    .unwrap_or_default(),
            }
        })?;
        if let Some(output) = output {
            return Ok(output);
        }
        if reactor.is_inherited() {
            return Err(process::inherited(ruby, "this request was sent"));
        }
        if looks {
            ruby.thread_sleep(Duration::ZERO)?;
        }
    }
}

/// The room that the engine gets on the machine stack: twice the 60 KiB of its deepest use that was measured, a TLS
/// handshake.
const ROOM: usize = 128 << 10;

/// Up to this depth every stack has the room: the smallest of Ruby's, a fiber's, has three times as much.
const SHALLOW: usize = 128 << 10;

/// Less than the 16 KiB that Ruby leaves when it calls a stack full.
const STEP: usize = 8 << 10;

/// Raises SystemStackError unless the machine stack has room for the engine, before the engine holds anything.
pub fn check_stack(ruby: &Ruby) -> Result<(), Error> {
    // SAFETY: `ruby` proves that the GVL is held. The call computes a distance on this thread's or fiber's stack.
    let depth = unsafe { ruby_stack_length(null_mut()) } as usize * size_of::<Value>();
    if depth < SHALLOW || has_room(ROOM) {
        return Ok(());
    }
    let class = ruby.exception_sys_stack_error();
    Err(Error::new(class, "stack level too deep"))
}

/// Goes down the stack by so much, as long as Ruby finds room. Only Ruby knows where the stack of a fiber ends. Pages
/// are touched, so this is only for stacks that are deep already.
#[inline(never)]
fn has_room(room: usize) -> bool {
    // SAFETY: as above; the call compares two addresses.
    if unsafe { ruby_stack_check() } != 0 {
        return false;
    }
    let Some(rest) = room.checked_sub(STEP) else {
        return true;
    };
    let step = [MaybeUninit::<u8>::uninit(); STEP];
    let has_room = has_room(rest);
    std::hint::black_box(&step);
    has_room
}

/// A future that is waited for. If a signal handler forks meanwhile, the child forgets the future and does not drop it.
struct Abandoned<'a, F> {
    future: ManuallyDrop<F>,
    reactor: &'a Reactor,
}

impl<F: Future> Future for Abandoned<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is pinned as long as `self` is: nothing moves the future out, and it is dropped in place.
        unsafe { self.map_unchecked_mut(|this| &mut *this.future) }.poll(cx)
    }
}

impl<F> Drop for Abandoned<'_, F> {
    fn drop(&mut self) {
        if !self.reactor.is_inherited() {
            // SAFETY: the future is not used after this. In a child it is forgotten, together with everything of the
            // parent's that it is linked to, so nothing in this process looks at it again.
            unsafe { ManuallyDrop::drop(&mut self.future) }
        }
    }
}

/// A duplicate of a descriptor that Ruby has open.
pub fn duplicate(ruby: &Ruby, descriptor: RawFd) -> Result<OwnedFd, Error> {
    let failed = |error: std::io::Error| {
        let message = format!("the request's body cannot be waited for: {error}");
        Error::new(ruby.exception_io_error(), message)
    };
    if descriptor < 0 {
        return Err(failed(std::io::ErrorKind::InvalidInput.into()));
    }
    // SAFETY: it is used only in this call. The GVL is held, so no other Ruby thread closes it. If it were closed all
    // the same, the system would report that.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    borrowed.try_clone_to_owned().map_err(failed)
}

unsafe extern "C" {
    /// A function of POSIX. The crate `libc` would be needed only for this.
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// Makes each child of this process forget its parent's connections before anything else runs there. Ruby's own hook,
/// `Process._fork`, is called neither by `Process.daemon` nor by other libraries in C.
pub fn forget_in_children() {
    // SAFETY: the handler is a function of this library, which Ruby never unloads. It allocates nothing and takes no
    // lock, as a child of a process with several threads demands.
    unsafe { pthread_atfork(None, None, Some(forget_inherited)) };
}

/// A word that is 0 at first, and 0 again in each child of this process, whatever forked it: the kernel wipes its page
/// (`MADV_WIPEONFORK`, madvise(2), since Linux 4.14). None where the kernel cannot.
#[cfg(target_os = "linux")]
pub fn word_wiped_at_fork() -> Option<&'static AtomicU32> {
    use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap_anonymous};
    let size = std::num::NonZeroUsize::new(size_of::<AtomicU32>())?;
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: the mapping is new, so nothing else uses it. It is aligned and full of zeros, which is an atomic of 0,
    // and it is never unmapped. The kernel rounds its size up to a page.
    unsafe {
        let page = mmap_anonymous(None, size, access, MapFlags::MAP_PRIVATE).ok()?;
        madvise(page, size.get(), MmapAdvise::MADV_WIPEONFORK).ok()?;
        Some(page.cast().as_ref())
    }
}

/// None: only Linux wipes memory at a fork.
#[cfg(not(target_os = "linux"))]
pub fn word_wiped_at_fork() -> Option<&'static AtomicU32> {
    None
}

extern "C" fn forget_inherited() {
    hecaton::forget_inherited();
}

/// Defines functions that other Ractors may call too. That is right for functions that read an outcome. They share
/// nothing, or only what threads may share. They look up no class for the first time: `define` in `lib.rs` did.
pub fn for_all_ractors<T>(define: impl FnOnce() -> T) -> T {
    // SAFETY: both calls set a flag of Ruby's for this library, which says of functions that are defined while it is
    // set that any Ractor may call them. `ruby/test/ractor_test.rb` calls them.
    unsafe { rb_ext_ractor_safe(true) };
    let defined = define();
    // SAFETY: see above.
    unsafe { rb_ext_ractor_safe(false) };
    defined
}

/// Whether the current fiber has a `Fiber.scheduler`, which must not be blocked.
pub fn is_in_fiber_of_scheduler(ruby: &Ruby) -> bool {
    // SAFETY: `ruby` proves that the GVL is held. The call reads the current thread, and raises nothing.
    let scheduler = unsafe { rb_fiber_scheduler_current() };
    scheduler != ruby.qnil().as_raw()
}

fn is_main(ruby: &Ruby) -> bool {
    ruby.thread_current().as_raw() == ruby.thread_main().as_raw()
}

/// Ready with the future, whose output is stored, or as soon as the interrupt is raised. Ruby raises the interrupt, from
/// any thread and without the GVL, when the waiting thread should check its interrupts.
fn poll_or<F: Future>(
    interrupt: &Signal,
    cx: &mut Context<'_>,
    future: Pin<&mut F>,
    output: &mut Option<F::Output>,
) -> Poll<()> {
    match interrupt.poll(cx) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => future.poll(cx).map(|ready| *output = Some(ready)),
    }
}

/// How long the main thread waits before it looks for signals.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Return instead of raising, and start no thread to pass signals on.
const FLAGS: u32 = RB_NOGVL_INTR_FAIL | RB_NOGVL_UBF_ASYNC_SAFE;

/// The data that C carries to `run` and back.
struct Call<F, T> {
    work: Option<F>,
    result: Option<std::thread::Result<T>>,
}

/// Runs `work` without the GVL, then lets Ruby raise pending exceptions. None if `work` did not run,
/// because an interrupt was pending and turned out to raise nothing.
fn without_gvl<F, T>(ruby: &Ruby, interrupt: &Signal, work: F) -> Result<Option<T>, Error>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let mut call = Call {
        work: Some(work),
        result: None,
    };
    // SAFETY: `call` and `interrupt` outlive the call, which returns here and nowhere else (see
    // FLAGS). Ruby forgets `unblock` and its argument before it returns. `F` and `T` are Send
    // because `work` may not rely on the GVL that guards what is not.
    unsafe {
        rb_nogvl(
            Some(run::<F, T>),
            (&raw mut call).cast::<c_void>(),
            Some(unblock),
            (&raw const *interrupt).cast_mut().cast::<c_void>(),
            FLAGS as c_int,
        );
    }
    check_interrupts()?;
    match call.result {
        Some(Ok(output)) => Ok(Some(output)),
        Some(Err(panic)) => Err(bug(ruby, panic.as_ref())),
        None => Ok(None),
    }
}

/// SAFETY: called by Ruby with the `Call<F, T>` that `without_gvl` passed.
unsafe extern "C" fn run<F: FnOnce() -> T, T>(data: *mut c_void) -> *mut c_void {
    // SAFETY: see above; nobody else has the pointer while this runs.
    let call = unsafe { &mut *data.cast::<Call<F, T>>() };
    if let Some(work) = call.work.take() {
        call.result = Some(catch_unwind(AssertUnwindSafe(work)));
    }
    null_mut()
}

/// SAFETY: called by Ruby with the `Signal` that `without_gvl` passed, while that waits.
unsafe extern "C" fn unblock(data: *mut c_void) {
    // SAFETY: see above; `Signal` is Sync and only read here.
    unsafe { &*data.cast::<Signal>() }.raise();
}

fn check_interrupts() -> Result<(), Error> {
    // SAFETY: the GVL is held; what Ruby raises is caught by `protect` and becomes a value.
    magnus::rb_sys::protect(|| unsafe {
        rb_thread_check_ints();
        Qnil.into()
    })?;
    Ok(())
}

/// The exception for a panic, which Ruby raises as a bug.
pub fn bug(ruby: &Ruby, panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    Error::new(
        ruby.exception_fatal(),
        format!("a bug in Hecaton, please report it: {text}"),
    )
}
