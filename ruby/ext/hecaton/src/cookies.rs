//! `Hecaton::Native::Cookies`: a jar that clients share, and that outlives a fork.

use std::sync::{Arc, Mutex};
use std::time::UNIX_EPOCH;

use hecaton::cookie_octets::{of_text, to_text};
use magnus::typed_data::Obj;
use magnus::{Error, Module, Object, RArray, RModule, RString, Ruby, function, method};

use crate::values::{self, OptionValue};
use crate::{content_type, lock, process};

/// The jar of the current process. A child of `fork` copies its parent's jar at its first use. Another thread of the
/// parent may have been changing it, and would never release it in the child.
#[derive(Clone)]
pub struct Home(Arc<Mutex<(u32, hecaton::Cookies)>>);

impl Home {
    /// The jar. This is only called with the GVL, which a fork needs too, so the lock around the jar is free in a
    /// child.
    pub fn jar(&self) -> hecaton::Cookies {
        let mut home = lock(&self.0);
        if home.0 != process::id() {
            *home = (process::id(), home.1.copy());
        }
        home.1.clone()
    }
}

/// Ruby's handle on a jar.
#[magnus::wrap(class = "Hecaton::Native::Cookies", free_immediately, size)]
pub struct Cookies(pub Home);

impl OptionValue for Obj<Cookies> {
    const WHAT: &str = "a Hecaton::Cookies";
}

impl Cookies {
    fn new(ruby: &Ruby) -> Obj<Cookies> {
        Cookies::of(ruby, hecaton::Cookies::new())
    }

    fn joining(ruby: &Ruby) -> Obj<Cookies> {
        Cookies::of(ruby, hecaton::Cookies::joining())
    }

    fn of(ruby: &Ruby, jar: hecaton::Cookies) -> Obj<Cookies> {
        ruby.obj_wrap(Cookies(Home(Arc::new(Mutex::new((process::id(), jar))))))
    }

    /// Eight values for each cookie, texts as `octets` takes them: name, value, domain, host-only flag, path, secure flag, HttpOnly flag, and the
    /// time of expiry in seconds since 1970 or nil.
    fn list(ruby: &Ruby, this: &Cookies) -> RArray {
        let cookies = this.0.jar().list().into_iter().map(|cookie| {
            let expires = cookie
                .expires
                .map(|end| match end.duration_since(UNIX_EPOCH) {
                    Ok(after) => after.as_secs_f64(),
                    Err(before) => -before.duration().as_secs_f64(),
                });
            (
                cookie.name,
                cookie.value,
                cookie.domain,
                cookie.host_only,
                cookie.path,
                cookie.secure,
                cookie.http_only,
                expires,
            )
        });
        ruby.ary_from_iter(cookies)
    }

    fn set(ruby: &Ruby, this: &Cookies, text: RString, url: RString) -> Result<bool, Error> {
        let text = to_text(&text.to_bytes()).into_owned();
        let url = values::text(ruby, url)?;
        let set = this.0.jar().set(&text, &url);
        set.map_err(|error| values::invalid(ruby, error.to_string()))
    }

    /// The bytes of text from `list`: in UTF-8 if they are valid.
    fn octets(ruby: &Ruby, text: RString) -> RString {
        match std::str::from_utf8(&text.to_bytes()) {
            Ok(text) => content_type::text(ruby, &of_text(text)),
            Err(_) => text,
        }
    }

    fn clear(&self) {
        self.0.jar().clear();
    }
}

/// Defines the class.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let class = crate::define::<Cookies>(ruby, native, "Cookies")?;
    class.define_singleton_method("new", function!(Cookies::new, 0))?;
    class.define_singleton_method("joining", function!(Cookies::joining, 0))?;
    class.define_singleton_method("octets", function!(Cookies::octets, 1))?;
    class.define_method("list", method!(Cookies::list, 0))?;
    class.define_method("set", method!(Cookies::set, 2))?;
    class.define_method("clear", method!(Cookies::clear, 0))
}
