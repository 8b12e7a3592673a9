//! Remembers the host of the last URL. Lists often have many URLs of one host in a row, and parsing each of them would
//! take the most time.

use super::{Host, NoHost, Whose};

/// Remembers one host.
#[derive(Default)]
pub struct LastHost {
    /// The beginning of its URL, up to the path.
    start: String,
    host: String,
    foreign: bool,
}

impl LastHost {
    /// The host of a URL, and whether it is someone else's.
    ///
    /// # Errors
    /// When the URL names none.
    pub fn of(&mut self, url: &str) -> Result<(&str, bool), NoHost> {
        let start = start(url);
        if self.start != start || start.is_empty() {
            let host = Host::of(url)?;
            self.foreign = host.whose() == Whose::Foreign;
            self.host.clear();
            self.host.push_str(host.as_str());
            self.start.clear();
            self.start.push_str(start);
        }
        Ok((&self.host, self.foreign))
    }

    /// Whether the host of a URL is someone else's. A host that cannot be read counts as someone else's.
    pub fn is_foreign(&mut self, url: &str) -> bool {
        self.of(url).map_or(true, |(_, foreign)| foreign)
    }
}

/// Scheme, user, host and port; empty if only the URL parser can tell them.
fn start(url: &str) -> &str {
    let colon = url.bytes().position(|byte| byte == b':');
    let Some(at) = colon.filter(|at| url[*at..].starts_with("://")) else {
        return "";
    };
    let rest = &url.as_bytes()[at + 3..];
    // Any other character may be rewritten by the URL parser, so the parser decides.
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_:@[]".contains(byte);
    let end = rest
        .iter()
        .position(|byte| !is_plain(byte))
        .unwrap_or(rest.len());
    match rest.get(end) {
        None | Some(b'/' | b'?' | b'#') if end > 0 => &url[..at + 3 + end],
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_reading_each_url_says() {
        let mut last = LastHost::default();
        for url in [
            "http://a.example/1",
            "http://a.example/2?x",
            "http://a.example",
            "http://A.example/3",
            "https://a.example/4",
            "http://a.example:8080/5",
            "http://a.example\\@b.example/6",
            "http://b.example/7",
            "http://user@b.example/8",
            "http://127.0.0.1:80/9",
            "http://127.0.0.1/10",
            "http://[::1]:9/11",
            "http://\u{e4}.example/12",
            "http:///13",
            "no url",
        ] {
            let read = Host::of(url)
                .map(|host| (host.as_str().to_owned(), host.whose() == Whose::Foreign));
            for _ in 0..2 {
                let found = last
                    .of(url)
                    .map(|(host, foreign)| (host.to_owned(), foreign));
                assert_eq!(found, read, "{url}");
            }
        }
    }
}
