//! Values of Ruby's options and settings, as Rust takes them.

use std::collections::HashMap;
use std::time::Duration;

use magnus::value::{IntoId, Qfalse, Qtrue, ReprValue};
use magnus::{Error, Integer, RHash, RString, Ruby, StaticSymbol, TryConvert, Value};

/// Seconds → a duration; Ruby has checked that they are not negative.
pub fn seconds(ruby: &Ruby, name: &str, seconds: f64) -> Result<Duration, Error> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| invalid(ruby, format!("{name}: {seconds} s is too long")))
}

/// A value of an option.
pub trait OptionValue: TryConvert {
    const WHAT: &str;

    /// Whether Ruby may convert this value. Its conversion to an Integer would cut off a fraction.
    fn may_be(_: Value) -> bool {
        true
    }
}

macro_rules! option_values {
    ($($kind:ty: $what:literal,)*) => {
        $(impl OptionValue for $kind { const WHAT: &str = $what; })*
    };
}

/// Only true and false themselves, because Ruby would convert anything but nil and false to true.
impl OptionValue for bool {
    const WHAT: &str = "true or false";

    fn may_be(value: Value) -> bool {
        Qtrue::from_value(value).is_some() || Qfalse::from_value(value).is_some()
    }
}

option_values! {
    f64: "a number",
    String: "a String in UTF-8",
    RHash: "a Hash",
    Vec<String>: "an Array of Strings in UTF-8",
    Vec<u16>: "an Array of Integers from 0 to 65535",
    HashMap<String, Vec<String>>: "a Hash of Strings, each with a String or an Array of them",
}

macro_rules! wanted_whole {
    ($($kind:ty: $what:literal,)*) => {
        $(impl OptionValue for $kind {
            const WHAT: &str = $what;

            fn may_be(value: Value) -> bool {
                Integer::from_value(value).is_some()
            }
        })*
    };
}

wanted_whole! {
    usize: "an Integer of at least 0",
    u32: "an Integer from 0 to 4294967295",
}

/// The Symbol of this name, found without a Ruby String, which `to_symbol` would make.
fn symbol(ruby: &Ruby, name: &str) -> StaticSymbol {
    name.into_id_with(ruby).into()
}

/// The value under this name; nil and absent are the same.
pub fn given<T: OptionValue>(ruby: &Ruby, options: RHash, name: &str) -> Result<Option<T>, Error> {
    given_in(ruby, options, "", name)
}

/// The value under this name, for an option that belongs to a setting. Messages name the setting first.
pub fn given_in<T: OptionValue>(
    ruby: &Ruby,
    options: RHash,
    setting: &str,
    name: &str,
) -> Result<Option<T>, Error> {
    let Some(value) = options.lookup::<_, Option<Value>>(symbol(ruby, name))? else {
        return Ok(None);
    };
    if T::may_be(value) {
        if let Ok(converted) = T::try_convert(value) {
            return Ok(Some(converted));
        }
    }
    // A number is shown; anything else might be a secret under the wrong name.
    let shown = match Integer::from_value(value) {
        Some(number) => number.to_string(),
        None if T::WHAT.starts_with("a String") && RString::from_value(value).is_some() => {
            "a String with bytes that are not UTF-8".to_owned()
        }
        None => format!("of class {}", value.class()),
    };
    Err(invalid(
        ruby,
        format!("{setting}{name} is {shown}: give {}", T::WHAT),
    ))
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
