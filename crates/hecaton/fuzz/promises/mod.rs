//! The functions that the fuzz targets in `fuzz/` call: each feeds bytes to a parser and checks its promises. Only
//! `cargo fuzz` builds this module.
#![allow(missing_docs)]

#[cfg(feature = "http3")]
mod http3;
mod streams;

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http::Method;
#[cfg(feature = "http3")]
pub use http3::{alt_svc, frames, qpack};
pub use streams::{connect, hpack, socks, tap};

use crate::client::redirect_rules::{Limits, Trail};
use crate::config::Config;
use crate::config::cookies::Cookies;
use crate::content::{Decoder, Step};
use crate::h1::body::{BodyError, BodyFraming, Ready};
use crate::h1::encode::encode;
use crate::message::fields::Fields;
use crate::message::framing::Framing;
use crate::message::head::{Head, HeadReader, HeadRules};
use crate::message::request::Request;
use crate::message::request_flags::is_left_out;

/// The first byte, as the size of the pieces that the rest comes in.
fn in_pieces(bytes: &[u8]) -> (usize, &[u8]) {
    match bytes.split_first() {
        Some((size, rest)) => (usize::from(*size).max(1), rest),
        None => (1, bytes),
    }
}

/// A response's head: every split of the bytes gives one result, and a block of fields has one line a field. A head
/// that is accepted without the setting `lenient` is the same with it.
pub fn head(bytes: &[u8]) {
    let (size, bytes) = in_pieces(bytes);
    for method in [Method::GET, Method::HEAD, Method::CONNECT] {
        let all = bytes.len().max(1);
        for lenient in [false, true] {
            let whole = read_head(&method, bytes, all, lenient);
            let pieces = read_head(&method, bytes, size, lenient);
            match (whole, pieces) {
                (Ok(whole), Ok(pieces)) => assert_eq!(whole, pieces),
                // Errors are noticed at the end of a head, or at once if all bytes are there.
                (Err(_), Ok(None) | Err(_)) => {}
                (whole, pieces) => panic!("{whole:?}, but in pieces {pieces:?}"),
            }
        }
        let strict = read_head(&method, bytes, all, false);
        if strict.is_ok() {
            assert_eq!(strict, read_head(&method, bytes, all, true));
        }
    }
}

fn read_head(
    method: &Method,
    bytes: &[u8],
    size: usize,
    lenient: bool,
) -> Result<Option<(Head, usize)>, String> {
    let (mut reader, mut input) = (HeadReader::default(), BytesMut::new());
    let mut left = bytes.len();
    for piece in bytes.chunks(size) {
        input.extend_from_slice(piece);
        left -= piece.len();
        let rules = HeadRules {
            method,
            upgrades: false,
            most_fields: 256,
            most_bytes: usize::MAX,
            lenient,
        };
        let head = reader.take(rules, &mut input);
        if let Some(head) = head.map_err(|bad| bad.to_string())? {
            assert!((200..1000).contains(&head.status));
            check_block(&head.fields);
            return Ok(Some((head, left + input.len())));
        }
    }
    Ok(None)
}

fn check_block(block: &[u8]) {
    let lines = block.split(|byte| *byte == b'\n').count() - 1;
    assert_eq!(Fields(block).iter().count(), lines);
    assert_eq!(block.iter().filter(|byte| **byte == b'\r').count(), lines);
    for (name, _) in Fields(block).iter() {
        assert!(!name.is_empty() && !name.bytes().any(|byte| byte.is_ascii_uppercase()));
    }
}

/// A response's body, framed in each way: every split of the bytes gives one result, and a length holds. A body that is
/// accepted without the setting `lenient` is the same with it.
pub fn body(bytes: &[u8]) {
    let (size, bytes) = in_pieces(bytes);
    let length = u64::from(bytes.first().copied().unwrap_or_default());
    for framing in [Framing::Chunked, Framing::Close, Framing::Length(length)] {
        let all = bytes.len().max(1);
        let [whole, loose] = [false, true].map(|lenient| {
            let whole = read_body(framing, bytes, all, lenient);
            assert_eq!(whole, read_body(framing, bytes, size, lenient));
            whole
        });
        if whole.1.is_ok() {
            assert_eq!(whole, loose);
        }
        if let (Framing::Length(length), (body, Ok(()))) = (framing, whole) {
            assert_eq!(body.len() as u64, length);
        }
    }
}

fn read_body(
    framing: Framing,
    bytes: &[u8],
    size: usize,
    lenient: bool,
) -> (Vec<u8>, Result<(), BodyError>) {
    let (mut reader, mut input) = (BodyFraming::new(framing), BytesMut::new());
    let mut config = Config::new(Duration::from_secs(1));
    config.lenient = lenient;
    let mut body = Vec::new();
    for piece in bytes.chunks(size) {
        input.extend_from_slice(piece);
        loop {
            match reader.ready(&mut input, &config) {
                Err(error) => return (body, Err(error)),
                Ok(Ready::Data(count)) => {
                    assert!(count > 0);
                    body.extend_from_slice(&input[..count]);
                    input.advance(count);
                    reader.taken(count);
                }
                Ok(Ready::Wanting) => break,
                Ok(Ready::End) => return (body, Ok(())),
            }
        }
    }
    (body, reader.end())
}

/// Coded bodies: every split decodes alike, and no step gives more than it may.
pub fn coded(bytes: &[u8]) {
    let (size, bytes) = in_pieces(bytes);
    let codings: [&[u8]; 5] = [b"gzip", b"deflate", b"br", b"zstd", b"gzip, br"];
    let Some((coding, bytes)) = bytes.split_first() else {
        return;
    };
    let coding = codings[usize::from(*coding) % codings.len()];
    let whole = decode(coding, bytes, bytes.len().max(1));
    let pieces = decode(coding, bytes, size);
    // An invalid body may give a mebibyte in one split and fail before in the other.
    if let (Ok(whole), Ok(pieces)) = (whole, pieces) {
        assert_eq!(whole, pieces);
    }
}

/// A body has more than a mebibyte, and is not decoded further.
struct TooLong;

/// The body; none if it is invalid.
fn decode(coding: &[u8], bytes: &[u8], size: usize) -> Result<Option<Vec<u8>>, TooLong> {
    let fields = [b"content-encoding: ", coding, b"\r\n"].concat();
    let mut decoder = Decoder::of(Fields(&fields), false).unwrap().unwrap();
    let mut decoded = Vec::new();
    for piece in bytes.chunks(size) {
        decoder.feed(Bytes::copy_from_slice(piece));
        loop {
            match decoder.step() {
                Ok(Step::Piece(piece)) => {
                    assert!(piece.len() <= 64 << 10);
                    decoded.extend_from_slice(piece);
                }
                Ok(Step::Wanting) => break,
                Err(_) => return Ok(None),
            }
            if decoded.len() > 1 << 20 {
                return Err(TooLong);
            }
        }
    }
    Ok(decoder.end().is_ok().then_some(decoded))
}

/// URLs, references beside a base, and where redirects lead: what comes of them is clean.
pub fn reference(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Ok(request) = Request::get(text) {
            check_request(&request);
        }
        let (base, reference) = text.split_once('\n').unwrap_or(("http://host/a/b?c", text));
        if let Ok(url) = crate::resolve(base, reference) {
            assert!(url.bytes().all(|byte| byte.is_ascii_graphic()), "{url:?}");
        }
    }
    let clean: Vec<u8> = bytes
        .iter()
        .copied()
        .filter(|byte| !b"\r\n".contains(byte))
        .collect();
    let fields = [b"location: ", &clean[..], b"\r\n"].concat();
    for (status, to_http) in [(302, false), (307, true)] {
        let limits = Limits {
            most: 3,
            to_http,
            may_return: false,
            hosts: None,
            with_login: false,
        };
        let mut request = Request::new("POST", "https://host.example/a/b?c").unwrap();
        request = request.header("Authorization", b"secret").unwrap();
        let mut trail = Trail::new(&request, limits);
        if let Ok(true) = trail.follow(&mut request, status, &fields) {
            check_request(&request);
            let url = request.url();
            assert!(to_http || url.starts_with("https://"), "{url:?}");
            let at_home = url.starts_with("https://host.example/");
            assert_eq!(
                Fields(&request.fields).get("authorization").is_some(),
                at_home,
                "{url:?}"
            );
        }
    }
}

/// Its bytes are one request, with the fields that it was given.
fn check_request(request: &Request) {
    let (config, mut out) = (Config::new(Duration::from_secs(1)), Vec::new());
    encode(request, &config, None, &mut out);
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Request::new(&mut fields);
    let length = match parsed.parse(&out) {
        Ok(httparse::Status::Complete(length)) => length,
        other => panic!("{other:?} of {:?}", String::from_utf8_lossy(&out)),
    };
    assert_eq!(length, out.len());
    assert_eq!(parsed.path, Some(request.target.as_str()));
    let own = parsed
        .headers
        .iter()
        .filter(|field| field.name.eq_ignore_ascii_case("host"));
    assert_eq!(own.count(), 1);
    // Only a proxy may see credentials for a proxy. An empty field that the client would add, and an expectation without a
    // body, are not sent.
    let may_miss = |name: &str, value: &[u8]| {
        let named = |known| name.eq_ignore_ascii_case(known);
        named("proxy-authorization") || named("expect") || is_left_out(name, value)
    };
    let given = Fields(&request.fields);
    let sent = given
        .iter()
        .filter(|(name, value)| !may_miss(name, value))
        .count();
    assert!((sent..=given.iter().count() + 5).contains(&parsed.headers.len()));
}

/// Fields of a request, a name and a value a line: what is taken stays one field each.
pub fn fields(bytes: &[u8]) {
    let mut request = Request::new("POST", "http://host/").unwrap();
    let mut taken = 0;
    for line in bytes.split(|byte| *byte == 0).take(50) {
        let at = line
            .iter()
            .position(|byte| *byte == b'=')
            .unwrap_or(line.len());
        let (name, value) = line.split_at(at);
        let (Ok(name), value) = (
            std::str::from_utf8(name),
            value.get(1..).unwrap_or_default(),
        ) else {
            continue;
        };
        // By value, so a refused header must not take the rest along.
        let is_valid = Request::new("POST", "http://host/")
            .unwrap()
            .header(name, value)
            .is_ok();
        if is_valid {
            // Two that say different lengths are refused together.
            let Ok(next) = request.clone().header(name, value) else {
                continue;
            };
            request = next;
            let own = ["host", "content-length", "transfer-encoding"];
            taken += usize::from(!own.iter().any(|known| name.eq_ignore_ascii_case(known)));
        }
    }
    assert_eq!(Fields(&request.fields).iter().count(), taken);
    check_block(&request.fields.to_ascii_lowercase());
    check_request(&request);
}

/// Cookies, one a line: they go back to where they came from, in one clean field.
pub fn cookies(bytes: &[u8]) {
    let jar = Cookies::new();
    let at = |url: &str| Request::get(url).unwrap();
    // Other control characters than tabs are in no field: both protocols refuse them.
    let is_end = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
    for line in bytes.split(is_end).take(50) {
        let fields = [b"set-cookie: ", line, b"\r\n"].concat();
        jar.keep(&at("http://a.b.example/x/y"), &fields);
        jar.keep(&at("https://a.b.example/"), &fields);
    }
    for url in [
        "http://a.b.example/x/",
        "https://a.b.example/",
        "https://b.example/",
        "https://c.b.example/",
    ] {
        let mut request = at(url);
        jar.add_to(&mut request);
        let count = Fields(&request.fields).iter().count();
        assert!(count <= 1);
        check_block(&request.fields.to_ascii_lowercase());
        check_request(&request);
    }
    for url in [
        "https://example/",
        "https://xb.example/",
        "https://a.b.example.com/",
        "https://127.0.0.1/",
    ] {
        let mut request = at(url);
        jar.add_to(&mut request);
        assert!(
            request.fields.is_empty(),
            "{url}: {:?}",
            String::from_utf8_lossy(&request.fields)
        );
    }
    assert!(jar.list().len() <= 3000);
}

/// Every seed passes. So the targets themselves are tested with everything else, and fuzzing starts from valid input.
#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_seed_passes() {
        type Target = fn(&[u8]);
        let mut targets: Vec<(&str, Target)> = vec![
            ("head", super::head),
            ("body", super::body),
            ("coded", super::coded),
            ("reference", super::reference),
            ("fields", super::fields),
            ("cookies", super::cookies),
            ("connect", super::connect),
            ("socks", super::socks),
            ("tap", super::tap),
            ("hpack", super::hpack),
        ];
        // Those of HTTP/3, and the seeds of `two_streams` and `two_streams_http3`, which run with the engine's tests against
        // servers.
        let mut others = 5;
        #[cfg(feature = "http3")]
        {
            let of_http3: [(&str, Target); 3] = [
                ("alt_svc", super::alt_svc),
                ("frames", super::frames),
                ("qpack", super::qpack),
            ];
            targets.extend(of_http3);
            others -= of_http3.len();
        }
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
        assert_eq!(
            fs::read_dir(&seeds).unwrap().count(),
            targets.len() + others
        );
        for (name, target) in targets {
            let mut count = 0;
            for seed in fs::read_dir(seeds.join(name)).unwrap() {
                target(&fs::read(seed.unwrap().path()).unwrap());
                count += 1;
            }
            assert!(count > 0, "{name} has no seed");
        }
    }
}
