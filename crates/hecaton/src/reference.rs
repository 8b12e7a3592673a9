//! References → URLs: what a relative one means beside a base (RFC 3986 §5).

use url::Url;

use crate::error::InvalidRequest;

/// The URL that `reference` names when it is read beside `base`: `users?x` beside `http://host/v1/` is
/// `http://host/v1/users?x`. An absolute reference stays what it is, its dots and default port removed.
///
/// Refused like any URL of a request: bytes that are not printable ASCII, and backslashes, which some
/// take for slashes.
pub fn resolve(base: &str, reference: &str) -> Result<String, InvalidRequest> {
    let bad = |byte: &u8| !byte.is_ascii_graphic() || *byte == b'\\';
    for (name, text) in [("base URL", base), ("URL", reference)] {
        if let Some(byte) = text.bytes().find(bad) {
            let why = format!("{name} contains the byte 0x{byte:02x}: percent-encode it");
            return Err(InvalidRequest(why));
        }
    }
    let base = parse_base(base)?;
    let joined = join(&base, reference).map_err(|error| {
        InvalidRequest(format!("URL can not be read beside the base URL: {error}"))
    })?;
    Ok(joined.into())
}

/// The URL that a reference of a server names. Unlike [`resolve`] it takes what servers write and
/// browsers read: spaces and letters beyond ASCII are percent-encoded.
pub(crate) fn join(base: &Url, reference: &str) -> Result<Url, url::ParseError> {
    base.join(reference)
}

fn parse_base(base: &str) -> Result<Url, InvalidRequest> {
    let refused = |why: String| InvalidRequest(format!("base URL {why}"));
    let url = Url::parse(base).map_err(|error| refused(format!("is not absolute: {error}")))?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(refused("has no host: begin it with http://HOST".into()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("has credentials in it: use basic_auth".into()));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc() {
        // RFC 3986 §5.4.1 and §5.4.2, fragments included; those of other schemes left out.
        let expected = [
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g/"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"),
            ("g#s", "http://a/b/c/g#s"),
            ("g?y#s", "http://a/b/c/g?y#s"),
            (";x", "http://a/b/c/;x"),
            ("g;x", "http://a/b/c/g;x"),
            ("g;x?y#s", "http://a/b/c/g;x?y#s"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
            ("./../g", "http://a/b/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
        ];
        for (reference, url) in expected {
            assert_eq!(
                resolve("http://a/b/c/d;p?q", reference).unwrap(),
                url,
                "{reference:?}"
            );
        }
    }

    #[test]
    fn an_absolute_url_wins() {
        let resolved = resolve("http://a:8080/b/", "https://other:443/c?d").unwrap();
        assert_eq!(resolved, "https://other/c?d");
    }

    #[test]
    fn what_could_be_misread_is_refused_without_showing_secrets() {
        let message = |base: &str, reference: &str| resolve(base, reference).unwrap_err().0;
        for reference in ["a\r\nb", "a\tb", "a\0", "a b", "é", "\\\\evil", "/\\evil"] {
            assert!(message("http://a/", reference).contains("percent-encode"));
        }
        assert!(message("http://a\r\n/", "b").contains("base URL contains the byte 0x0d"));
        assert!(message("/v1", "b").contains("not absolute"));
        assert!(message("mailto:x", "b").contains("no host"));
        let secret = message("http://user:secret@host/", "b");
        assert!(secret.contains("credentials") && !secret.contains("secret"));
    }

    proptest::proptest! {
        /// Whatever is resolved names a host and has nothing in it that a request line may not have.
        #[test]
        fn what_is_resolved_is_clean(reference in "\\PC*|[./?#:a@\\\\]{0,12}") {
            if let Ok(url) = resolve("http://host/a/b", &reference) {
                proptest::prop_assert!(url.bytes().all(|byte| byte.is_ascii_graphic()), "{url:?}");
                let parsed = Url::parse(&url).unwrap();
                let absolute = reference.contains(':') || reference.starts_with("//");
                proptest::prop_assert!(absolute || parsed.host_str() == Some("host"), "{url:?}");
            }
        }
    }
}
