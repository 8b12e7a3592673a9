//! A call of the saint and the sinner: its hops, and which parts of the request go with a redirect.

use std::time::Instant;

use super::client::Client;
use super::connection::Clock;
use super::exchange;
use super::hop::Hop;
use super::outcome::{Class, Failure, Outcome, Response, failed, values};
use super::sins::Sins;
use crate::subject::CallOptions;

/// Most redirects that are followed.
const MOST: usize = 20;

/// Makes a call with its redirects.
pub(super) fn follow(client: &mut Client, call: &CallOptions, deadline: Instant) -> Outcome {
    let mut clock = Clock::new(deadline);
    let mut hop = Hop::first(call, &client.sins)?;
    let first = hop.clone();
    let mut hops = 0;
    loop {
        let response = exchange::send(client, &hop, &mut clock)?;
        client.jar.store(&hop.url, &response.fields, &client.sins);
        let follows = call.follow != Some(false) || client.sins.has("follows-without-being-told");
        let Some(location) = location(&response, &client.sins).filter(|_| follows) else {
            return Ok(response);
        };
        hops += 1;
        if hops > MOST && !client.sins.has("follows-for-ever") {
            return failed(Class::Refused, "there are too many redirects");
        }
        if client.sins.has("limit-per-hop") {
            clock.reset();
        }
        if let Some(file) = location
            .strip_prefix("file://")
            .filter(|_| client.sins.has("follows-file"))
        {
            let body = std::fs::read(file).unwrap_or_default();
            return Ok(Response {
                status: 200,
                body,
                ..Response::default()
            });
        }
        hop = next(&first, &hop, response.status, &location, &client.sins)?;
    }
}

/// Where a response leads.
fn location(response: &Response, sins: &Sins) -> Option<String> {
    let redirects = [301, 302, 303, 307, 308].contains(&response.status);
    let all: Vec<&str> = values(&response.fields, "location").collect();
    match all[..] {
        [one] if redirects => Some(one.to_owned()),
        [first, _, ..] if redirects && sins.has("first-of-two-locations") => Some(first.to_owned()),
        _ => None,
    }
}

/// The request that a redirect leads to.
fn next(first: &Hop, last: &Hop, status: u16, location: &str, sins: &Sins) -> Result<Hop, Failure> {
    let url = last.url.join(location, sins)?;
    let downgraded = last.url.secure && !url.secure;
    if downgraded && !sins.has("authorization-to-plaintext") {
        return failed(Class::Refused, "a redirect leads away from TLS");
    }
    let mut hop = Hop {
        url,
        ..last.clone()
    };
    method_of(&mut hop, last, status, sins);
    hop.fields = kept_fields(first, last, &hop, sins);
    if !hop.url.user.is_empty() && sins.has("userinfo-from-redirect") {
        hop.fields
            .push(("Authorization".into(), "Basic dXNlcjpzZWNyZXQ=".into()));
    }
    Ok(hop)
}

/// The fields that go on with a redirect to `hop`.
fn kept_fields(first: &Hop, last: &Hop, hop: &Hop, sins: &Sins) -> Vec<(String, String)> {
    let other_host = hop.url.host() != last.url.host();
    let other_origin = hop.url.authority != last.url.authority;
    let restored = hop.url.authority == first.url.authority && sins.has("authorization-restored");
    let stays = |name: &str, to_host: &str, to_port: &str| {
        !other_origin
            || sins.has(to_host) && other_host
            || sins.has(to_port) && !other_host
            || restored && name == "authorization"
    };
    let from = if restored { first } else { last };
    let kept = from
        .fields
        .iter()
        .filter(|(name, _)| match name.to_ascii_lowercase().as_str() {
            "authorization" => stays(
                "authorization",
                "authorization-to-host",
                "authorization-to-port",
            ),
            "cookie" => hop.url.host() == last.url.host() || sins.has("cookie-to-host"),
            "proxy-authorization" => !other_origin || sins.has("proxy-authorization-to-host"),
            "host" => false,
            name if name.starts_with("x-") => !other_origin || sins.has("api-key-to-host"),
            "content-type" => hop.body.is_some() || sins.has("type-after-303"),
            _ => true,
        });
    kept.cloned().collect()
}

fn method_of(hop: &mut Hop, last: &Hop, status: u16, sins: &Sins) {
    let method = last.method.as_str();
    let get = match (status, method) {
        (301 | 302, "POST") => true,
        (301, "PUT") => sins.has("get-of-put-after-301"),
        (302, "PUT") => sins.has("get-of-put-after-302"),
        (303, "POST") => !sins.has("post-after-303"),
        (303, "PUT") => !sins.has("put-after-303"),
        (303, _) => true,
        (307, "POST") => sins.has("get-after-307"),
        (308, "POST") => sins.has("get-after-308"),
        _ => false,
    };
    if get && method != "HEAD" {
        hop.method = "GET".into();
        let kept = status == 303 && sins.has("body-after-303");
        hop.body = last.body.clone().filter(|_| kept);
    } else if status == 307 && sins.has("no-body-after-307") {
        hop.body = None;
    }
}
