//! A request as text, before the engine's own form of it.

use std::borrow::Cow;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};
use url::Url;

use crate::host::plain_host;

/// A request in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered<'a> {
    /// The method.
    pub method: Cow<'a, str>,
    /// The URL.
    pub url: Cow<'a, str>,
    /// The headers that not all requests have.
    pub headers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// The body.
    pub body: Option<Cow<'a, str>>,
}

/// A URL as it is compared: as the URL standard writes it, without a fragment.
fn canonical(url: &str) -> Cow<'_, str> {
    if is_canonical(url) {
        return Cow::Borrowed(url);
    }
    match Url::parse(url) {
        Ok(mut read) => {
            read.set_fragment(None);
            Cow::Owned(read.into())
        }
        Err(_) => Cow::Borrowed(url),
    }
}

/// Whether a URL is plainly its own canonical form, as most are: to read each takes longer than all else.
fn is_canonical(url: &str) -> bool {
    let (Some(host), Some((_, rest))) = (plain_host(url), url.split_once(':')) else {
        return false;
    };
    let path = &rest["//".len() + host.len()..];
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_~?=&+,;:@%".contains(&byte);
    let is_path = path.bytes().all(|byte| is_plain(byte) || byte == b'.');
    // A dot may be a segment that stands for another path.
    is_path && path.starts_with('/') && !path.as_bytes().windows(2).any(|two| two == b"/.")
}

/// The digest of a URL: URLs that are one request have one.
pub fn digest_of(url: &str) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(canonical(url).as_bytes());
    hasher.finish128().h1
}

impl Rendered<'_> {
    /// A copy that borrows nothing.
    pub fn into_owned(self) -> Rendered<'static> {
        let owned = |text: Cow<'_, str>| Cow::<'static, str>::Owned(text.into_owned());
        let headers = self.headers.into_iter();
        Rendered {
            method: owned(self.method),
            url: owned(self.url),
            headers: headers
                .map(|(name, value)| (owned(name), owned(value)))
                .collect(),
            body: self.body.map(owned),
        }
    }

    /// The digest of the request and of what is wanted of its response: equal ones have equal digests.
    pub(super) fn digest<'a>(&self, wanted: impl Iterator<Item = &'a str>) -> u128 {
        let mut hasher = SipHasher13::new();
        let mut part = |text: &str| {
            hasher.write(text.as_bytes());
            hasher.write_u8(0xff);
        };
        part(&self.method);
        part(&canonical(&self.url));
        for (name, value) in &self.headers {
            part(name);
            part(value);
        }
        if let Some(body) = &self.body {
            part(body);
        }
        wanted.for_each(part);
        hasher.finish128().as_u128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(url: &str) -> u128 {
        let rendered = Rendered {
            method: "GET".into(),
            url: url.into(),
            headers: Vec::new(),
            body: None,
        };
        rendered.digest(std::iter::empty())
    }

    #[test]
    fn urls_that_are_one_request_have_one_digest() {
        let first = digest("http://a.example/b?c");
        for same in [
            "http://a.example/b?c#d",
            "HTTP://a.example/b?c",
            "http://A.EXAMPLE:80/b?c",
            "http://a.example/x/../b?c",
        ] {
            assert_eq!(digest(same), first, "{same}");
        }
        for other in [
            "http://a.example/B?c",
            "https://a.example/b?c",
            "http://a.example/b?c=",
            "http://a.example/b/?c",
        ] {
            assert_ne!(digest(other), first, "{other}");
        }
        assert_eq!(digest("http://a.example"), digest("http://a.example/"));
    }

    proptest::proptest! {
        #[test]
        fn what_looks_canonical_is(url in "https?://[a-c0-9.-]{1,8}(:[0-9]{1,5})?/[a-cA-C0-9./%?=&;@:~_-]{0,12}") {
            if is_canonical(&url) {
                if let Ok(read) = Url::parse(&url) {
                    proptest::prop_assert_eq!(url, String::from(read));
                }
            }
        }
    }
}
