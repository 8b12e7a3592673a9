//! Ruby's settings of a client → the engine's.

use std::collections::HashMap;

use hecaton::{
    AllowAddress, Config, InvalidRequest, Kind, Method, Networks, Protocol, Proxy, Retry,
    TlsVersion,
};
use magnus::{Error, RHash, Ruby};

use crate::request::{self, given, given_in};

/// The engine's defaults, replaced by the given options; nil and absent are the same.
pub fn config(ruby: &Ruby, options: RHash) -> Result<Config, Error> {
    let timeout = given::<f64>(ruby, options, "timeout")?
        .ok_or_else(|| request::invalid(ruby, "timeout is missing".into()))?;
    let mut config = Config::new(request::seconds(ruby, "timeout", timeout)?);
    if let Some(limit) = given::<f64>(ruby, options, "connect_timeout")? {
        config.connect_timeout = request::seconds(ruby, "connect_timeout", limit)?;
    }
    for (name, limit) in [
        ("queue_timeout", &mut config.queue_timeout),
        ("resolve_timeout", &mut config.resolve_timeout),
        ("tls_timeout", &mut config.tls_timeout),
        ("send_timeout", &mut config.send_timeout),
        ("first_byte_timeout", &mut config.first_byte_timeout),
        ("read_timeout", &mut config.read_timeout),
        ("max_age", &mut config.max_age),
    ] {
        if let Some(given) = given::<f64>(ruby, options, name)? {
            *limit = Some(request::seconds(ruby, name, given)?);
        }
    }
    for (name, limit) in [
        ("idle_timeout", &mut config.idle_timeout),
        ("expect_timeout", &mut config.expect_timeout),
    ] {
        if let Some(given) = given::<f64>(ruby, options, name)? {
            *limit = request::seconds(ruby, name, given)?;
        }
    }
    if let Some(options) = given::<RHash>(ruby, options, "retry")? {
        config.retry = Some(retry(ruby, options)?);
    }
    if let Some(reconnect) = given(ruby, options, "reconnect")? {
        config.reconnect = reconnect;
    }
    if let Some(most) = given(ruby, options, "redirects")? {
        config.redirects = most;
    }
    if let Some(allowed) = given(ruby, options, "redirects_to_http")? {
        config.redirects_to_http = allowed;
    }
    config.redirect_hosts = given(ruby, options, "redirect_hosts")?;
    config.per_origin = given(ruby, options, "per_origin")?;
    config.max_connections = given(ruby, options, "max_connections")?;
    config.max_queue = given(ruby, options, "max_queue")?;
    config.max_idle = given(ruby, options, "max_idle")?;
    for (name, most) in [
        ("max_body", &mut config.max_body),
        ("max_header_fields", &mut config.max_header_fields),
        ("max_header_bytes", &mut config.max_header_bytes),
    ] {
        if let Some(given) = given(ruby, options, name)? {
            *most = given;
        }
    }
    config.max_buffered = given(ruby, options, "max_buffered")?;
    if let Some(lenient) = given(ruby, options, "lenient")? {
        config.lenient = lenient;
    }
    if let Some(decode) = given(ruby, options, "decode")? {
        config.decode = decode;
    }
    if let Some(concurrency) = given(ruby, options, "concurrency")? {
        config.concurrency = concurrency;
    }
    let known = given::<HashMap<String, Vec<String>>>(ruby, options, "resolve")?;
    for (place, addresses) in known.unwrap_or_default() {
        let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
        let added = config.resolve.add(&place, &addresses);
        added.map_err(|error| request::invalid(ruby, error.to_string()))?;
    }
    if let Some(rule) = given(ruby, options, "allow_address")? {
        let rule = allow_address(&rule);
        config.allow_address = rule.map_err(|error| request::invalid(ruby, error.to_string()))?;
    }
    config.unix_socket = given::<String>(ruby, options, "unix_socket")?.map(Into::into);
    if let Some(address) = given::<String>(ruby, options, "local_address")? {
        let parsed = address.parse().map_err(|_| {
            let why = format!("local_address: {address:?} is not an IP address, such as \"192.0.2.7\" or \"fe80::1%eth0\"");
            request::invalid(ruby, why)
        });
        config.local_address = Some(parsed?);
    }
    config.proxy = match given::<String>(ruby, options, "proxy")? {
        None => Proxy::Environment,
        Some(url) if url.is_empty() => Proxy::Off,
        Some(url) => Proxy::Url(url),
    };
    config.no_proxy = given(ruby, options, "no_proxy")?;
    set_tls(ruby, options, &mut config)?;
    if let Some(user_agent) = given(ruby, options, "user_agent")? {
        config.user_agent = user_agent;
    }
    Ok(config)
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

fn set_tls(ruby: &Ruby, options: RHash, config: &mut Config) -> Result<(), Error> {
    for (name, pem) in [
        ("ca", &mut config.ca),
        ("crl", &mut config.crl),
        ("client_cert", &mut config.client_cert),
        ("client_key", &mut config.client_key),
    ] {
        *pem = given::<String>(ruby, options, name)?.map(Into::into);
    }
    if let Some(version) = given::<String>(ruby, options, "tls_min")? {
        config.tls_min = match version.as_str() {
            "1.2" => TlsVersion::Tls12,
            "1.3" => TlsVersion::Tls13,
            _ => {
                let why = format!("tls_min: {version:?} is unknown: use \"1.2\" or \"1.3\"");
                return Err(request::invalid(ruby, why));
            }
        };
    }
    if let Some(version) = given::<String>(ruby, options, "http")? {
        config.http = match version.as_str() {
            "1.1" => Protocol::Http1,
            "2" => Protocol::Http2,
            _ => {
                let why = format!("http: {version:?} is unknown: use \"1.1\", \"2\" or nil");
                return Err(request::invalid(ruby, why));
            }
        };
    }
    if let Some(pins) = given(ruby, options, "pins")? {
        config.pins = pins;
    }
    if let Some(verify) = given(ruby, options, "verify")? {
        config.verify = verify;
    }
    if let Some(verify) = given(ruby, options, "verify_hostname")? {
        config.verify_hostname = verify;
    }
    Ok(())
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
            .map_err(|_| request::invalid(ruby, "retry: methods are words such as GET".into()))?;
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
        retry.interval = request::seconds(ruby, "retry: interval", interval)?;
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
            Err(request::invalid(
                ruby,
                format!("retry: on {name:?} is unknown: there are {names}"),
            ))
        }
    }
}
