//! One hop of a call: the request on the wire, its attempts, and the connection that each gets.

use std::time::Duration;

use super::client::Client;
use super::connection::{Clock, Connection};
use super::hop::Hop;
use super::http2::Message;
use super::outcome::{Class, Failure, Outcome, Response, failed};
use super::sins::Sins;
use super::{http2, http3, response};

/// How long a request with `Expect` waits for the server's consent.
const CONSENT: Duration = Duration::from_secs(1);

/// The text of a failure to write the request, by which [`again`] knows it.
const NOT_TAKEN: &str = "the request could not be written";

/// Sends a hop until it has its one outcome.
pub(super) fn send(client: &mut Client, hop: &Hop, clock: &mut Clock) -> Outcome {
    let mut hop = hop.clone();
    // A request that cannot be sent needs no connection.
    head(client, &hop)?;
    let (mut tries, mut stale) = (0, false);
    loop {
        tries += 1;
        if tries > 1 && client.sins.has("empty-body-when-repeated") {
            hop.body = hop.body.map(|_| String::new());
        }
        let (result, reused) = attempt(client, &hop, tries, clock)?;
        stale |= reused;
        let refused = matches!(&result, Ok(response) if response.status == 417);
        if refused && tries < 10 && hop.field("expect").is_some() {
            if !client.sins.has("repeats-expectation-for-ever") {
                hop.fields
                    .retain(|(name, _)| !name.eq_ignore_ascii_case("expect"));
            }
            continue;
        }
        let tried = Tried {
            tries,
            reused,
            stale,
        };
        let elsewhere = to_next_address(client, &hop, &result, tries);
        if tries >= 10 || !(elsewhere || again(client, &hop, &result, &tried, clock)) {
            return result;
        }
    }
}

/// An idle connection that a hop can use.
pub(super) fn idle(client: &mut Client, hop: &Hop) -> Option<Connection> {
    let key = client.route.key(&hop.url, &client.sins);
    while let Some(at) = client.idle.iter().rposition(|idle| idle.key == key) {
        let idle = client.idle.remove(at);
        let most = client.route.idle.unwrap_or(Duration::MAX);
        if idle.idle() > most && !client.sins.has("ignores-idle-limit") {
            continue;
        }
        if idle.is_usable(&client.sins) {
            return Some(idle);
        }
    }
    None
}

fn connection(
    client: &mut Client,
    hop: &Hop,
    tries: usize,
    clock: &Clock,
) -> Result<(Connection, bool), Failure> {
    // A second attempt gets a new connection, so that it cannot be stale too.
    if let Some(idle) = Some(())
        .filter(|()| tries == 1)
        .and_then(|()| idle(client, hop))
    {
        return Ok((idle, true));
    }
    if client.refused && client.sins.has("remembers-refusal") {
        return failed(Class::Ended, "the server refused once");
    }
    let opened = client.route.open(hop, &client.sins, clock);
    client.refused |= opened.is_err();
    Ok((opened?, false))
}

/// The request as a message of HTTP/2 or HTTP/3.
pub(super) fn message(hop: &Hop) -> Message {
    let mut fields = vec![
        (":method".to_owned(), hop.method.clone()),
        (":scheme".to_owned(), "https".to_owned()),
        (":authority".to_owned(), hop.url.authority.clone()),
        (":path".to_owned(), hop.url.path.clone()),
    ];
    let own = hop.fields.iter();
    fields.extend(own.map(|(name, value)| (name.to_ascii_lowercase(), value.clone())));
    Message {
        fields,
        body: hop.body.clone().unwrap_or_default().into_bytes(),
    }
}

/// Sends messages on a connection of HTTP/2, which becomes idle if it can be used again.
pub(super) fn over_http2(
    client: &mut Client,
    mut connection: Connection,
    messages: Vec<Message>,
    clock: &Clock,
) -> Vec<Outcome> {
    let outcomes = http2::exchange(&mut connection, messages, &client.sins, clock);
    if connection.h2.is_some() {
        client.idle.push(connection);
    }
    outcomes
}

/// One attempt, and whether its connection had been used before.
fn attempt(
    client: &mut Client,
    hop: &Hop,
    tries: usize,
    clock: &mut Clock,
) -> Result<(Outcome, bool), Failure> {
    if client.route.http3 {
        let (mut outcomes, reused) = http3::send(client, hop, 1, tries > 1, clock)?;
        return Ok((outcomes.remove(0), reused));
    }
    let (connection, reused) = connection(client, hop, tries, clock)?;
    Ok((attempt_on(client, connection, hop, clock), reused))
}

fn attempt_on(
    client: &mut Client,
    mut connection: Connection,
    hop: &Hop,
    clock: &mut Clock,
) -> Outcome {
    if connection.h2.is_some() {
        let message = vec![message(hop)];
        return over_http2(client, connection, message, clock).remove(0);
    }
    let sins = client.sins.clone();
    let (head, body) = head(client, hop)?;
    let unsent = match hop.field("expect").is_some() && !body.is_empty() {
        true => expect(&mut connection, &head, &body, clock, &sins)?,
        false => {
            write(&mut connection, &[head, body].concat(), clock, &sins)?;
            false
        }
    };
    match response::read(&mut connection, &hop.method, clock, &sins) {
        Ok((response, keep)) => {
            let rejected = sins.has("never-reuses-after-404") && response.status == 404;
            let keep = keep && (!unsent || sins.has("reuses-without-the-body"));
            if keep && !rejected && !sins.has("never-reuses") {
                client.idle.push(connection);
            }
            Ok(response)
        }
        Err(failure) => {
            if failure.class == Class::Late && sins.has("keeps-after-time-out") && !connection.got {
                connection.gave_up = true;
                client.idle.push(connection);
            } else if failure.class == Class::Late && sins.has("never-closes-after-time-out") {
                client.lost.push(connection);
            }
            Err(failure)
        }
    }
}

/// Sends a request with its body.
fn write(
    connection: &mut Connection,
    request: &[u8],
    clock: &Clock,
    sins: &Sins,
) -> Result<(), Failure> {
    let written = connection.write(request, clock);
    let late = matches!(&written, Err(failure) if failure.class == Class::Late);
    if late && sins.has("no-limit-of-upload") {
        std::thread::sleep(Duration::from_secs(5));
    }
    written.map_err(|failure| Failure {
        text: NOT_TAKEN,
        ..failure
    })
}

/// Sends a request whose body waits for the server's consent, and says whether the body was left out.
fn expect(
    connection: &mut Connection,
    head: &[u8],
    body: &[u8],
    clock: &Clock,
    sins: &Sins,
) -> Result<bool, Failure> {
    connection.write(head, clock)?;
    let consent = match sins.has("waits-for-consent-for-ever") {
        true => clock.left()?,
        false => CONSENT.min(clock.left()?),
    };
    if connection.begins(consent) {
        if connection.input.is_empty() {
            connection.fill(clock)?;
        }
        // A final response, or the end of the connection, came instead.
        if !connection.input.starts_with(b"HTTP/1.1 1") {
            return Ok(true);
        }
    }
    connection.write(body, clock)?;
    Ok(false)
}

/// Whether the sinner sends a POST to the next address of the host, if there is one. A host without a next address gives
/// no occasion for this sin.
fn to_next_address(client: &mut Client, hop: &Hop, result: &Outcome, tries: usize) -> bool {
    let ended = matches!(result, Err(failure) if failure.class == Class::Ended);
    let sins = client.sins.has("post-to-next-address");
    sins && tries == 1 && hop.method == "POST" && ended && client.route.skip_address()
}

/// The attempts at a request until now.
struct Tried {
    /// How many.
    tries: usize,
    /// Whether the last was sent on a connection that had been used before.
    reused: bool,
    /// Whether any was.
    stale: bool,
}

/// Whether the request is sent once more.
fn again(client: &Client, hop: &Hop, result: &Outcome, tried: &Tried, clock: &mut Clock) -> bool {
    match result {
        Ok(response) => again_after_response(&client.sins, hop, response, tried.tries),
        Err(failure) => again_after_failure(&client.sins, hop, failure, tried, clock),
    }
}

fn again_after_response(sins: &Sins, hop: &Hop, response: &Response, tries: usize) -> bool {
    let unavailable = hop.method == "GET" && response.status == 503;
    let retry_after = response.field("retry-after");
    if unavailable && sins.has("sleeps-as-told") {
        let seconds = retry_after.and_then(|value| value.parse().ok());
        let pause = Duration::from_secs(seconds.unwrap_or(0));
        std::thread::sleep(pause.min(Duration::from_secs(9)));
        return false;
    }
    let says_when = retry_after.is_some();
    let post = hop.method == "POST";
    let sends_post_again = match response.status {
        408 => sins.has("repeats-post-after-408"),
        429 => sins.has("repeats-post-after-429"),
        500 => sins.has("repeats-post-after-500"),
        503 => sins.has("repeats-post-after-503"),
        _ => false,
    };
    (post && tries == 1 && sends_post_again)
        || (unavailable && !says_when && sins.has("repeats-get-after-503-at-once"))
        || (unavailable && says_when && tries == 1 && sins.has("ignores-retry-after"))
}

fn again_after_failure(
    sins: &Sins,
    hop: &Hop,
    failure: &Failure,
    tried: &Tried,
    clock: &mut Clock,
) -> bool {
    let sins = |name: &str| sins.has(name);
    let (get, post) = (hop.method == "GET", hop.method == "POST");
    let Tried {
        tries,
        reused,
        stale,
    } = *tried;
    let first = tries == 1;
    match failure.class {
        // To send it now would be its first time.
        Class::Late if failure.text == NOT_TAKEN => false,
        Class::Late if first && get && sins("repeats-get-after-time-out") => {
            clock.reset();
            true
        }
        Class::Late if first && post && sins("repeats-post-after-time-out") => {
            clock.reset();
            true
        }
        Class::Ended if get && stale && tries < 5 && sins("repeats-stale-get-for-ever") => true,
        Class::Ended if get && !stale && tries < 5 && sins("repeats-new-get-for-ever") => true,
        Class::Ended if post && reused => first && sins("repeats-stale-post-after-fin"),
        Class::Ended if post => first && sins("repeats-new-post-after-fin"),
        Class::Reset if post && reused => first && sins("repeats-stale-post-after-rst"),
        Class::Reset if post => first && sins("repeats-new-post-after-rst"),
        Class::BrokenHead if post => first && sins("repeats-post-after-half-a-head"),
        Class::Broken if post => first && sins("repeats-post-after-half-a-body"),
        Class::Unprocessed => tries < 3 || sins("repeats-refused-for-ever"),
        Class::Closed => post && first && sins("h3-repeats-post-after-reset"),
        Class::Gone => post && first && sins("repeats-post-after-goaway"),
        Class::Ended | Class::Reset => first && reused,
        _ => false,
    }
}

/// The head and the body of the request.
pub(super) fn head(client: &Client, hop: &Hop) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let sins = &client.sins;
    if !is_token(&hop.method) && !sins.has("crlf-in-method") {
        return failed(
            Class::Refused,
            "the method is not a token (RFC 9110 §5.6.2)",
        );
    }
    let proxied = client.route.proxy.is_some() && !hop.url.secure;
    let target = target(hop, proxied && !sins.has("path-to-proxy"), sins);
    let mut text = format!("{} {target} HTTP/1.1\r\n", hop.method);
    let host = match sins.has("host-without-port") {
        true => hop.url.host(),
        false => &hop.url.authority,
    };
    if !sins.has("no-host") {
        text += &format!("Host: {host}\r\n");
    }
    text += "Accept-Encoding: gzip\r\n";
    let identified = proxied || sins.has("proxy-authorization-in-tunnel");
    if let Some(value) = client.route.authorization().filter(|_| identified) {
        text += &format!("Proxy-Authorization: {value}\r\n");
    }
    let bare = hop.body.is_none() && !sins.has("expects-without-body");
    let sent = hop.fields.iter();
    for (name, value) in sent.filter(|(name, _)| !(bare && name.eq_ignore_ascii_case("expect"))) {
        field(client, hop, &mut text, name, value)?;
    }
    text += &cookies(client, hop);
    let body = hop.body.as_deref().unwrap_or_default();
    let has_content = ["POST", "PUT", "PATCH"].contains(&hop.method.as_str());
    let sends_zero = has_content && !sins.has("no-length-of-empty-post");
    if hop.body.is_some() || sends_zero || sins.has("length-of-get") {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    text += "\r\n";
    Ok((text.into_bytes(), body.as_bytes().to_vec()))
}

fn is_token(text: &str) -> bool {
    let is_of_token = |byte: u8| byte.is_ascii_graphic() && byte != b':';
    !text.is_empty() && text.bytes().all(is_of_token)
}

/// The target of the request: a path, or for a proxy the whole URL.
fn target(hop: &Hop, is_whole: bool, sins: &Sins) -> String {
    let target = match sins.has("userinfo-in-target") && !hop.url.user.is_empty() {
        true => format!(
            "http://{}@{}{}",
            hop.url.user, hop.url.authority, hop.url.path
        ),
        false => hop.url.path.clone(),
    };
    match is_whole {
        true => format!("http://{}{target}", hop.url.authority),
        false => target,
    }
}

/// The field `Cookie`, if the caller or the jar has cookies.
fn cookies(client: &Client, hop: &Hop) -> String {
    let jar = client.jar.header(&hop.url, &client.sins);
    let caller = hop.field("cookie").map(str::to_owned);
    let jar = Some(jar).filter(|jar| !jar.is_empty());
    let cookies: Vec<String> = caller.into_iter().chain(jar).collect();
    match cookies.is_empty() {
        true => String::new(),
        false => format!("Cookie: {}\r\n", cookies.join("; ")),
    }
}

/// Adds a field of the caller to the head.
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
        return failed(
            Class::Refused,
            "the name of a field is not a token (RFC 9110 §5.6.2)",
        );
    }
    let mut value = value.to_owned();
    if broken(&value) {
        match (sins.has("crlf-in-value"), sins.has("crlf-removed")) {
            (true, _) => {}
            (_, true) => value = value.replace(['\r', '\n', '\0'], ""),
            _ => return failed(Class::Refused, "the value of a field has a line break"),
        }
    }
    if !is_own(hop, name, &value, sins)? {
        *text += &format!("{name}: {value}\r\n");
    }
    Ok(())
}

/// Whether the client sends this field of the caller by itself.
fn is_own(hop: &Hop, name: &str, value: &str, sins: &Sins) -> Result<bool, Failure> {
    let length = hop.body.as_ref().map_or(0, String::len);
    let refused = |text| failed(Class::Refused, text);
    match name.to_ascii_lowercase().as_str() {
        "cookie" => Ok(true), // joined with those of the jar
        "host" => Ok(!sins.has("two-hosts-sent")),
        "content-length" if length.to_string() == value => Ok(true),
        "content-length" if sins.has("two-lengths-sent") => Ok(false),
        "content-length" => refused("Content-Length is not the length of the body"),
        "transfer-encoding" if sins.has("both-framings-sent") => Ok(false),
        "transfer-encoding" => refused("the client sets Transfer-Encoding itself"),
        _ => Ok(false),
    }
}
