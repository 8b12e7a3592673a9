//! The challenge in `WWW-Authenticate` (RFC 9110 §11.6.1), as far as it is digest authentication.

use crate::message::fields::Fields;

/// A challenge for digest authentication (RFC 7616 §3.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub realm: Vec<u8>,
    pub nonce: Vec<u8>,
    pub opaque: Option<Vec<u8>>,
    pub algorithm: Algorithm,
    /// The name as the server wrote it, if it did.
    pub algorithm_name: Option<Vec<u8>>,
    pub quality: Quality,
    /// Whether only the nonce of the request was old, and the login is right.
    pub stale: bool,
    /// Whether the name is to be sent as a hash.
    pub userhash: bool,
    /// Whether the server says that it reads names in UTF-8.
    pub utf8: bool,
    /// The URLs of the protection space, as they were written; none for all of the origin.
    pub domain: Vec<String>,
}

/// The hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Algorithm {
    pub hash: Hash,
    /// Whether user and password are hashed once a session.
    pub session: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    Md5,
    Sha256,
    Sha512256,
}

/// The quality of protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quality {
    /// As in RFC 2069: without a count and without a nonce of the client.
    None,
    Auth,
    /// The body is hashed too.
    AuthInt,
}

/// The first challenge of a head that the client can respond to; `may_sum_body`: the body is there to be hashed.
pub(crate) fn first(fields: &[u8], may_sum_body: bool) -> Option<Challenge> {
    let demands = Fields(fields)
        .iter()
        .filter(|(name, _)| *name == "www-authenticate");
    let mut demands = demands.flat_map(|(_, value)| parse(value));
    demands.find_map(|(scheme, parameters)| {
        let is_digest = scheme.eq_ignore_ascii_case(b"digest");
        is_digest.then(|| read(&parameters, may_sum_body)).flatten()
    })
}

/// A parameter of `Authentication-Info`.
pub(crate) fn next_nonce(fields: &[u8]) -> Option<Vec<u8>> {
    let mut rest = Fields(fields).get("authentication-info")?;
    let mut parameters = Vec::new();
    while let Some(parameter) = take_parameter(&mut rest) {
        parameters.push(parameter);
    }
    get(&parameters, "nextnonce").map(<[u8]>::to_vec)
}

type Parameters<'a> = Vec<(&'a [u8], Vec<u8>)>;

fn get<'a>(parameters: &'a Parameters<'_>, name: &str) -> Option<&'a [u8]> {
    let mut all = parameters.iter();
    let found = all.find(|(other, _)| other.eq_ignore_ascii_case(name.as_bytes()))?;
    Some(&found.1)
}

/// Reads a challenge; none if this client does not support it.
fn read(parameters: &Parameters<'_>, may_sum_body: bool) -> Option<Challenge> {
    let text = |name| get(parameters, name).map(<[u8]>::to_vec);
    let says = |name, what: &str| {
        get(parameters, name).is_some_and(|value| value.eq_ignore_ascii_case(what.as_bytes()))
    };
    let algorithm_name = text("algorithm");
    let domain = String::from_utf8(text("domain").unwrap_or_default()).unwrap_or_default();
    Some(Challenge {
        realm: text("realm")?,
        nonce: text("nonce")?,
        opaque: text("opaque"),
        algorithm: algorithm(algorithm_name.as_deref())?,
        algorithm_name,
        quality: quality(get(parameters, "qop"), may_sum_body)?,
        stale: says("stale", "true"),
        userhash: says("userhash", "true"),
        utf8: says("charset", "utf-8"),
        domain: domain.split_ascii_whitespace().map(String::from).collect(),
    })
}

fn algorithm(name: Option<&[u8]>) -> Option<Algorithm> {
    let Some(name) = name else {
        let hash = Hash::Md5;
        return Some(Algorithm {
            hash,
            session: false,
        });
    };
    let name = name.to_ascii_lowercase();
    let (name, session) = match name.strip_suffix(b"-sess") {
        Some(name) => (name, true),
        None => (&name[..], false),
    };
    let hash = match name {
        b"md5" => Hash::Md5,
        b"sha-256" => Hash::Sha256,
        b"sha-512-256" => Hash::Sha512256,
        _ => return None,
    };
    Some(Algorithm { hash, session })
}

/// The best quality of protection that the server offers and this request allows.
fn quality(offered: Option<&[u8]>, may_sum_body: bool) -> Option<Quality> {
    let Some(offered) = offered else {
        return Some(Quality::None);
    };
    let has = |name: &[u8]| {
        let mut options = offered.split(|byte| *byte == b',');
        options.any(|option| option.trim_ascii().eq_ignore_ascii_case(name))
    };
    match () {
        () if has(b"auth") => Some(Quality::Auth),
        () if has(b"auth-int") && may_sum_body => Some(Quality::AuthInt),
        () => None,
    }
}

/// Parses schemes with their parameters. An unreadable rest is left out.
fn parse(value: &[u8]) -> Vec<(&[u8], Parameters<'_>)> {
    let mut demands: Vec<(&[u8], Parameters<'_>)> = Vec::new();
    let mut rest = value;
    loop {
        let before = rest;
        if let (Some(parameter), Some(demand)) = (take_parameter(&mut rest), demands.last_mut()) {
            demand.1.push(parameter);
            continue;
        }
        rest = before;
        skip(&mut rest, b" \t,");
        let scheme = take_token(&mut rest);
        // A token68 of another scheme ends with these.
        skip(&mut rest, b"=");
        if scheme.is_empty() {
            return demands;
        }
        demands.push((scheme, Vec::new()));
    }
}

/// Takes a `name=value` with spaces around it. On failure `rest` stays somewhere in the middle.
fn take_parameter<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], Vec<u8>)> {
    skip(rest, b" \t,");
    let name = take_token(rest);
    skip(rest, b" \t");
    *rest = rest.strip_prefix(b"=").filter(|_| !name.is_empty())?;
    skip(rest, b" \t");
    if let Some(quoted) = rest.strip_prefix(b"\"") {
        *rest = quoted;
        return Some((name, take_quoted(rest)?));
    }
    let value = take_token(rest);
    (!value.is_empty()).then(|| (name, value.to_vec()))
}

/// The text up to the closing quote, without backslashes.
fn take_quoted(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    loop {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        match byte {
            b'"' => return Some(value),
            b'\\' => {
                let (escaped, behind) = rest.split_first()?;
                *rest = behind;
                value.push(*escaped);
            }
            byte => value.push(*byte),
        }
    }
}

/// A token, or an invalid one: anything but separators.
fn take_token<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let ends = |byte: &u8| matches!(byte, b' ' | b'\t' | b',' | b'=' | b'"');
    let end = rest.iter().position(ends).unwrap_or(rest.len());
    let (token, behind) = rest.split_at(end);
    *rest = behind;
    token
}

fn skip(rest: &mut &[u8], bytes: &[u8]) {
    let end = rest.iter().position(|byte| !bytes.contains(byte));
    *rest = &rest[end.unwrap_or(rest.len())..];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(value: &str) -> Vec<u8> {
        format!("server: x\r\nwww-authenticate: {value}\r\n").into_bytes()
    }

    fn challenge(value: &str) -> Option<Challenge> {
        first(&field(value), true)
    }

    #[test]
    fn a_digest_challenge_is_found_among_others() {
        for value in [
            r#"Digest realm="a \"b\", c",nonce=n, qop="auth,auth-int", opaque="", STALE=TRUE"#,
            r#"Negotiate, digest realm = "a \"b\", c" , nonce="n",qop=auth,opaque="",stale=true"#,
            r#"Negotiate YWJj==, Digest nonce="n", realm="a \"b\", c", opaque="", qop="auth", stale="true""#,
            r#"Basic realm="x", charset="UTF-8", Digest realm="a \"b\", c", nonce="n", opaque="", qop=auth, stale=true, Bearer"#,
            r#",Digest realm="a \"b\", c", nonce="n", opaque="", qop=auth, stale=true, future="x""#,
        ] {
            let challenge = challenge(value).expect(value);
            assert_eq!(challenge.realm, br#"a "b", c"#, "{value}");
            assert_eq!(challenge.nonce, b"n", "{value}");
            assert_eq!(challenge.opaque.as_deref(), Some(&b""[..]), "{value}");
            assert_eq!(challenge.quality, Quality::Auth, "{value}");
            assert!(challenge.stale && !challenge.userhash, "{value}");
        }
    }

    #[test]
    fn the_first_possible_challenge_counts() {
        let demands = r#"Digest realm="1", nonce="n", algorithm=SHA3, Digest realm="2", nonce="n", qop="later",
            Digest realm="3", nonce="n", algorithm=SHA-512-256-sess, Digest realm="4", nonce="n""#
            .replace('\n', " ");
        let challenge = challenge(&demands).unwrap();
        assert_eq!(challenge.realm, b"3");
        let (hash, session) = (Hash::Sha512256, true);
        assert_eq!(challenge.algorithm, Algorithm { hash, session });
        let both = [
            field(r#"Digest realm="1", nonce="n", algorithm=x"#),
            field(r#"Digest realm="2", nonce="n", domain="/a  http://other/b""#),
        ];
        let challenge = first(&both.concat(), true).unwrap();
        assert_eq!(challenge.realm, b"2");
        assert_eq!(challenge.domain, ["/a", "http://other/b"]);
    }

    #[test]
    fn an_incomplete_challenge_is_ignored() {
        for value in [
            "",
            "Digest",
            "Digest realm=\"x\"",
            "Digest nonce=\"x\"",
            "Digest realm=\"x\", nonce=\"y",
            "Basic realm=\"x\", nonce=\"y\"",
            "=,=,\"",
        ] {
            assert_eq!(challenge(value), None, "{value}");
        }
        let with_body = r#"Digest realm="x", nonce="y", qop="auth-int""#;
        assert_eq!(challenge(with_body).unwrap().quality, Quality::AuthInt);
        assert_eq!(first(&field(with_body), false), None);
    }

    #[test]
    fn the_next_nonce_is_reported_in_advance() {
        let next = |value: &str| {
            next_nonce(format!("authentication-info: {value}\r\n").as_bytes())
                .map(|nonce| String::from_utf8(nonce).unwrap())
        };
        assert_eq!(
            next(r#"rspauth="x", nextnonce="n", qop=auth"#).unwrap(),
            "n"
        );
        assert_eq!(next("rspauth=x"), None);
    }

    proptest::proptest! {
        /// Whatever a server writes: it comes to an end, without a panic.
        #[test]
        fn any_field_is_read(value in "[dDiIgGeEsStT =,\"\\\\a]{0,60}|\\PC*") {
            let _ = challenge(&value);
        }
    }
}
