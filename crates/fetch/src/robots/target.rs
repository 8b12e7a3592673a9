//! The paths by which a URL is judged: as it is sent, and as servers may read it.

use url::Url;

/// The path of a URL with its query, as it is sent.
pub(super) fn sent(url: &str) -> &str {
    let rest = url.find("://").map_or(url, |at| &url[at + 3..]);
    let rest = rest.split('#').next().unwrap_or(rest);
    rest.find(['/', '?']).map_or("/", |at| &rest[at..])
}

/// The paths of a URL with its query, as servers may read them; none if all read it as it is sent. A query without a
/// path is sent behind a slash.
///
/// - As the URL standard does: `/a/../b` and `/%2e/b` are sent as they are, and servers respond with `/b`.
/// - As nginx does unless it is told otherwise: it decodes slashes, too, and reads several of them as one.
pub(super) fn meant(url: &str) -> Vec<String> {
    let sent = sent(url);
    let (path, query) = match sent.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (sent, None),
    };
    if is_plain(path) {
        return Vec::new();
    }
    let standard = Url::parse(url).map(|url| url.path().to_owned());
    let standard = standard.unwrap_or_else(|_| path.to_owned());
    let merged = merged(&path.replace("%2f", "/").replace("%2F", "/"));
    let merged = Url::parse("http://h").and_then(|root| root.join(&merged));
    let merged = merged.map(|url| self::merged(url.path()));
    let paths = [Some(standard), merged.ok()].into_iter().flatten();
    paths
        .map(|path| match query {
            Some(query) => format!("{path}?{query}"),
            None => path,
        })
        .collect()
}

/// A path that begins with a slash, with one slash where several are.
fn merged(path: &str) -> String {
    let mut out = String::from("/");
    for c in path.chars().map(|c| if c == '\\' { '/' } else { c }) {
        if c != '/' || !out.ends_with('/') {
            out.push(c);
        }
    }
    out
}

/// Whether all readers read a path in one way, as they do with most.
fn is_plain(path: &str) -> bool {
    let has = |text: &str| path.contains(text);
    let is_usual = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    path.starts_with('/')
        && path.bytes().all(is_usual)
        && !["/.", "//", "/%2e", "/%2E", "%2f", "%2F"]
            .into_iter()
            .any(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_the_path_that_is_sent_and_those_that_are_meant() {
        for (url, is_sent, are_meant) in [
            ("http://h", "/", &[][..]),
            ("http://h#x", "/", &[]),
            ("http://h/a?b#c", "/a?b", &[]),
            ("http://h/a.b/c..d", "/a.b/c..d", &[]),
            ("http://h?x=1", "?x=1", &["/?x=1"; 2]),
            ("http://h/a/../b", "/a/../b", &["/b"; 2]),
            ("http://h/%2e/b?c", "/%2e/b?c", &["/b?c"; 2]),
            ("http://h/a/.%2E/b", "/a/.%2E/b", &["/b"; 2]),
            ("http://h/a\\..\\b", "/a\\..\\b", &["/b"; 2]),
            ("http://h//a", "//a", &["//a", "/a"]),
            (
                "http://h/a///b?c//d#e",
                "/a///b?c//d",
                &["/a///b?c//d", "/a/b?c//d"],
            ),
            ("http://h/a//../b", "/a//../b", &["/a/b", "/b"]),
            ("http://h/%2Fa", "/%2Fa", &["/%2Fa", "/a"]),
            ("http://h/a%2f..%2fb", "/a%2f..%2fb", &["/a%2f..%2fb", "/b"]),
            (
                "http://h/a/%2e%2e%2F/b",
                "/a/%2e%2e%2F/b",
                &["/a/%2e%2e%2F/b", "/b"],
            ),
        ] {
            assert_eq!(sent(url), is_sent, "{url}");
            assert_eq!(meant(url), are_meant, "{url}");
        }
    }
}
