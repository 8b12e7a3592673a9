//! Ruby's settings of a client → the engine's.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use hecaton::{
    Addresses, AllowAddress, Config, Cookies, InvalidRequest, Kind, Method, Networks, Pem,
    Protocol, Proxy, Retry, TlsVersion, ZonedAddress, for_each_setting,
};
use magnus::{Error, RHash, Ruby};

use crate::values::{self, given, given_in};

/// The engine's defaults, replaced by the given options; nil and absent are the same.
pub fn config(ruby: &Ruby, options: RHash) -> Result<Config, Error> {
    if given::<f64>(ruby, options, "timeout")?.is_none() {
        return Err(values::invalid(ruby, "timeout is missing".into()));
    }
    let mut config = Config::new(Duration::ZERO);
    macro_rules! set {
        ($($name:ident)+) => {
            $(config.$name.set(ruby, options, stringify!($name))?;)+
        };
    }
    for_each_setting!(set);
    Ok(config)
}

/// A setting that is read from Ruby's options; it stays as it is if it was not given.
trait Set {
    fn set(&mut self, ruby: &Ruby, options: RHash, name: &str) -> Result<(), Error>;
}

/// Settings that magnus converts.
macro_rules! plain {
    ($($type:ty)+) => {
        $(impl Set for $type {
            fn set(&mut self, ruby: &Ruby, options: RHash, name: &str) -> Result<(), Error> {
                if let Some(given) = given(ruby, options, name)? {
                    *self = given;
                }
                Ok(())
            }
        }
        impl Set for Option<$type> {
            fn set(&mut self, ruby: &Ruby, options: RHash, name: &str) -> Result<(), Error> {
                *self = given(ruby, options, name)?;
                Ok(())
            }
        })+
    };
}

plain! { bool u32 usize String Vec<String> }

/// Settings that are made from what magnus converts.
macro_rules! made {
    ($($type:ty: |$ruby:ident, $name:ident, $given:ident: $from:ty| $make:expr;)+) => {
        $(impl Set for $type {
            fn set(&mut self, $ruby: &Ruby, options: RHash, $name: &str) -> Result<(), Error> {
                if let Some($given) = given::<$from>($ruby, options, $name)? {
                    *self = $make;
                }
                Ok(())
            }
        })+
    };
}

made! {
    Duration: |ruby, name, given: f64| values::seconds(ruby, name, given)?;
    Option<Duration>: |ruby, name, given: f64| Some(values::seconds(ruby, name, given)?);
    Option<PathBuf>: |ruby, name, given: String| Some(given.into());
    Option<Pem>: |ruby, name, given: String| Some(given.into());
    Option<Retry>: |ruby, name, given: RHash| Some(retry(ruby, given)?);
    Option<ZonedAddress>: |ruby, name, given: String| Some(given.parse().map_err(|()| {
        let why = format!("{name}: {given:?} is not an IP address, such as \"192.0.2.7\" or \"fe80::1%eth0\"");
        values::invalid(ruby, why)
    })?);
    Proxy: |ruby, name, given: String| match given.is_empty() {
        true => Proxy::Off,
        false => Proxy::Url(given),
    };
    Addresses: |ruby, name, given: HashMap<String, Vec<String>>| addresses(&given).map_err(|error| values::invalid(ruby, error.to_string()))?;
    AllowAddress: |ruby, name, given: HashMap<String, Vec<String>>| allow_address(&given).map_err(|error| values::invalid(ruby, error.to_string()))?;
    TlsVersion: |ruby, name, given: String| match given.as_str() {
        "1.2" => TlsVersion::Tls12,
        "1.3" => TlsVersion::Tls13,
        _ => return Err(unknown(ruby, name, &given, "\"1.2\" or \"1.3\"")),
    };
    Protocol: |ruby, name, given: String| match given.as_str() {
        "1.1" => Protocol::Http1,
        "2" => Protocol::Http2,
        "3" => Protocol::Http3,
        "auto" => Protocol::Any,
        _ => return Err(unknown(ruby, name, &given, "\"1.1\", \"2\", \"3\", :auto or nil")),
    };
}

/// The jar is set for each process (`cookies`).
impl Set for Option<Cookies> {
    fn set(&mut self, _: &Ruby, _: RHash, _: &str) -> Result<(), Error> {
        Ok(())
    }
}

fn unknown(ruby: &Ruby, name: &str, given: &str, known: &str) -> Error {
    values::invalid(ruby, format!("{name}: {given:?} is unknown: use {known}"))
}

fn addresses(known: &HashMap<String, Vec<String>>) -> Result<Addresses, InvalidRequest> {
    let mut addresses = Addresses::default();
    for (name, of) in known {
        let of: Vec<_> = of.iter().map(String::as_str).collect();
        addresses.add(name, &of)?;
    }
    Ok(addresses)
}

/// The networks under `allow` and `deny`, each of which may be missing.
fn allow_address(rule: &HashMap<String, Vec<String>>) -> Result<AllowAddress, InvalidRequest> {
    let list = |name: &str| {
        let list = rule.get(name)?;
        Some(list.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (allow, deny) = (list("allow"), list("deny").unwrap_or_default());
    if allow.as_deref() == Some(&["public"]) && deny.is_empty() {
        return Ok(AllowAddress::Public);
    }
    Ok(AllowAddress::Networks(Networks::new(
        allow.as_deref(),
        &deny,
    )?))
}

/// Retries: the engine's defaults, replaced by the given options.
pub fn retry(ruby: &Ruby, options: RHash) -> Result<Retry, Error> {
    let mut retry = Retry::default();
    if let Some(max) = given_in(ruby, options, "retry: ", "max")? {
        retry.max = max;
    }
    if let Some(methods) = given_in::<Vec<String>>(ruby, options, "retry: ", "methods")? {
        let parse = |name: String| Method::from_bytes(name.as_bytes());
        let methods: Result<Vec<_>, _> = methods.into_iter().map(parse).collect();
        retry.methods = methods
            .map_err(|_| values::invalid(ruby, "retry: methods are words such as GET".into()))?;
    }
    if let Some(names) = given_in::<Vec<String>>(ruby, options, "retry: ", "on")? {
        retry.on = names
            .iter()
            .map(|name| kind(ruby, name))
            .collect::<Result<_, _>>()?;
    }
    if let Some(statuses) = given_in(ruby, options, "retry: ", "statuses")? {
        retry.statuses = statuses;
    }
    if let Some(interval) = given_in::<f64>(ruby, options, "retry: ", "interval")? {
        retry.interval = values::seconds(ruby, "retry: interval", interval)?;
    }
    if let Some(backoff) = given_in(ruby, options, "retry: ", "backoff")? {
        retry.backoff = backoff;
    }
    if let Some(jitter) = given_in(ruby, options, "retry: ", "jitter")? {
        retry.jitter = jitter;
    }
    Ok(retry)
}

fn kind(ruby: &Ruby, name: &str) -> Result<Kind, Error> {
    match name {
        "resolve" => Ok(Kind::Resolve),
        "connect" => Ok(Kind::Connect),
        "tls" => Ok(Kind::Tls),
        "timeout" => Ok(Kind::Timeout),
        "protocol" => Ok(Kind::Protocol),
        "body" => Ok(Kind::Body),
        _ => {
            let names = "resolve, connect, tls, timeout, protocol and body";
            Err(values::invalid(
                ruby,
                format!("retry: on {name:?} is unknown: there are {names}"),
            ))
        }
    }
}
