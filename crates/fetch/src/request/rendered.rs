//! A request as text, before the engine's own form of it.

use std::borrow::Cow;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

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

impl Rendered<'_> {
    /// The same on its own.
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

    /// The digest of the request: equal requests have equal digests.
    pub fn digest(&self) -> u128 {
        let mut hasher = SipHasher13::new();
        let mut part = |text: &str| {
            hasher.write(text.as_bytes());
            hasher.write_u8(0xff);
        };
        part(&self.method);
        part(&self.url);
        for (name, value) in &self.headers {
            part(name);
            part(value);
        }
        if let Some(body) = &self.body {
            part(body);
        }
        hasher.finish128().as_u128()
    }
}
