//! Makes the engine's request from Ruby's arguments.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use hecaton::{Defaults, InvalidUrl, Login, Request, Template};
use magnus::r_hash::ForEach;
use magnus::rb_sys::AsRawValue;
use magnus::typed_data::Obj;
use magnus::value::{Opaque, Qfalse, ReprValue};
use magnus::{
    Class, Error, ExceptionClass, Module, RArray, RHash, RModule, RString, Ruby, StaticSymbol,
    TryConvert, Value, kwargs,
};

use crate::body_source::BodySource;
use crate::hooks::RubyHooks;
use crate::ruby_queue::RubyQueue;
use crate::values::{given, invalid, seconds, text};
use crate::{options, record, settings};

/// Why no request could be made.
pub enum Refused {
    /// The URL is invalid. In a batch this is an outcome of the request.
    Url(InvalidUrl),
    /// Ruby must read the options that the program gave.
    Options,
    /// Anything else, as Ruby raises it.
    Other(Error),
}

impl Refused {
    /// The exception for Ruby.
    pub fn raised(self, ruby: &Ruby) -> Error {
        match self {
            Refused::Url(error) => invalid_url(ruby, &error).unwrap_or_else(|error| error),
            Refused::Options => unreachable!("nothing is left for Ruby to read"),
            Refused::Other(error) => error,
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Other(error)
    }
}

/// A request of Ruby's. `options` are a program's, or nil.
pub fn build(
    ruby: &Ruby,
    template: &Arc<Template>,
    method: Value,
    url: Value,
    options: Option<RHash>,
    built: &Built,
) -> Result<Request, Refused> {
    let is_get = is_get(ruby, method);
    if is_get && options.is_none() && built.is_none() {
        return get(ruby, template, url);
    }
    let mut request = match get(ruby, template, url) {
        // Ruby's own reading names what is wrong with the options first.
        Err(Refused::Url(_)) if options.is_some() => return Err(Refused::Options),
        request => request?,
    };
    if !is_get {
        let method = text(ruby, string(method)?)?;
        let given = request.method(&method);
        request = given.map_err(|error| invalid(ruby, error.to_string()))?;
    }
    match options {
        Some(options) => options::given(ruby, request, options).ok_or(Refused::Options),
        None => Ok(built.set_on(ruby, request)?),
    }
}

/// The String that Ruby has for each literal "GET".
static GET: OnceLock<Opaque<RString>> = OnceLock::new();

/// Finds the object for `GET`, and keeps it.
pub fn init(ruby: &Ruby) {
    let get = ruby.str_new("GET").to_interned_str();
    ruby.gc_register_mark_object(get);
    let _ = GET.set(get.into());
}

fn is_get(ruby: &Ruby, method: Value) -> bool {
    let Some(get) = GET.get().map(|get| ruby.get_inner(*get)) else {
        return false;
    };
    // Most requests are given this very object.
    let equals = |method: RString| method.cmp(get) == Ordering::Equal;
    get.as_raw() == method.as_raw() || RString::from_value(method).is_some_and(equals)
}

/// The options that `RequestBuilder#build` has made. Ruby's Array of them keeps the objects.
#[derive(Clone, Copy, Default)]
pub struct Built {
    /// Names and values or nil; a nil value removes the client's header.
    headers: Option<RArray>,
    /// A String or a `Hecaton::BodySource`.
    body: Option<Value>,
    /// Seconds; nil is the client's.
    timeout: Option<f64>,
    /// Options that few requests have.
    rare: Option<RHash>,
    has_login: bool,
    /// False for never.
    retry: Option<Value>,
    /// Whether it starts before the others of its batch.
    pub front: bool,
    /// The Ruby objects that are called while the request is under way.
    pub ruby_hooks: RubyHooks,
}

impl Built {
    /// From headers, body, timeout and, if there are any, rare options.
    pub fn of(all: Option<RArray>) -> Result<Built, Error> {
        let Some(all) = all else {
            return Ok(Built::default());
        };
        let mut built = Built {
            headers: all.entry(0)?,
            body: all.entry(1)?,
            timeout: all.entry(2)?,
            rare: all.entry(3)?,
            ..Built::default()
        };
        if let Some(rare) = built.rare {
            rare.foreach(|name: StaticSymbol, value: Option<Value>| {
                if let Some(value) = value {
                    built.take(name.name()?, value);
                }
                Ok(ForEach::Continue)
            })?;
        }
        Ok(built)
    }

    fn is_none(&self) -> bool {
        self.headers.is_none()
            && self.body.is_none()
            && self.timeout.is_none()
            && self.rare.is_none()
    }

    fn take(&mut self, name: &str, value: Value) {
        match name {
            "digest_auth" => self.has_login = true,
            "retry" => self.retry = Some(value),
            "front" => self.front = value.to_bool(),
            "predicate" => self.ruby_hooks.predicate = Some(value),
            "attempts" => self.ruby_hooks.features = Some(value),
            "interception" => self.ruby_hooks.interception = Some(value),
            _ => {}
        }
    }

    /// The request with these options.
    fn set_on(self, ruby: &Ruby, mut request: Request) -> Result<Request, Error> {
        // Before the headers, whose `Authorization` goes first.
        if let (true, Some(rare)) = (self.has_login, self.rare) {
            if let Some(login) = login(ruby, rare)? {
                request = request.digest_auth(login);
            }
        }
        if let Some(retry) = self.retry {
            request = sent_again(ruby, request, retry)?;
        }
        if let Some(headers) = self.headers {
            request = with_headers(ruby, request, headers)?;
        }
        if let Some(bytes) = self.body.and_then(RString::from_value) {
            request = request.body(bytes.to_bytes());
        }
        if self.source().is_none() {
            let checked = request.checked();
            request = checked.map_err(|error| invalid(ruby, error.to_string()))?;
        }
        if let Some(timeout) = self.timeout {
            request = request.timeout(seconds(ruby, "timeout", timeout)?);
        }
        if let Some(rare) = self.rare {
            if let Some(most) = given(ruby, rare, "redirects")? {
                request = request.redirects(most);
            }
        }
        Ok(request)
    }

    fn source(&self) -> Option<Value> {
        self.body
            .filter(|body| RString::from_value(*body).is_none())
    }

    /// The source of a body that is not a String, but a `Hecaton::BodySource`.
    pub fn body_source(&self) -> Result<Option<(Obj<BodySource>, Value)>, Error> {
        match self.source() {
            Some(source) => Ok(Some((source.funcall("native", ())?, source))),
            None => Ok(None),
        }
    }
}

fn with_headers(ruby: &Ruby, mut request: Request, headers: RArray) -> Result<Request, Error> {
    let mut flat = headers.into_iter();
    // Copied one by one. Ruby's garbage collector finds the results of `to_str` on the stack, but not in a Vec.
    while let (Some(name), Some(value)) = (flat.next(), flat.next()) {
        let name = text(ruby, RString::try_convert(name)?)?;
        request = match value.is_nil() {
            true => request.without(&name),
            false => request.header(&name, &RString::try_convert(value)?.to_bytes()),
        }
        .map_err(|error| invalid(ruby, error.to_string()))?;
    }
    Ok(request)
}

/// The user and the password of digest authentication, if there are any.
fn login(ruby: &Ruby, options: RHash) -> Result<Option<Login>, Error> {
    let Some(pair) = given::<Vec<String>>(ruby, options, "digest_auth")? else {
        return Ok(None);
    };
    let [user, password] = &pair[..] else {
        let why = "digest_auth is not [user, password]";
        return Err(invalid(ruby, why.into()));
    };
    let login = Login::new(user, password);
    login
        .map(Some)
        .map_err(|error| invalid(ruby, error.to_string()))
}

/// Sets the request's own retries; `retry` is false for never.
fn sent_again(ruby: &Ruby, request: Request, retry: Value) -> Result<Request, Error> {
    let retry = match Qfalse::from_value(retry) {
        Some(_) => None,
        None => Some(settings::retry(ruby, RHash::try_convert(retry)?)?),
    };
    Ok(request.retry(retry))
}

/// A GET without other options.
pub fn get(ruby: &Ruby, template: &Arc<Template>, url: Value) -> Result<Request, Refused> {
    if url.is_nil() {
        let why = "is nil: give a String or a URI";
        return Err(Refused::Url(InvalidUrl::nothing(why)));
    }
    let mut url = string(url)?;
    let mut bytes = url.to_bytes();
    if !bytes.is_ascii() || bytes.contains(&0) {
        // Text in another encoding is converted to UTF-8. In wide encodings, such as UTF-16, even ASCII contains zeros.
        url = url.conv_enc(ruby.utf8_encoding())?;
        bytes = url.to_bytes();
    }
    template.get(bytes).map_err(Refused::Url)
}

/// The common parts of a client's requests.
pub fn template(ruby: &Ruby, options: RHash) -> Result<Template, Error> {
    let mut defaults = Defaults {
        base_url: given(ruby, options, "base_url")?,
        public_headers: given(ruby, options, "public_headers")?.unwrap_or_default(),
        strict_urls: given(ruby, options, "strict_urls")?.unwrap_or(false),
        digest_auth: login(ruby, options)?,
        ..Defaults::default()
    };
    let headers = options.lookup::<_, Option<RArray>>(ruby.to_symbol("headers"))?;
    let mut flat = headers.into_iter().flatten();
    while let (Some(name), Some(value)) = (flat.next(), flat.next()) {
        let name = text(ruby, RString::try_convert(name)?)?;
        let value = RString::try_convert(value)?.to_bytes().to_vec();
        defaults.headers.push((name, value));
    }
    Template::new(&defaults).map_err(|error| invalid(ruby, error.to_string()))
}

/// A String as it is, and anything else as its `to_s`: a URI, a Symbol.
fn string(value: Value) -> Result<RString, Error> {
    match RString::from_value(value) {
        Some(string) => Ok(string),
        None => value.funcall("to_s", ()),
    }
}

/// The request with a body that is read while it is sent. Adds the number to `ruby_queue` when a piece is needed.
pub fn with_source(
    ruby: &Ruby,
    request: Request,
    source: &BodySource,
    ruby_queue: Arc<RubyQueue>,
    number: usize,
) -> Result<Request, Error> {
    let (pieces, length) = source.source(ruby_queue, number);
    let checked = request.body_from(pieces, length).checked();
    checked.map_err(|error| invalid(ruby, error.to_string()))
}

/// An InvalidURL, which is an ArgumentError.
fn invalid_url(ruby: &Ruby, error: &InvalidUrl) -> Result<Error, Error> {
    let hecaton: RModule = ruby.class_object().const_get("Hecaton")?;
    let class: ExceptionClass = hecaton.const_get("InvalidURL")?;
    let reason = record::reason(ruby, error.reason());
    let raised = class.new_instance((error.to_string(), kwargs!(ruby, "reason" => reason)))?;
    Ok(raised.into())
}
