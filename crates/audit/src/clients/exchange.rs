//! One hop of a call: the request on the wire, its attempts, and the connection that each gets.

use std::time::Duration;

use super::connection::{Clock, Connection};
use super::redirects::{Hop, Url};
use super::{Class, Client, Failure, Response, failed, response};

/// Sends a hop until it has its one outcome.
pub(super) fn send(client: &mut Client, hop: &Hop, clock: &mut Clock) -> Result<Response, Failure> {
    let head = head(client, hop)?;
    let (mut tries, mut stale) = (0, false);
    loop {
        tries += 1;
        let (connection, reused) = connection(client, &hop.url, tries, clock)?;
        stale |= reused;
        let result = attempt(client, connection, &head, hop, clock);
        if tries >= 10 || !again(client, hop, &result, (reused, stale), tries, clock) {
            return result;
        }
    }
}

fn connection(
    client: &mut Client,
    url: &Url,
    tries: usize,
    clock: &Clock,
) -> Result<(Connection, bool), Failure> {
    // A second attempt gets a new connection, so that it cannot be stale too.
    while let Some(at) = client
        .idle
        .iter()
        .rposition(|idle| tries == 1 && idle.authority == url.authority)
    {
        let idle = client.idle.remove(at);
        if idle.is_usable(&client.sins) {
            return Ok((idle, true));
        }
    }
    Ok((Connection::open(&url.authority, clock)?, false))
}

fn attempt(
    client: &mut Client,
    mut connection: Connection,
    head: &[u8],
    hop: &Hop,
    clock: &mut Clock,
) -> Result<Response, Failure> {
    connection.write(head, clock)?;
    let sins = client.sins.clone();
    match response::read(&mut connection, &hop.method, clock, &sins) {
        Ok((response, keep)) => {
            let rejected = sins.has("never-reuses-after-404") && response.status == 404;
            if keep && !rejected && !sins.has("never-reuses") {
                client.idle.push(connection);
            }
            Ok(response)
        }
        Err(failure) => {
            if failure.class == Class::Late && sins.has("keeps-after-time-out") {
                connection.gave_up = true;
                client.idle.push(connection);
            }
            Err(failure)
        }
    }
}

/// Whether the request is sent once more.
fn again(
    client: &Client,
    hop: &Hop,
    result: &Result<Response, Failure>,
    (reused, stale): (bool, bool),
    tries: usize,
    clock: &mut Clock,
) -> bool {
    let sins = &client.sins;
    let sins = |name: &str| sins.has(name);
    let (get, post) = (hop.method == "GET", hop.method == "POST");
    match result {
        Ok(response) => {
            let unavailable = get && response.status == 503;
            if unavailable && sins("sleeps-as-told") {
                let told = response
                    .field("retry-after")
                    .and_then(|value| value.parse().ok());
                std::thread::sleep(
                    Duration::from_secs(told.unwrap_or(0)).min(Duration::from_secs(5)),
                );
                return false;
            }
            let told = response.field("retry-after").is_some();
            let post_again = post && tries == 1 && [408, 429, 500, 503].contains(&response.status);
            (post_again && sins(&format!("repeats-post-after-{}", response.status)))
                || (unavailable && !told && sins("repeats-get-after-503-at-once"))
                || (unavailable && told && tries == 1 && sins("ignores-retry-after"))
        }
        Err(failure) => {
            let first = tries == 1;
            let sinned = match failure.class {
                Class::Late if first && get && sins("repeats-get-after-time-out") => {
                    clock.reset();
                    true
                }
                Class::Late if first && post && sins("repeats-post-after-time-out") => {
                    clock.reset();
                    true
                }
                Class::Ended if get && stale && sins("repeats-stale-get-for-ever") => tries < 5,
                Class::Ended if get && !stale && sins("repeats-fresh-get-for-ever") => tries < 5,
                Class::Ended if post && reused => first && sins("repeats-stale-post-after-fin"),
                Class::Ended if post => first && sins("repeats-fresh-post-after-fin"),
                Class::Reset if post && reused => first && sins("repeats-stale-post-after-rst"),
                Class::Reset if post => first && sins("repeats-fresh-post-after-rst"),
                Class::Broken if post && failure.text.contains("head") => {
                    first && sins("repeats-post-after-half-a-head")
                }
                Class::Broken if post => first && sins("repeats-post-after-half-a-body"),
                _ => false,
            };
            let ended = matches!(failure.class, Class::Ended | Class::Reset);
            sinned || (first && reused && ended && !post)
        }
    }
}

/// The bytes of the request.
fn head(client: &Client, hop: &Hop) -> Result<Vec<u8>, Failure> {
    let sins = &client.sins;
    let token = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b':')
    };
    if !token(&hop.method) && !sins.has("crlf-in-method") {
        return failed(Class::Refused, "the method is no token");
    }
    let target = match sins.has("userinfo-in-target") && !hop.url.user.is_empty() {
        true => format!(
            "http://{}@{}{}",
            hop.url.user, hop.url.authority, hop.url.path
        ),
        false => hop.url.path.clone(),
    };
    let mut text = format!("{} {target} HTTP/1.1\r\n", hop.method);
    let host = match sins.has("host-without-port") {
        true => hop.url.host(),
        false => &hop.url.authority,
    };
    if !sins.has("no-host") {
        text += &format!("Host: {host}\r\n");
    }
    text += "Accept-Encoding: gzip\r\n";
    for (name, value) in &hop.fields {
        field(client, hop, &mut text, name, value)?;
    }
    let (jar, caller) = (client.jar.header(&hop.url, sins), hop.field("cookie"));
    let cookies: Vec<String> = caller
        .map(str::to_owned)
        .into_iter()
        .chain(Some(jar).filter(|jar| !jar.is_empty()))
        .collect();
    if !cookies.is_empty() {
        text += &format!("Cookie: {}\r\n", cookies.join("; "));
    }
    let body = hop.body.as_deref().unwrap_or_default();
    let owed = ["POST", "PUT", "PATCH"].contains(&hop.method.as_str());
    let owed = (owed && !sins.has("no-length-of-empty-post")) || sins.has("length-of-get");
    if hop.body.is_some() || owed {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    text += "\r\n";
    Ok([text.as_bytes(), body.as_bytes()].concat())
}

/// A field of the caller.
fn field(
    client: &Client,
    hop: &Hop,
    text: &mut String,
    name: &str,
    value: &str,
) -> Result<(), Failure> {
    let sins = &client.sins;
    let broken = |text: &str| text.contains(['\r', '\n', '\0']);
    if (broken(name) || name.is_empty() || name.contains([' ', ':'])) && !sins.has("crlf-in-name") {
        return failed(Class::Refused, "the name of a field is no token");
    }
    let mut value = value.to_owned();
    if broken(&value) {
        match (sins.has("crlf-in-value"), sins.has("crlf-removed")) {
            (true, _) => {}
            (_, true) => value = value.replace(['\r', '\n', '\0'], ""),
            _ => return failed(Class::Refused, "the value of a field has a line break"),
        }
    }
    let known = match name.to_ascii_lowercase().as_str() {
        "cookie" => true, // joined with those of the jar
        "host" => !sins.has("two-hosts-sent"),
        "content-length" if hop.body.as_ref().map_or(0, String::len).to_string() == value => true,
        "content-length" if sins.has("two-lengths-sent") => false,
        "content-length" => return failed(Class::Refused, "the length is not that of the body"),
        "transfer-encoding" if sins.has("both-framings-sent") => false,
        "transfer-encoding" => return failed(Class::Refused, "the client itself frames bodies"),
        _ => false,
    };
    if !known {
        *text += &format!("{name}: {value}\r\n");
    }
    Ok(())
}
