//! References → URLs: what a relative one means beside a base (RFC 3986 §5).

use url::Url;

use crate::message::address::InvalidUrl;
use crate::message::failure::InvalidRequest;
use crate::message::merge::merge;

/// The URL that `reference` names beside `base`: `users?x` beside `http://host/v1/` is `http://host/v1/users?x`. In an
/// absolute reference, scheme and host become lower case, and the default port is left out.
///
/// Text that needs encoding is encoded as browsers do. Control characters and backslashes are refused: browsers drop
/// the former, and read the latter as slashes.
pub fn resolve(base: &str, reference: &str) -> Result<String, InvalidRequest> {
    let mut base = parse_base(base, false)?;
    let _ = (base.set_username(""), base.set_password(None));
    let refused = |why| InvalidUrl::new(reference.as_bytes(), why);
    let text = readable(reference.as_bytes(), false).map_err(refused)?;
    let joined = join(base.as_str(), text).map_err(|why| refused(unread(&why)))?;
    let url = with_small_letters(joined);
    // Browsers leave spaces where a URL has no host, as in `mailto:`.
    Ok(url.replace(' ', "%20"))
}

/// The URL that `reference` names beside a parsed base. Unlike [`resolve`], an absolute URL stays as it was written,
/// valid or not. `strict` refuses everything that needs encoding.
pub(crate) fn beside(base: &Url, reference: &[u8], strict: bool) -> Result<String, InvalidUrl> {
    let text = readable(reference, strict).map_err(|why| InvalidUrl::new(reference, why))?;
    if is_absolute(text) {
        return Ok(text.to_owned());
    }
    join(base.as_str(), text).map_err(|why| InvalidUrl::new(reference, unread(&why)))
}

fn unread(why: &str) -> String {
    format!("cannot be read beside the base URL: {why}")
}

/// The URL that a `Location` names beside the URL of the request. Valid text stays as it is. Unlike [`resolve`], this
/// accepts what servers write and browsers read, even backslashes.
///
/// # Errors
/// Why the reference names no URL.
pub fn join(base: &str, reference: &str) -> Result<String, String> {
    if let Some(merged) = merge(base, reference) {
        return Ok(merged);
    }
    let joined = Url::parse(base).and_then(|base| base.join(reference));
    joined.map(String::from).map_err(|error| error.to_string())
}

/// Whether the text is an absolute `http` or `https` URL.
fn is_absolute(text: &str) -> bool {
    let begin = |scheme: &str| {
        text.get(..scheme.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    };
    begin("http://") || begin("https://")
}

/// The URL with its scheme and host in lower case, and without the default port.
fn with_small_letters(url: String) -> String {
    let Some((scheme, rest)) = url.split_once("://").filter(|_| is_absolute(&url)) else {
        return url;
    };
    let (authority, behind) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let Ok(read) = Url::parse(&format!("{scheme}://{authority}/")) else {
        return url;
    };
    let begin = read.as_str().trim_end_matches('/');
    match behind.starts_with('/') {
        true => format!("{begin}{behind}"),
        false => format!("{begin}/{behind}"),
    }
}

/// The bytes as text. Control characters and backslashes are refused; `strict` also refuses spaces and letters beyond
/// ASCII.
fn readable(text: &[u8], strict: bool) -> Result<&str, String> {
    let refused =
        |byte: u8| byte.is_ascii_control() || byte == b'\\' || (strict && !byte.is_ascii_graphic());
    if let Some(byte) = text.iter().find(|byte| refused(**byte)) {
        return Err(format!("contains the byte 0x{byte:02x}: percent-encode it"));
    }
    std::str::from_utf8(text).map_err(|_| "is not UTF-8: percent-encode it".into())
}

/// The base for relative URLs, with its user and password.
pub(crate) fn parse_base(base: &str, strict: bool) -> Result<Url, InvalidRequest> {
    let refused = |why: String| InvalidRequest(format!("base URL {why}"));
    let text = readable(base.as_bytes(), strict).map_err(refused)?;
    let url = Url::parse(text).map_err(|error| refused(format!("is not absolute: {error}")))?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(refused("has no host: begin it with http://HOST".into()));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc() {
        // RFC 3986 §5.4.1 and §5.4.2, fragments included; other schemes are left out.
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
        let valid = "http://other/a/../b?c='d'&e=%7e";
        assert_eq!(resolve("http://a:8080/b/", valid).unwrap(), valid);
        let resolved = resolve("http://a/", "HTTP://u:p@OTHER:80?q").unwrap();
        assert_eq!(resolved, "http://u:p@other/?q");
        let resolved = resolve("http://a/", "mailto: me @b").unwrap();
        assert_eq!(resolved, "mailto:%20me%20@b");
    }

    #[test]
    fn ambiguous_references_are_refused_without_showing_secrets() {
        let message = |base: &str, reference: &str| resolve(base, reference).unwrap_err().0;
        for reference in ["a\r\nb", "a\tb", "a\0", "\\\\evil", "/\\evil"] {
            assert!(message("http://a/", reference).contains("percent-encode"));
        }
        let encoded = resolve("http://a/", "é b?ü").unwrap();
        assert_eq!(encoded, "http://a/%C3%A9%20b?%C3%BC");
        let base = parse_base("http://a/", false).unwrap();
        for reference in ["a b", "é"] {
            assert!(beside(&base, reference.as_bytes(), true).is_err());
        }
        for reference in ["http://", "http://host:x/", "https://?x"] {
            assert!(message("http://a/", reference).contains("cannot be read"));
        }
        assert!(message("http://a\r\n/", "b").contains("base URL contains the byte 0x0d"));
        assert!(message("/v1", "b").contains("not absolute"));
        assert!(message("mailto:x", "b").contains("no host"));
        let resolved = resolve("http://user:secret@host/", "b").unwrap();
        assert_eq!(resolved, "http://host/b");
    }

    proptest::proptest! {
        /// A resolved URL contains nothing that a request line may not contain. A relative reference stays on the host.
        #[test]
        fn a_resolved_reference_is_clean(reference in "\\PC*|[./?#:a@\\\\]{0,12}") {
            if let Ok(url) = resolve("http://host/a/b", &reference) {
                proptest::prop_assert!(url.bytes().all(|byte| byte.is_ascii_graphic()), "{url:?}");
                let parsed = Url::parse(&url).unwrap();
                let absolute = reference.contains(':') || reference.starts_with("//");
                proptest::prop_assert!(absolute || parsed.host_str() == Some("host"), "{url:?}");
            }
        }
    }
}
