//! The bridge between the engine and the gem: plain values in, plain values out.
//!
//! Ruby owns names, keyword arguments, documentation and errors (`ruby/lib`); nothing here has a
//! default. All that is unsafe is in `gvl.rs`.
//!
//! The modules, in the order of a request. `settings`, `client` and `cookies` make a client. `request`, `options` and
//! `body_source` turn Ruby's arguments into a request, and `values` converts single ones. `hooks` lets Ruby decide about
//! its retries and attempts. `batch` (with `held`, and `guest` for further clients) or `stream` owns the request.
//! `turns` waits for a request that needs Ruby meanwhile, as its `ruby_queue` says. `fibers` (with `awaited`) and `gvl`
//! wait for it, on the reactor in `shared`, and `signal` ends a wait. `record` turns the outcome into Ruby's values, and
//! `content_type` finds the encoding of its body. `fields` reads its headers on demand, and `who_answered` its
//! certificates. `process` separates values that a fork would share.
//!
//! No Rust lock may be held while Ruby is called. Ruby may switch to another thread, which waits for the lock while it
//! holds the GVL: a deadlock. The library magnus looks up the class of a type behind such a lock, at its first use. Two
//! threads whose first POST came at the same time waited for ever. So all classes are looked up when the library is
//! loaded. No lock of ours is held across a call of Ruby that may switch threads.

// Only the two entry points that the macro makes for Ruby are public.
#![allow(missing_docs)]

mod settings;

mod client;

mod cookies;

mod request;

mod options;

mod values;

mod body_source;

mod ruby_queue;

mod turns;

mod hooks;

mod batch;

mod guest;

mod held;

mod stream;

mod fibers;

mod awaited;

mod shared;

mod gvl;

mod signal;

mod record;

mod error_classes;

mod content_type;

mod fields;

mod who_answered;

mod process;

use std::sync::{Mutex, MutexGuard, PoisonError};

use magnus::{Error, Module, Object, RClass, RModule, RString, Ruby, TypedData, function};

/// For RubyGems since 3.4, which installs `hecaton/hecaton_native.so`.
#[magnus::init]
fn init(ruby: &Ruby) -> Result<(), Error> {
    let native = ruby.define_module("Hecaton")?.define_module("Native")?;
    request::init(ruby);
    process::id(); // Now, so that no other thread is in its first call when the process forks.
    gvl::forget_in_children();
    gvl::for_all_ractors(|| {
        native.define_singleton_method("resolve", function!(resolve, 2))?;
        native.define_singleton_method("public_header?", function!(is_public_header, 2))?;
        cookies::init(ruby, native)?;
        fields::init(native)?;
        content_type::init(native)?;
        who_answered::init(ruby, native)
    })?;
    client::init(ruby, native)?;
    batch::init(ruby, native)?;
    guest::init(ruby, native)?;
    body_source::init(ruby, native)?;
    turns::init(ruby, native)?;
    fibers::init(ruby, native)?;
    stream::init(ruby, native)
}

/// Defines the class of a Rust type, and looks it up by that type. Otherwise its first use looks it up behind a lock.
/// That lookup lets other Ruby threads run, and one that needed the same lock would wait with the GVL for ever.
fn define<T: TypedData>(ruby: &Ruby, native: RModule, name: &str) -> Result<RClass, Error> {
    native.define_class(name, ruby.class_object())?;
    Ok(T::class(ruby))
}

/// Takes a lock, poisoned or not: a panic leaves no value of the bridge half-changed.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// For older RubyGems, which install the library under the gem's name, `hecaton.so`.
#[magnus::init(name = "hecaton")]
fn init_by_gem_name(ruby: &Ruby) -> Result<(), Error> {
    init(ruby)
}

/// Whether a header of this name may go to any origin, and into a log, for a client with these `public_headers`.
fn is_public_header(name: RString, named: Vec<String>) -> Result<bool, Error> {
    Ok(hecaton::is_public(&named, &name.to_string()?))
}

/// The URL that a reference names beside a base, as a String.
fn resolve(ruby: &Ruby, base: RString, reference: RString) -> Result<String, Error> {
    let (base, reference) = (values::text(ruby, base)?, values::text(ruby, reference)?);
    hecaton::resolve(&base, &reference).map_err(|error| values::invalid(ruby, error.to_string()))
}
