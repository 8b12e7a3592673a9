//! The head of a response: status and fields. `framing` says where the body ends.

pub(crate) mod lenient;

use std::fmt;
use std::mem::MaybeUninit;

use bytes::{Buf, BytesMut};
use http::Method;
use memchr::memchr2;

use crate::message::framing::{Framing, FramingFields, parse_length};
use crate::message::reason::Reason;

/// How many fields fit without an allocation.
const USUAL_FIELDS: usize = 128;

/// At most this many interim responses (1xx) may come before the final one, over HTTP/1.1 and HTTP/2 alike. A server
/// that sends more would keep the request waiting with bytes that no limit counts. Lenient clients count their bytes
/// over HTTP/1.1, as curl does, which reads thousands.
pub(crate) const MOST_INTERIM: usize = 100;

/// The rules for reading a head.
#[derive(Clone, Copy)]
pub(crate) struct HeadRules<'a> {
    pub method: &'a Method,
    /// Whether the request has an `Upgrade` to another protocol.
    pub upgrades: bool,
    pub most_fields: usize,
    pub most_bytes: usize,
    /// Whether harmless errors are accepted.
    pub lenient: bool,
}

/// Why a head cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadHead {
    Malformed(String),
    TooManyFields(usize),
    TooManyBytes(usize),
    TooManyInterim,
}

impl fmt::Display for BadHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = "the head of the response has more than";
        match self {
            BadHead::Malformed(why) => write!(f, "what came is not an HTTP response: {why}"),
            BadHead::TooManyFields(most) => {
                write!(f, "{head} {most} fields, which is max_header_fields")
            }
            BadHead::TooManyBytes(most) => {
                write!(f, "{head} {most} bytes, which is max_header_bytes")
            }
            BadHead::TooManyInterim => write!(
                f,
                "more than {MOST_INTERIM} interim responses (1xx) came before the final one"
            ),
        }
    }
}

impl BadHead {
    /// The reason of the failure.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            BadHead::Malformed(_) => Some(Reason::ResponseMalformed),
            BadHead::TooManyFields(_) | BadHead::TooManyBytes(_) => Some(Reason::HeadTooLarge),
            BadHead::TooManyInterim => None,
        }
    }
}

impl From<String> for BadHead {
    fn from(why: String) -> BadHead {
        BadHead::Malformed(why)
    }
}

impl From<&str> for BadHead {
    fn from(why: &str) -> BadHead {
        BadHead::Malformed(why.into())
    }
}

/// The head of a final response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub status: u16,
    /// The fields as `name: value\r\n`, names in lower case.
    pub fields: Vec<u8>,
    pub framing: Framing,
    /// Whether there is a `Content-Encoding`.
    pub coded: bool,
    /// Whether the connection may be used again once the body has been read.
    pub keep_alive: bool,
    /// The keep-alive timeout of the server, if it sends one (`Keep-Alive: timeout=N`). In seconds, which keeps it
    /// small.
    pub keep_alive_timeout: Option<u16>,
}

/// The facts in the fields that decide about framing and the connection.
#[derive(Default)]
struct Facts {
    framing: FramingFields,
    coded: bool,
    close: bool,
    keep_alive: bool,
    keep_alive_timeout: Option<u16>,
}

/// Reads one head, from the bytes that have arrived so far.
#[derive(Default)]
pub(crate) struct HeadReader {
    /// Bytes of the input that are known not to end a head.
    searched: usize,
    /// Whether the server has sent `100 Continue`.
    pub continued: bool,
    /// How many interim responses have come.
    interim: usize,
    /// How many bytes these had.
    interim_bytes: usize,
}

impl HeadReader {
    /// Takes the head of the final response off `input`; none if it is not whole yet.
    pub fn take(
        &mut self,
        rules: HeadRules<'_>,
        input: &mut BytesMut,
    ) -> Result<Option<Head>, BadHead> {
        // At first, so that garbage is noticed at once. Later only if the new bytes have an empty line, so that a head
        // that comes byte by byte is not parsed as often.
        let new = &input[self.searched.saturating_sub(3).min(input.len())..];
        let parse = self.searched == 0 || ends_head(new) || input.len() > rules.most_bytes;
        let head = if parse && !input.is_empty() {
            self.parse(rules, input)?
        } else {
            None
        };
        self.searched = input.len();
        Ok(head)
    }

    /// Takes the head of the final response off `input`; none if it is not whole yet. Interim responses (1xx) before it
    /// are dropped, but a requested 101 is a response.
    fn parse(
        &mut self,
        rules: HeadRules<'_>,
        input: &mut BytesMut,
    ) -> Result<Option<Head>, BadHead> {
        while let Some((length, status, head)) = parse_one(rules, input)? {
            input.advance(length);
            if head.is_some() {
                return Ok(head);
            }
            self.continued |= status == 100;
            self.interim += 1;
            self.interim_bytes += length;
            match rules.lenient {
                true if self.interim_bytes > rules.most_bytes => {
                    return Err(BadHead::TooManyBytes(rules.most_bytes));
                }
                false if self.interim > MOST_INTERIM => return Err(BadHead::TooManyInterim),
                _ => {}
            }
        }
        Ok(None)
    }
}

/// Whether there is an empty line.
fn ends_head(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

/// The first head in `input`, if it is whole and within the limits. Errors are examined only when they would refuse the
/// head, so that all other heads read the same.
fn parse_one(
    rules: HeadRules<'_>,
    input: &[u8],
) -> Result<Option<(usize, u16, Option<Head>)>, BadHead> {
    let why = match parse_strictly(rules, input) {
        Err(BadHead::Malformed(why)) => why,
        parsed => return parsed,
    };
    match parse_leniently(rules, input) {
        Ok(parsed) if rules.lenient => Ok(parsed),
        Ok(Some(_)) => Err(format!("{why} (the setting lenient accepts it)").into()),
        // What is still to come may be worse.
        Ok(None) => Err(format!("{why} (the setting lenient may accept it)").into()),
        Err(BadHead::Malformed(_)) => Err(why.into()),
        Err(limit) => Err(limit),
    }
}

fn parse_leniently(
    rules: HeadRules<'_>,
    input: &[u8],
) -> Result<Option<(usize, u16, Option<Head>)>, BadHead> {
    let rewritten = lenient::rewrite(input)?;
    let length = rewritten.as_ref().map_or(input.len(), |head| head.length);
    if length > rules.most_bytes {
        return Err(BadHead::TooManyBytes(rules.most_bytes));
    }
    let Some(rewritten) = rewritten else {
        return Ok(None);
    };
    let Some((_, status, mut head)) = parse_strictly(rules, &rewritten.text)? else {
        return Err("it is not a head".into());
    };
    if let Some(head) = &mut head {
        head.keep_alive &= !rewritten.last;
    }
    Ok(Some((length, status, head)))
}

fn parse_strictly(
    rules: HeadRules<'_>,
    input: &[u8],
) -> Result<Option<(usize, u16, Option<Head>)>, BadHead> {
    let mut usual = [const { MaybeUninit::uninit() }; USUAL_FIELDS];
    let room = rules.most_fields.min(USUAL_FIELDS);
    let mut parsed = parse_within(rules, input, &mut usual[..room]);
    if parsed == Err(BadHead::TooManyFields(rules.most_fields)) && room < rules.most_fields {
        // The shortest field takes three bytes.
        let most = rules.most_fields.min(input.len() / 3 + 1);
        parsed = parse_within(rules, input, Vec::with_capacity(most).spare_capacity_mut());
    }
    let parsed = parsed?;
    match parsed.as_ref().map_or(input.len(), |(length, ..)| *length) > rules.most_bytes {
        true => Err(BadHead::TooManyBytes(rules.most_bytes)),
        false => Ok(parsed),
    }
}

/// The head that `input` begins with, if it is whole: its length, its status, and what it says unless it is an interim
/// one.
fn parse_within<'a>(
    rules: HeadRules<'_>,
    input: &'a [u8],
    fields: &mut [MaybeUninit<httparse::Header<'a>>],
) -> Result<Option<(usize, u16, Option<Head>)>, BadHead> {
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default()
        .allow_obsolete_multiline_headers_in_responses(true)
        .parse_response_with_uninit_headers(&mut response, input, fields)
        .map_err(|error| match error {
            httparse::Error::TooManyHeaders => BadHead::TooManyFields(rules.most_fields),
            _ => error.to_string().into(),
        })?;
    let httparse::Status::Complete(length) = parsed else {
        return Ok(None);
    };
    let status = response.code.unwrap_or_default();
    let head = match status {
        101 if !rules.upgrades => {
            return Err("a switch to another protocol that was not requested".into());
        }
        100 | 102..=199 => None,
        ..100 => return Err(format!("the status {status:03}, which does not exist").into()),
        _ => Some(read(rules.method, &response)?),
    };
    Ok(Some((length, status, head)))
}

fn read(method: &Method, response: &httparse::Response<'_, '_>) -> Result<Head, BadHead> {
    let status = response.code.unwrap_or_default();
    let version_1_1 = response.version == Some(1);
    let mut fields = Vec::with_capacity(160);
    let mut facts = Facts::default();
    for field in response.headers.iter() {
        facts.note(field)?;
        let start = fields.len();
        fields.extend_from_slice(field.name.as_bytes());
        fields[start..].make_ascii_lowercase();
        fields.extend_from_slice(b": ");
        let start = fields.len();
        fields.extend_from_slice(field.value);
        unfold(&mut fields[start..]);
        fields.extend_from_slice(b"\r\n");
    }
    let framing = facts.framing.of_response(method, status);
    let doubtful = facts.framing.are_doubtful(status, version_1_1);
    let persistent = if version_1_1 {
        !facts.close
    } else {
        facts.keep_alive && !facts.close
    };
    // Another protocol follows a 101.
    let keep_alive = persistent && !doubtful && framing != Framing::Close && status != 101;
    Ok(Head {
        status,
        fields,
        framing,
        coded: facts.coded,
        keep_alive,
        keep_alive_timeout: facts.keep_alive_timeout,
    })
}

/// Replaces the line breaks of a folded value by spaces (RFC 9112 §5.2), so that the block has one line a field.
fn unfold(mut value: &mut [u8]) {
    while let Some(at) = memchr2(b'\r', b'\n', value) {
        value[at] = b' ';
        value = &mut value[at + 1..];
    }
}

impl Facts {
    /// Errors do not quote the field: what a header holds belongs in no message.
    fn note(&mut self, field: &httparse::Header<'_>) -> Result<(), BadHead> {
        // Few fields matter here, and their names differ in length from most others.
        match field.name.len() {
            10 if field.name.eq_ignore_ascii_case("connection") => {
                for option in field.value.split(|byte| *byte == b',') {
                    let option = option.trim_ascii();
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            10 if field.name.eq_ignore_ascii_case("keep-alive") => {
                self.keep_alive_timeout = keep_alive_timeout(field.value)
            }
            14 if field.name.eq_ignore_ascii_case("content-length") => {
                self.framing.note_length(field.value)?
            }
            16 if field.name.eq_ignore_ascii_case("content-encoding") => self.coded = true,
            17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                self.framing.note_coding(field.value)?
            }
            _ => {}
        }
        Ok(())
    }
}

/// The seconds of `timeout=N` in a `Keep-Alive` field (RFC 2068 §19.7.1.1), the first one that can be read.
fn keep_alive_timeout(value: &[u8]) -> Option<u16> {
    let mut parameters = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    parameters.find_map(|parameter| {
        let (name, seconds) = parameter.split_at_checked(8)?;
        let named = name.eq_ignore_ascii_case(b"timeout=");
        let seconds = parse_length(seconds).filter(|_| named)?;
        Some(seconds.try_into().unwrap_or(u16::MAX))
    })
}

#[cfg(test)]
mod tests;
