//! The paths by which a URL is judged: as it is sent, and as a server may read it.

use url::Url;

/// The path of a URL with its query, as it is sent.
pub(super) fn sent(url: &str) -> &str {
    let rest = url.find("://").map_or(url, |at| &url[at + 3..]);
    let rest = rest.split('#').next().unwrap_or(rest);
    rest.find(['/', '?']).map_or("/", |at| &rest[at..])
}

/// The path of a URL with its query, as the URL standard reads it, if that may differ from what is sent. `/a/../b` and
/// `/%2e/b` are sent as they are, and servers respond with `/b`. A query without a path is sent behind a slash.
pub(super) fn meant(url: &str) -> Option<String> {
    if is_plain(sent(url)) {
        return None;
    }
    let url = Url::parse(url).ok()?;
    Some(match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    })
}

/// Whether all readers read a path in one way, as they do with most.
fn is_plain(path: &str) -> bool {
    let has_dots = |begin: &str| path.contains(begin);
    let is_usual = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    path.starts_with('/')
        && path.bytes().all(is_usual)
        && !["/.", "/%2e", "/%2E"].into_iter().any(has_dots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_the_path_that_is_sent_and_the_one_that_is_meant() {
        for (url, is_sent, is_meant) in [
            ("http://h", "/", None),
            ("http://h#x", "/", None),
            ("http://h/a?b#c", "/a?b", None),
            ("http://h/a.b/c..d", "/a.b/c..d", None),
            ("http://h?x=1", "?x=1", Some("/?x=1")),
            ("http://h/a/../b", "/a/../b", Some("/b")),
            ("http://h/%2e/b?c", "/%2e/b?c", Some("/b?c")),
            ("http://h/a/.%2E/b", "/a/.%2E/b", Some("/b")),
            ("http://h/a\\..\\b", "/a\\..\\b", Some("/b")),
        ] {
            assert_eq!(
                (sent(url), meant(url).as_deref()),
                (is_sent, is_meant),
                "{url}"
            );
        }
    }
}
