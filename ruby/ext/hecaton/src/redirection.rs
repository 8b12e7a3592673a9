//! `Hecaton::Native::Redirection`: follows redirects in responses that did not come from the network, by the engine's own
//! rules.

use std::sync::{Mutex, PoisonError};

use magnus::{Error, Module, RArray, RModule, RString, Ruby, TryConvert, method};

#[magnus::wrap(class = "Hecaton::Native::Redirection", free_immediately, size)]
pub struct Redirection {
    request: Mutex<hecaton::Redirection>,
    /// Names of the headers that the first request has.
    had: Vec<String>,
    had_login: bool,
}

/// Replaces the client's headers of its name, and a login.
const AUTHORIZATION: &str = "authorization";

impl Redirection {
    pub fn new(request: hecaton::Redirection) -> Redirection {
        Redirection {
            had: names(&request),
            had_login: request.has_login(),
            request: Mutex::new(request),
        }
    }

    /// Follows a response with this status and these values of `Location`. Returns nil if the response is no redirect to follow,
    /// and only the reason, a String, if a redirect cannot be followed. Otherwise returns the next request: method, URL, headers as
    /// `Client#perform` takes them, and whether it keeps the login of digest authentication.
    fn follow(
        ruby: &Ruby,
        this: &Redirection,
        status: u16,
        locations: RArray,
    ) -> Result<Option<RArray>, Error> {
        let mut values = Vec::new();
        for value in locations {
            values.push(RString::try_convert(value)?.to_bytes());
        }
        let values: Vec<_> = values.iter().map(|value| &value[..]).collect();
        // Ruby is not called while the lock is held.
        let mut request = this.request.lock().unwrap_or_else(PoisonError::into_inner);
        let followed = request.follow(status, &values);
        let (method, url) = (request.method().to_owned(), request.url());
        let (headers, login) = (request.headers(), request.has_login());
        let mut left: Vec<_> = this.had.clone();
        if this.had_login && !login {
            left.push(AUTHORIZATION.into());
        }
        drop(request);
        let list = ruby.ary_new();
        match followed {
            Ok(false) => return Ok(None),
            Ok(true) => {}
            Err(why) => {
                list.push(why)?;
                return Ok(Some(list));
            }
        }
        left.retain(|name| {
            headers
                .iter()
                .all(|(other, _)| !other.eq_ignore_ascii_case(name))
        });
        let fields = ruby.ary_new();
        for (name, value) in headers {
            fields.push(name)?;
            fields.push(ruby.str_from_slice(&value))?;
        }
        for name in left {
            fields.push(name)?;
            fields.push(ruby.qnil())?;
        }
        list.push(method)?;
        list.push(url)?;
        list.push(fields)?;
        list.push(login)?;
        Ok(Some(list))
    }
}

fn names(request: &hecaton::Redirection) -> Vec<String> {
    let headers = request.headers().into_iter();
    headers.map(|(name, _)| name).collect()
}

/// Defines the class.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let class = crate::define::<Redirection>(ruby, native, "Redirection")?;
    class.define_method("follow", method!(Redirection::follow, 2))
}
