//! Resolves a reference against a URL (RFC 3986 §5.2.2) byte for byte: the dots of a relative path are removed, and
//! nothing else changes.
//!
//! Only valid text is handled here. Everything else is left to the `url` crate, which encodes it as browsers do.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Resolves `reference` against `base`, an absolute URL. None if anything in the reference is invalid, or if browsers
/// read it differently from the RFC.
pub(crate) fn merge(base: &str, reference: &str) -> Option<String> {
    if !reference.bytes().all(is_valid) {
        return None;
    }
    let (scheme, rest) = base.split_once("://")?;
    if let Some((own, rest)) = with_scheme(reference) {
        let is_http = own.eq_ignore_ascii_case("http") || own.eq_ignore_ascii_case("https");
        let (authority, _) = at(rest.strip_prefix("//")?, &['/', '?', '#']);
        return (is_http && is_plain(authority)).then(|| reference.to_owned());
    }
    if let Some(rest) = reference.strip_prefix("//") {
        let (authority, rest) = at(rest, &['/', '?', '#']);
        let (path, behind) = at(rest, &['?', '#']);
        let path = without_dots(path);
        return is_plain(authority).then(|| format!("{scheme}://{authority}{path}{behind}"));
    }
    let (authority, rest) = at(rest, &['/', '?', '#']);
    let (above, behind) = at(rest, &['?', '#']);
    let (query, _) = at(behind, &['#']);
    let (given, own) = at(reference, &['?', '#']);
    let path = match given {
        "" => above.to_owned(),
        path if path.starts_with('/') => without_dots(path),
        path => {
            let folder = above.rfind('/').map_or("/", |last| &above[..=last]);
            without_dots(&format!("{folder}{path}"))
        }
    };
    let inherited = match given.is_empty() && !own.starts_with('?') {
        true => query,
        false => "",
    };
    Some(format!("{scheme}://{authority}{path}{inherited}{own}"))
}

/// The characters of a URL (RFC 3986 §2), and brackets, which are common in queries.
fn is_valid(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)
}

/// Scheme and rest of an absolute reference.
fn with_scheme(reference: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = reference.split_once(':')?;
    let mut bytes = scheme.bytes();
    let begins = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let is_one = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    (begins && bytes.all(is_one)).then_some((scheme, rest))
}

/// Splits a text before the first of these characters.
fn at<'a>(text: &'a str, any: &[char]) -> (&'a str, &'a str) {
    text.split_at(text.find(any).unwrap_or(text.len()))
}

/// Whether all programs read this host and port alike. Browsers decode host names, and take numbers of many forms for
/// addresses.
fn is_plain(authority: &str) -> bool {
    let (user, authority) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (authority, ""),
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_number = host
        .trim_end_matches('.')
        .rsplit('.')
        .next()
        .is_some_and(|label| label.starts_with(|first: char| first.is_ascii_digit()));
    let six = host.strip_prefix('[').and_then(|six| six.strip_suffix(']'));
    let is_host = match six {
        Some(six) => six.parse::<Ipv6Addr>().is_ok(),
        None if is_number => host.parse::<Ipv4Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(is_name),
    };
    is_host && !user.contains(['@', '[', ']']) && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// A path that begins with a slash or is empty, without its dots (RFC 3986 §5.2.4).
fn without_dots(path: &str) -> String {
    let mut segments_left: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        match segment {
            "." | ".." => {
                if segment == ".." {
                    segments_left.pop();
                }
                if segments.peek().is_none() {
                    segments_left.push("");
                }
            }
            segment => segments_left.push(segment),
        }
    }
    segments_left
        .iter()
        .flat_map(|segment| ["/", segment])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_reference_stays_as_it_is() {
        let base = "http://host/v1/x?it's";
        for (reference, url) in [
            ("http://other/a/../b?c='d'", "http://other/a/../b?c='d'"),
            (
                "HTTPS://Other:443/%2e%2E/x?%7E#f",
                "HTTPS://Other:443/%2e%2E/x?%7E#f",
            ),
            ("//other/a/../b'", "http://other/b'"),
            ("//other?a", "http://other?a"),
            ("http://u:p@other/'", "http://u:p@other/'"),
            ("//[::1]:80/'", "http://[::1]:80/'"),
            ("y?c='d'&e[]=1", "http://host/v1/y?c='d'&e[]=1"),
            ("../%2e%2e/y", "http://host/%2e%2e/y"),
            ("a//b/./c/", "http://host/v1/a//b/c/"),
            ("", "http://host/v1/x?it's"),
            ("#f", "http://host/v1/x?it's#f"),
            ("?'", "http://host/v1/x?'"),
            ("/a/b/..", "http://host/a/"),
            ("/a:b", "http://host/a:b"),
        ] {
            assert_eq!(
                merge(base, reference).as_deref(),
                Some(url),
                "{reference:?}"
            );
        }
        assert_eq!(merge("http://host", "x").as_deref(), Some("http://host/x"));
        assert_eq!(
            merge("http://host?q", "x").as_deref(),
            Some("http://host/x")
        );
    }

    #[test]
    fn unusual_references_are_left_to_the_url_crate() {
        for reference in [
            "http://a@b@c/",
            "http://[::g]/",
            "a b",
            "\u{e9}",
            "a\\b",
            "a|b",
            "\"",
            "mailto:x",
            "http:x",
            "http:///x",
            "//",
            "http://u:p@/",
            "//0x7f.1/",
            "http://1/",
            "http://127.1/",
            "http://h%6fst/",
            "http://host:x/",
        ] {
            assert_eq!(merge("http://host/", reference), None, "{reference:?}");
        }
    }

    proptest::proptest! {
        /// If nothing needs encoding, the `url` crate gives the same URL.
        #[test]
        fn the_result_is_that_of_the_url_crate(reference in "[a-z./?#:]{0,12}|(//)?[a-z]{1,3}(/|[.]{1,3}|[a-z?#]){0,10}") {
            let base = "http://host/a/b/c?d";
            if let Some(merged) = merge(base, &reference) {
                let joined = url::Url::parse(base).unwrap().join(&reference).unwrap();
                let merged = url::Url::parse(&merged).unwrap();
                proptest::prop_assert_eq!(merged, joined);
            }
        }
    }
}
