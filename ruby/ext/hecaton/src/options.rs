//! Reads the options of a request as a program gives them, as far as that needs no code of Ruby's.
//!
//! Most requests have no others than these, and such a request takes no steps of Ruby's. `RequestBuilder` reads all
//! others, and says what is wrong with an option.

use hecaton::{Config, Request};
use magnus::r_hash::ForEach;
use magnus::value::{Qfalse, Qtrue, ReprValue};
use magnus::{Integer, RArray, RFloat, RHash, RString, Ruby, StaticSymbol, Symbol, Value};

use crate::values::{seconds, text};

/// The request with these options; none if Ruby must read them.
pub fn given(ruby: &Ruby, request: Request, options: RHash) -> Option<Request> {
    let mut given = Some(request);
    each(options, |name, value| {
        given = given
            .take()
            .and_then(|request| option(ruby, request, name, value));
        given.is_some()
    });
    given?.checked().ok()
}

fn option(ruby: &Ruby, request: Request, name: Value, value: Value) -> Option<Request> {
    let name = StaticSymbol::from_value(name)?.name().ok()?;
    match name {
        "headers" => headers(ruby, request, value),
        "body" => match RString::from_value(value) {
            Some(bytes) => Some(request.body(bytes.to_bytes())),
            None => value.is_nil().then_some(request),
        },
        "timeout" if value.is_nil() => Some(request),
        "timeout" => {
            let seconds = match RFloat::from_value(value) {
                Some(seconds) => seconds.to_f64(),
                None => Integer::from_value(value)?.to_u32().ok()?.into(),
            };
            Some(request.timeout(self::seconds(ruby, name, seconds).ok()?))
        }
        "redirects" if value.is_nil() => Some(request),
        "redirects" => Some(request.redirects(match truth(value) {
            Some(true) => Config::REDIRECTS,
            Some(false) => 0,
            None => Integer::from_value(value)?.to_u32().ok()?,
        })),
        "raise_for_status" => (value.is_nil() || truth(value).is_some()).then_some(request),
        _ => None,
    }
}

/// A Hash of names and values, or an Array of pairs.
fn headers(ruby: &Ruby, request: Request, headers: Value) -> Option<Request> {
    let mut given = Some(request);
    if let Some(headers) = RHash::from_value(headers) {
        each(headers, |name, value| {
            given = given
                .take()
                .and_then(|request| header(ruby, request, name, value));
            given.is_some()
        });
    } else if let Some(headers) = RArray::from_value(headers) {
        for pair in headers {
            let pair = RArray::from_value(pair).filter(|pair| pair.len() == 2)?;
            let (name, value) = (pair.entry(0).ok()?, pair.entry(1).ok()?);
            given = header(ruby, given?, name, value);
        }
    } else if !headers.is_nil() {
        return None;
    }
    given
}

/// A header that is text, or nil for none.
fn header(ruby: &Ruby, request: Request, name: Value, value: Value) -> Option<Request> {
    let name = match RString::from_value(name) {
        Some(name) => text(ruby, name).ok()?,
        None => title(&Symbol::from_value(name)?.name().ok()?),
    };
    match RString::from_value(value) {
        Some(value) => request.header(&name, &value.to_bytes()).ok(),
        None if value.is_nil() => request.without(&name).ok(),
        None => None,
    }
}

/// `Content-Type` for the Symbol `content_type`, as `Headers.title` makes it.
fn title(symbol: &str) -> String {
    let mut begins = true;
    let in_title_case = symbol.chars().map(|letter| {
        let letter = if letter == '_' { '-' } else { letter };
        match std::mem::replace(&mut begins, letter == '-') {
            true => letter.to_ascii_uppercase(),
            false => letter.to_ascii_lowercase(),
        }
    });
    in_title_case.collect()
}

fn truth(value: Value) -> Option<bool> {
    match Qtrue::from_value(value) {
        Some(_) => Some(true),
        None => Qfalse::from_value(value).map(|_| false),
    }
}

/// Calls a function with each entry until it returns false. Ruby raises nothing here, because no code of it runs.
fn each(hash: RHash, mut visit: impl FnMut(Value, Value) -> bool) {
    let _ = hash.foreach(|name, value| {
        Ok(match visit(name, value) {
            true => ForEach::Continue,
            false => ForEach::Stop,
        })
    });
}
