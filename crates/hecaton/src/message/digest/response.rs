//! The `Authorization` that responds to a challenge for digest authentication (RFC 7616 §3.4).

use std::sync::atomic::{AtomicU32, Ordering};

use md5::{Digest as _, Md5};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};

use crate::message::digest::Login;
use crate::message::digest::challenge::{Challenge, Hash, Quality};
use crate::message::words::hexadecimal;

/// RFC 8187 §3.2.1 leaves these characters as they are.
const EXTENDED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// A challenge and the number of its uses, because each response to it has a count of its own.
#[derive(Debug)]
pub(crate) struct Session {
    pub challenge: Challenge,
    /// The client's nonce, which all responses share.
    cnonce: String,
    /// The nonce that a `-sess` algorithm began with.
    first_nonce: Vec<u8>,
    uses: AtomicU32,
}

/// The parts of the request that are hashed.
pub(crate) struct DigestInput<'a> {
    pub method: &'a str,
    pub target: &'a str,
    /// None if the body comes in pieces.
    pub body: Option<&'a [u8]>,
}

impl Session {
    pub fn new(challenge: Challenge) -> Session {
        let mut random = [0; 16];
        // An error may be ignored: without a random `cnonce` a defence against chosen nonces is lost, but no secret.
        let _ = SystemRandom::new().fill(&mut random);
        Session::with_cnonce(challenge, hexadecimal(&random))
    }

    fn with_cnonce(challenge: Challenge, cnonce: String) -> Session {
        Session {
            first_nonce: challenge.nonce.clone(),
            challenge,
            cnonce,
            uses: AtomicU32::new(0),
        }
    }

    /// A session with the nonce that the server named next.
    pub fn next(&self, nonce: Vec<u8>) -> Session {
        Session {
            challenge: Challenge {
                nonce,
                ..self.challenge.clone()
            },
            cnonce: self.cnonce.clone(),
            first_nonce: self.first_nonce.clone(),
            uses: AtomicU32::new(0),
        }
    }

    /// Whether a request with this body (none if it comes in pieces) can be authenticated.
    pub fn suits(&self, body: Option<&[u8]>) -> bool {
        body.is_some() || self.challenge.quality != Quality::AuthInt
    }

    /// Clears `out`, writes the header as a line into it, and counts.
    pub fn write(&self, login: &Login, input: &DigestInput<'_>, out: &mut Vec<u8>) {
        let challenge = &self.challenge;
        let count = self.uses.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let count = format!("{count:08x}");
        let response = self.response(login, input, &count);
        out.clear();
        out.extend_from_slice(b"Authorization: Digest ");
        self.write_user(login, out);
        put_quoted("realm", &challenge.realm, out);
        put_quoted("nonce", &challenge.nonce, out);
        put_quoted("uri", input.target.as_bytes(), out);
        put_quoted("response", response.as_bytes(), out);
        if let Some(name) = &challenge.algorithm_name {
            put("algorithm", name, out);
        }
        if let Some(opaque) = &challenge.opaque {
            put_quoted("opaque", opaque, out);
        }
        if let Some(quality) = quality_name(challenge.quality) {
            put("qop", quality.as_bytes(), out);
            put("nc", count.as_bytes(), out);
        }
        if self.shows_cnonce() {
            put_quoted("cnonce", self.cnonce.as_bytes(), out);
        }
        out.truncate(out.len() - 2);
        out.extend_from_slice(b"\r\n");
    }

    fn shows_cnonce(&self) -> bool {
        self.challenge.quality != Quality::None || self.challenge.algorithm.session
    }

    /// The user's name: hashed if the challenge says so, in UTF-8 if it is not ASCII and the server accepts that, else
    /// as it is.
    fn write_user(&self, login: &Login, out: &mut Vec<u8>) {
        let Login { user, .. } = login;
        if self.challenge.userhash {
            let hashed = self.sum(&[user.as_bytes(), &self.challenge.realm]);
            put_quoted("username", hashed.as_bytes(), out);
            put("userhash", b"true", out);
        } else if self.challenge.utf8 && !user.is_ascii() {
            let encoded = format!("UTF-8''{}", utf8_percent_encode(user, EXTENDED));
            put("username*", encoded.as_bytes(), out);
        } else {
            put_quoted("username", user.as_bytes(), out);
        }
    }

    fn response(&self, login: &Login, input: &DigestInput<'_>, count: &str) -> String {
        let challenge = &self.challenge;
        let (user, password) = (login.user.as_bytes(), login.password.as_bytes());
        let mut secret = self.sum(&[user, &challenge.realm, password]);
        if challenge.algorithm.session {
            let parts = [secret.as_bytes(), &self.first_nonce, self.cnonce.as_bytes()];
            secret = self.sum(&parts);
        }
        let (method, target) = (input.method.as_bytes(), input.target.as_bytes());
        let what = match challenge.quality {
            Quality::AuthInt => {
                let body = self.sum(&[input.body.unwrap_or_default()]);
                self.sum(&[method, target, body.as_bytes()])
            }
            _ => self.sum(&[method, target]),
        };
        let (secret, nonce, what) = (secret.as_bytes(), &challenge.nonce[..], what.as_bytes());
        match quality_name(challenge.quality) {
            None => self.sum(&[secret, nonce, what]),
            Some(quality) => {
                let (count, cnonce) = (count.as_bytes(), self.cnonce.as_bytes());
                self.sum(&[secret, nonce, count, cnonce, quality.as_bytes(), what])
            }
        }
    }

    /// The hash of these with colons between them, in hexadecimal.
    fn sum(&self, parts: &[&[u8]]) -> String {
        let text = parts.join(&b':');
        match self.challenge.algorithm.hash {
            Hash::Md5 => hexadecimal(&Md5::digest(&text)),
            Hash::Sha256 => hexadecimal(digest::digest(&digest::SHA256, &text).as_ref()),
            Hash::Sha512256 => hexadecimal(digest::digest(&digest::SHA512_256, &text).as_ref()),
        }
    }
}

fn quality_name(quality: Quality) -> Option<&'static str> {
    match quality {
        Quality::None => None,
        Quality::Auth => Some("auth"),
        Quality::AuthInt => Some("auth-int"),
    }
}

fn put(name: &str, value: &[u8], out: &mut Vec<u8>) {
    for part in [name.as_bytes(), b"=", value, b", "] {
        out.extend_from_slice(part);
    }
}

fn put_quoted(name: &str, value: &[u8], out: &mut Vec<u8>) {
    let mut quoted = Vec::with_capacity(value.len() + 2);
    quoted.push(b'"');
    for byte in value {
        if matches!(byte, b'"' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted.push(b'"');
    put(name, &quoted, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::digest::challenge::first;

    /// The header for a challenge, with this nonce of the client.
    fn authorization(
        demand: &str,
        (user, password): (&str, &str),
        cnonce: &str,
        input: &DigestInput<'_>,
    ) -> String {
        let fields = format!("www-authenticate: Digest {demand}\r\n");
        let challenge = first(fields.as_bytes(), true).unwrap();
        let session = Session::with_cnonce(challenge, cnonce.into());
        let login = Login::new(user, password).unwrap();
        let mut out = Vec::new();
        session.write(&login, input, &mut out);
        String::from_utf8(out).unwrap()
    }

    const GET: DigestInput<'_> = DigestInput {
        method: "GET",
        target: "/dir/index.html",
        body: Some(b""),
    };

    #[track_caller]
    fn assert_has(field: &str, parts: &[&str]) {
        for part in parts {
            assert!(field.contains(part), "{part} in {field}");
        }
    }

    #[test]
    fn the_examples_of_rfc_7616() {
        // §3.9.1
        let demand = r#"realm="http-auth@example.org", qop="auth, auth-int", algorithm=ALGORITHM,
            nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#
            .replace('\n', " ");
        let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
        for (algorithm, response) in [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            (
                "SHA-256",
                "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
            ),
        ] {
            let demand = demand.replace("ALGORITHM", algorithm);
            let field = authorization(&demand, ("Mufasa", "Circle of Life"), cnonce, &GET);
            let response = format!("response=\"{response}\"");
            let algorithm = format!("algorithm={algorithm}");
            let rest = "qop=auth, nc=00000001, cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\"\r\n";
            assert_has(
                &field,
                &[&response, &algorithm, rest, "username=\"Mufasa\", realm="],
            );
        }
    }

    #[test]
    fn a_user_name_may_be_hashed() {
        // §3.9.2, with the sums of erratum 4897.
        let demand = r#"realm="api@example.org", qop="auth", algorithm=SHA-512-256, charset=UTF-8, userhash=true,
            nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS""#
            .replace('\n', " ");
        let input = DigestInput {
            target: "/doe.json",
            ..GET
        };
        let cnonce = "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v";
        let login = ("J\u{e4}s\u{f8}n Doe", "Secret, or not?");
        let field = authorization(&demand, login, cnonce, &input);
        assert_has(
            &field,
            &[
                "username=\"793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b\", userhash=true",
                "response=\"3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5\"",
            ],
        );
    }

    #[test]
    fn the_example_of_rfc_2069_without_a_quality() {
        // RFC 2617 §3.5 with the demand of RFC 2069, whose own sum was wrong (erratum 749).
        let demand = r#"realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41""#;
        let field = authorization(demand, ("Mufasa", "CircleOfLife"), "x", &GET);
        assert_has(
            &field,
            &["response=\"1949323746fe6a43ef61f9606e7febea\", opaque="],
        );
        for absent in ["cnonce", "nc=", "qop", "algorithm"] {
            assert!(!field.contains(absent), "{absent} in {field}");
        }
    }

    #[test]
    fn a_name_beyond_ascii_is_encoded_where_the_server_reads_utf_8() {
        let login = ("j\u{e4} \"x\"", "p");
        let response_to =
            |charset| authorization(&format!("realm=r, nonce=n{charset}"), login, "c", &GET);
        assert_has(
            &response_to(", charset=UTF-8"),
            &["username*=UTF-8''j%C3%A4%20%22x%22, realm=\"r\""],
        );
        assert_has(
            &response_to(""),
            &["username=\"j\u{e4} \\\"x\\\"\", realm="],
        );
    }

    #[test]
    fn uses_of_a_challenge_are_counted() {
        let fields = b"www-authenticate: Digest realm=r, nonce=n, qop=auth\r\n";
        let session = Session::new(first(fields, true).unwrap());
        let login = Login::new("u", "p").unwrap();
        let mut out = Vec::new();
        for count in 1..20 {
            session.write(&login, &GET, &mut out);
            let expected = format!("nc={count:08x}, cnonce=\"{}\"\r\n", session.cnonce);
            assert!(out.ends_with(expected.as_bytes()));
        }
        let next = session.next(b"m".to_vec());
        next.write(&login, &GET, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert_has(&text, &["nonce=\"m\"", "nc=00000001", &session.cnonce]);
    }

    #[test]
    fn control_characters_are_refused() {
        assert!(Login::new("a\r\nb", "c").is_err());
        assert!(Login::new("a", "\0").is_err());
    }
}
