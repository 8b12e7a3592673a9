//! Reads a response strictly, and leniently where a sin says so.

use super::chunked::chunked;
use super::connection::{Clock, Connection};
use super::content::inflate;
use super::outcome::{Class, Failure, Response, failed, values};
use super::sins::Sins;

/// Most bytes of a head, of a line in a chunked body, and of trailers.
pub(super) const MOST: usize = 256 << 10;
/// Most interim responses.
const MOST_INTERIM: usize = 100;

/// Most bytes of a body.
const MOST_BODY: usize = 4 << 20;
/// Most bytes of the body of a redirect, which nobody reads.
const MOST_OF_REDIRECT: usize = 1 << 20;
/// Most codings of a body.
const MOST_CODINGS: usize = 5;
/// Why a body is refused.
pub(super) const TOO_LARGE: &str = "the body is too large";

pub(super) struct Head {
    minor: u8,
    status: u16,
    pub(super) fields: Vec<(String, String)>,
}

impl Head {
    fn all(&self, name: &str) -> Vec<&str> {
        values(&self.fields, name).collect()
    }

    fn says(&self, word: &str) -> bool {
        self.all("connection")
            .iter()
            .any(|value| value.to_ascii_lowercase().contains(word))
    }
}

/// The response, and whether its connection can be used again.
pub(super) fn read(
    connection: &mut Connection,
    method: &str,
    clock: &mut Clock,
    sins: &Sins,
) -> Result<(Response, bool), Failure> {
    let mut head = final_head(connection, clock, sins)?;
    clock.per_read = sins.has("limit-per-read-of-body");
    let redirects = (300..400).contains(&head.status) && !head.all("location").is_empty();
    connection.most = match redirects && !sins.has("reads-redirect-to-its-end") {
        true => MOST_OF_REDIRECT,
        false if sins.has("body-without-end") => usize::MAX,
        false => MOST_BODY,
    };
    let (body, framed) = match body(connection, &mut head, method, clock, sins) {
        // Nobody needs the body of a redirect, so its connection is given up instead.
        Err(failure) if failure.text == TOO_LARGE && connection.most == MOST_OF_REDIRECT => {
            (Vec::new(), false)
        }
        body => body?,
    };
    let keep = match head.minor {
        0 => head.says("keep-alive") || sins.has("keeps-http10"),
        _ => !head.says("close") || sins.has("keeps-after-close"),
    };
    let body = decoded(&head, body, sins)?;
    let response = Response {
        status: head.status,
        fields: head.fields,
        body,
    };
    Ok((response, keep && framed))
}

/// The head behind all interim responses.
fn final_head(
    connection: &mut Connection,
    clock: &mut Clock,
    sins: &Sins,
) -> Result<Head, Failure> {
    let mut interim = 0;
    clock.per_read = sins.has("limit-per-read-of-head");
    loop {
        let head = head(connection, clock, sins)?;
        let needed = match head.status {
            100 => sins.has("final-100"),
            102 => sins.has("final-102"),
            103 => sins.has("final-103"),
            status => status >= 200 || status == 101,
        };
        if needed {
            return Ok(head);
        }
        interim += 1;
        clock.per_read = false;
        if interim > MOST_INTERIM && !sins.has("interim-without-end") {
            return failed(Class::Invalid, "there are too many interim responses");
        }
        if sins.has("limit-forgets-interim") {
            clock.reset();
        }
    }
}

/// The body without its codings.
fn decoded(head: &Head, mut body: Vec<u8>, sins: &Sins) -> Result<Vec<u8>, Failure> {
    let values = head.all("content-encoding").join(",");
    let codings: Vec<&str> = values.split(',').map(str::trim).collect();
    if codings.len() > MOST_CODINGS && !sins.has("codings-without-end") {
        return failed(Class::Invalid, "the body has too many codings");
    }
    for coding in codings {
        let known = match sins.has("codings-in-small-letters-only") {
            true => coding == "gzip",
            false => coding.eq_ignore_ascii_case("gzip"),
        };
        if known && !body.is_empty() {
            body = inflate(&body, sins)?;
        }
    }
    Ok(body)
}

/// Reads a proxy's response to CONNECT, with its body if it has one, and returns the status.
pub(super) fn of_connect(
    connection: &mut Connection,
    clock: &Clock,
    sins: &Sins,
    obeys_length: bool,
) -> Result<u16, Failure> {
    let head = head(connection, clock, sins)?;
    // A successful response to CONNECT has no body, whatever it says (RFC 9112 §6.3).
    if (200..300).contains(&head.status) && !obeys_length {
        return Ok(head.status);
    }
    let length = head
        .all("content-length")
        .first()
        .map(|length| length.parse::<usize>());
    let length = length.and_then(Result::ok).unwrap_or_default();
    while connection.input.len() < length {
        if connection.fill(clock)? == 0 {
            return failed(Class::Broken, "the connection ended within the body");
        }
    }
    connection.input.drain(..length);
    Ok(head.status)
}

/// Takes the bytes up to `end`, with `end` itself.
pub(super) fn until(
    connection: &mut Connection,
    end: &[u8],
    most: Option<usize>,
    clock: &Clock,
) -> Result<Vec<u8>, Failure> {
    let mut looked: usize = 0;
    loop {
        let from = looked.saturating_sub(end.len());
        if let Some(at) = connection.input[from..]
            .windows(end.len())
            .position(|bytes| bytes == end)
        {
            return Ok(connection.input.drain(..from + at + end.len()).collect());
        }
        looked = connection.input.len();
        if most.is_some_and(|most| looked > most) {
            return failed(Class::Invalid, "a line or a head has no end");
        }
        let before = connection.input.len();
        match connection.fill(clock) {
            Ok(0) if before == 0 => {
                return failed(Class::Ended, "the connection ended before a response");
            }
            Ok(0) => return failed(Class::BrokenHead, "the connection ended within the head"),
            Err(failure) if before > 0 && failure.class == Class::Reset => {
                return failed(
                    Class::BrokenHead,
                    "the connection was reset within the head",
                );
            }
            other => other.map(drop)?,
        }
    }
}

fn head(connection: &mut Connection, clock: &Clock, sins: &Sins) -> Result<Head, Failure> {
    let most = |sin: &str| (!sins.has(sin)).then_some(MOST);
    let line = until(connection, b"\r\n", most("status-line-without-end"), clock);
    let line = match line {
        Err(failure) if failure.class == Class::BrokenHead && sins.has("accepts-http09") => {
            return Ok(Head {
                minor: 0,
                status: 200,
                fields: Vec::new(),
            });
        }
        line => line?,
    };
    let (minor, status) = match (status(&line, sins), sins.has("accepts-http09")) {
        (Err(_), true) if !line.starts_with(b"HTTP/") => {
            connection.input.splice(..0, line);
            return Ok(Head {
                minor: 0,
                status: 200,
                fields: Vec::new(),
            });
        }
        (found, _) => found?,
    };
    let fields = fields(connection, most("head-without-end"), clock, sins)?;
    Ok(Head {
        minor,
        status,
        fields,
    })
}

fn status(line: &[u8], sins: &Sins) -> Result<(u8, u16), Failure> {
    let line = String::from_utf8_lossy(line);
    let mut words = line.trim_end().splitn(3, ' ');
    let minor = match words.next() {
        Some("HTTP/1.1") => 1,
        Some("HTTP/1.0") => 0,
        Some(version) if version.starts_with("HTTP/") && sins.has("accepts-http2-line") => 1,
        _ => return failed(Class::Invalid, "the status line is invalid"),
    };
    let word = words.next().unwrap_or_default();
    let status = match word.parse::<u16>() {
        Ok(status) if word.len() == 3 && status >= 100 => status,
        Ok(_) if sins.has("accepts-bad-status") => 200,
        Err(_) if sins.has("accepts-status-words") => 200,
        _ => return failed(Class::Invalid, "the status is invalid"),
    };
    Ok((minor, status))
}

pub(super) fn fields(
    connection: &mut Connection,
    most: Option<usize>,
    clock: &Clock,
    sins: &Sins,
) -> Result<Vec<(String, String)>, Failure> {
    let (mut fields, mut read): (Vec<(String, String)>, usize) = (Vec::new(), 0);
    loop {
        let line =
            until(connection, b"\r\n", most, clock).map_err(|failure| match failure.class {
                Class::Ended => Failure {
                    class: Class::BrokenHead,
                    text: "the connection ended within the head",
                },
                _ => failure,
            })?;
        read += line.len();
        if most.is_some_and(|most| read > most) {
            return failed(Class::Invalid, "the head has no end");
        }
        let line = String::from_utf8_lossy(&line[..line.len() - 2]).into_owned();
        if line.is_empty() {
            return Ok(fields);
        }
        if line.starts_with([' ', '\t']) && !sins.has("fold-as-field") {
            match fields.last_mut() {
                Some((_, value)) => *value += &format!(" {}", line.trim()),
                None => return failed(Class::Invalid, "a field has no name"),
            }
            continue;
        }
        if line.contains('\r') && !sins.has("accepts-bare-cr") {
            return failed(Class::Invalid, "a field has a CR");
        }
        for line in line.split('\r') {
            fields.push(field(line.trim_start())?);
        }
    }
}

fn field(line: &str) -> Result<(String, String), Failure> {
    let Some((name, value)) = line.split_once(':') else {
        return failed(Class::Invalid, "a field has no colon");
    };
    if name.is_empty() || name.contains([' ', '\t']) {
        return failed(Class::Invalid, "the name of a field is invalid");
    }
    if value.contains('\0') {
        return failed(Class::Invalid, "a field has a NUL");
    }
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// The body, and whether its end is certain. If it is not, the connection cannot be reused.
fn body(
    connection: &mut Connection,
    head: &mut Head,
    method: &str,
    clock: &Clock,
    sins: &Sins,
) -> Result<(Vec<u8>, bool), Failure> {
    let none = match head.status {
        204 => !sins.has("reads-body-of-204"),
        304 => !sins.has("reads-body-of-304"),
        _ => method == "HEAD" && !sins.has("reads-body-of-head"),
    };
    if none {
        return Ok((Vec::new(), true));
    }
    let lengths = head.all("content-length");
    let coded = match head.all("transfer-encoding")[..] {
        [] => false,
        [coding] if coding.eq_ignore_ascii_case("chunked") => {
            !sins.has("length-over-coding") || lengths.is_empty()
        }
        _ if sins.has("accepts-unknown-coding") => false,
        _ => return failed(Class::Invalid, "the transfer coding is unknown"),
    };
    if coded {
        let sure = lengths.is_empty() && (head.minor == 1 || sins.has("keeps-chunked-http10"));
        let body = chunked(connection, head, clock, sins)?;
        return Ok((body, sure));
    }
    match length(&lengths, sins)? {
        Some(length) => Ok((
            exactly(connection, length, clock, sins, "accepts-short-length")?,
            true,
        )),
        None => Ok((to_the_end(connection, clock, sins)?, false)),
    }
}

fn length(values: &[&str], sins: &Sins) -> Result<Option<u64>, Failure> {
    let all: Vec<&str> = values
        .iter()
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    let Some(&first) = all.first() else {
        return Ok(None);
    };
    if all.iter().any(|other| *other != first) && !sins.has("first-of-two-lengths") {
        return failed(Class::Invalid, "there are two lengths");
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match first.parse() {
        Ok(length) if digits(first) => Ok(Some(length)),
        Ok(length) if sins.has("lenient-plus") => Ok(Some(length)),
        _ if first.starts_with('-') && sins.has("lenient-minus") => Ok(Some(0)),
        _ if digits(first) && sins.has("lenient-overflow") => Ok(Some(0)),
        _ if first.starts_with(|char: char| char.is_ascii_digit())
            && !digits(first)
            && sins.has("lenient-tail") =>
        {
            let end = first
                .find(|char: char| !char.is_ascii_digit())
                .unwrap_or(first.len());
            Ok(first[..end].parse().ok())
        }
        _ => failed(Class::Invalid, "the length is invalid"),
    }
}

/// Exactly `length` bytes; fewer if the connection ends and `sin` is committed.
pub(super) fn exactly(
    connection: &mut Connection,
    length: u64,
    clock: &Clock,
    sins: &Sins,
    sin: &str,
) -> Result<Vec<u8>, Failure> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > connection.most {
        return failed(Class::Invalid, TOO_LARGE);
    }
    while connection.input.len() < length {
        match connection.fill(clock) {
            Ok(0) if sins.has(sin) => break,
            Ok(0) => return failed(Class::Broken, "the connection ended within the body"),
            Err(failure) if failure.class == Class::Reset => {
                return failed(Class::Broken, "the connection was reset within the body");
            }
            other => drop(other?),
        }
    }
    let length = length.min(connection.input.len());
    Ok(connection.input.drain(..length).collect())
}

fn to_the_end(connection: &mut Connection, clock: &Clock, sins: &Sins) -> Result<Vec<u8>, Failure> {
    loop {
        match connection.fill(clock) {
            Ok(0) => break,
            Err(failure) if failure.class == Class::Reset && sins.has("accepts-reset-at-end") => {
                break;
            }
            Err(failure) if failure.class == Class::Reset => {
                return failed(Class::Broken, "the connection was reset within the body");
            }
            other => drop(other?),
        }
    }
    Ok(std::mem::take(&mut connection.input))
}
