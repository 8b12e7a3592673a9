//! Ruby's arguments of a request → the engine's request.

use std::time::Duration;

use hecaton::Request;
use magnus::typed_data::Obj;
use magnus::value::ReprValue;
use magnus::{Error, RArray, RHash, RString, Ruby, TryConvert, Value};

use crate::feed::Feed;

/// A request as Ruby passes it: method, URL, headers as a flat list of names and values or nil,
/// body (but only a String: see `feed`) or nil, timeout in seconds or nil (the client's), and what is asked for rarely, in a Hash or nil.
pub fn build(
    ruby: &Ruby,
    method: RString,
    url: RString,
    headers: Option<RArray>,
    body: Option<Value>,
    timeout: Option<f64>,
    options: Option<RHash>,
) -> Result<Request, Error> {
    let invalid = |error: hecaton::InvalidRequest| invalid(ruby, error.to_string());
    let mut request = Request::new(&text(ruby, method)?, &text(ruby, url)?).map_err(invalid)?;
    if let Some(headers) = headers {
        let mut flat = headers.into_iter();
        // Copied one by one: what `to_str` makes is known to nobody else, and Ruby's garbage
        // collector looks for it on the stack, not in a Vec.
        while let (Some(name), Some(value)) = (flat.next(), flat.next()) {
            let name = text(ruby, RString::try_convert(name)?)?;
            let value = RString::try_convert(value)?.to_bytes();
            request = request.header(&name, &value).map_err(invalid)?;
        }
    }
    if let Some(body) = body {
        if let Some(bytes) = RString::from_value(body) {
            request = request.body(bytes.to_bytes());
        }
    }
    if let Some(timeout) = timeout {
        request = request.timeout(seconds(ruby, timeout)?);
    }
    if let Some(options) = options {
        if let Some(most) = given(ruby, options, "redirects")? {
            request = request.redirects(most);
        }
    }
    Ok(request)
}

/// The feed of a body that is no String: then it is a `Hecaton::Upload`.
pub fn feed(body: Option<Value>) -> Result<Option<(Obj<Feed>, Value)>, Error> {
    match body.filter(|body| RString::from_value(*body).is_none()) {
        Some(upload) => Ok(Some((upload.funcall("feed", ())?, upload))),
        None => Ok(None),
    }
}

/// Seconds → a duration; Ruby has checked that they are not negative.
pub fn seconds(ruby: &Ruby, seconds: f64) -> Result<Duration, Error> {
    Duration::try_from_secs_f64(seconds).map_err(|error| invalid(ruby, format!("timeout: {error}")))
}

/// The value under this name; nil and absent are the same.
pub fn given<T: TryConvert>(ruby: &Ruby, options: RHash, name: &str) -> Result<Option<T>, Error> {
    options.lookup::<_, Option<T>>(ruby.to_symbol(name))
}

/// An ArgumentError.
pub fn invalid(ruby: &Ruby, message: String) -> Error {
    Error::new(ruby.exception_arg_error(), message)
}

/// A method, URL or header name.
pub fn text(ruby: &Ruby, string: RString) -> Result<String, Error> {
    String::from_utf8(Vec::from(string.to_bytes())).map_err(|_| {
        invalid(
            ruby,
            "bytes that are not UTF-8 in a method, URL or header name".into(),
        )
    })
}
