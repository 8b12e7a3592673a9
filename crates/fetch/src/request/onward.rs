//! Where a redirect leads, and what of the request goes there: pure decisions.
//!
//! A run follows redirects itself, each as a request of its own, so that every host's limits hold for them too.

use std::borrow::Cow;

use hecaton::Redirect;
use url::Url;

use super::Rendered;
use crate::host::{Host, Whose};

/// The next URL of an input, after a redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Onward {
    /// The URL.
    pub url: String,
    /// How many redirects led there.
    pub followed: u32,
    /// How many requests were sent before it.
    pub before: u32,
    /// Whether the request became a GET without a body on the way.
    is_get: bool,
    /// Whether another origin was on the way: what proves who asks is not sent any more.
    pub has_left: bool,
}

/// What an answer asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: it is the answer.
    Stay,
    /// This URL.
    To(Onward),
    /// A URL that is not asked, and why.
    Refused(Option<String>, String),
}

/// What an answer asks for with its status and its `Location`. `rendered` is the input's request, `earlier` the way so far.
pub fn step(
    (status, location): (u16, Option<&[u8]>),
    rendered: &Rendered<'_>,
    earlier: Option<&Onward>,
    most: u32,
) -> Step {
    let (true, Some(location)) = (Redirect::is_one(status), location) else {
        return Step::Stay;
    };
    let here = earlier.map_or(&*rendered.url, |onward| &onward.url);
    let Some((here, mut there)) = resolve(here, location) else {
        let shown = String::from_utf8_lossy(location);
        return Step::Refused(None, format!("it leads to {shown:?}, which is not a URL"));
    };
    there.set_fragment(None);
    let followed = earlier.map_or(0, |onward| onward.followed);
    if let Some(why) = refusal(&here, &there, followed >= most, most) {
        let place = there.username().is_empty() && there.password().is_none();
        return Step::Refused(place.then(|| there.into()), why);
    }
    let method = match earlier {
        Some(onward) if onward.is_get => "GET",
        _ => &*rendered.method,
    };
    let becomes_get = Redirect::becomes_get(status, method);
    Step::To(Onward {
        has_left: earlier.is_some_and(|onward| onward.has_left) || here.origin() != there.origin(),
        is_get: earlier.is_some_and(|onward| onward.is_get) || becomes_get,
        followed: followed + 1,
        before: 0,
        url: there.into(),
    })
}

fn resolve(here: &str, location: &[u8]) -> Option<(Url, Url)> {
    let here = Url::parse(here).ok()?;
    let there = here.join(std::str::from_utf8(location).ok()?.trim()).ok()?;
    Some((here, there))
}

fn refusal(here: &Url, there: &Url, is_too_far: bool, most: u32) -> Option<String> {
    if !matches!(there.scheme(), "http" | "https") {
        let scheme = there.scheme();
        return Some(format!(
            "it leads to the scheme {scheme:?}: only http and https are followed"
        ));
    }
    if !there.username().is_empty() || there.password().is_some() {
        return Some("it leads to a URL with credentials in it".into());
    }
    if is_too_far {
        return Some(format!(
            "more redirects than the allowed {most}: the last leads to {there}"
        ));
    }
    if here.scheme() == "https" && there.scheme() == "http" {
        return Some(format!("it leads from https to http, {there}"));
    }
    let is_foreign = |url: &Url| Host::of(url.as_str()).map(|host| host.whose() == Whose::Foreign);
    match (is_foreign(here), is_foreign(there)) {
        (_, Err(why)) => Some(format!("it leads to {there}, which {why}")),
        (Ok(true), Ok(false)) => Some(format!(
            "a host of others leads to {there}, in a network of your own"
        )),
        _ => None,
    }
}

/// The request of an input, as it goes on.
pub(super) fn rendered<'a>(rendered: &'a Rendered<'a>, onward: &'a Onward) -> Rendered<'a> {
    Rendered {
        method: match onward.is_get {
            true => Cow::Borrowed("GET"),
            false => Cow::Borrowed(&rendered.method),
        },
        url: Cow::Borrowed(&onward.url),
        headers: match onward.has_left {
            true => Vec::new(),
            false => rendered.headers.clone(),
        },
        body: match (&rendered.body, onward.is_get) {
            (Some(body), false) => Some(Cow::Borrowed(body)),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &'static str, url: &'static str) -> Rendered<'static> {
        Rendered {
            method: Cow::Borrowed(method),
            url: Cow::Borrowed(url),
            headers: vec![(Cow::Borrowed("X-Key"), Cow::Borrowed("secret"))],
            body: Some(Cow::Borrowed("body")),
        }
    }

    fn to(step: Step) -> Onward {
        match step {
            Step::To(onward) => onward,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn methods_bodies_and_headers_change_as_the_way_asks() {
        let asked = request("POST", "http://a.example/x?y");
        let first = to(step((307, Some(b"/z")), &asked, None, 5));
        assert_eq!(
            (&*first.url, first.followed, first.has_left),
            ("http://a.example/z", 1, false)
        );
        let same = rendered(&asked, &first);
        assert_eq!((&*same.method, same.headers.len()), ("POST", 1));
        assert_eq!(same.body.as_deref(), Some("body"));
        let second = to(step(
            (302, Some(b"http://b.example/#part")),
            &asked,
            Some(&first),
            5,
        ));
        let gone = rendered(&asked, &second);
        assert_eq!((&*gone.method, &*gone.url), ("GET", "http://b.example/"));
        assert_eq!((gone.headers.len(), gone.body), (0, None));
        // Back where it came from: what was left behind stays there.
        let third = to(step(
            (307, Some(b"http://a.example/")),
            &asked,
            Some(&second),
            5,
        ));
        assert!(third.has_left && third.is_get);
        assert_eq!(step((200, Some(b"/z")), &asked, None, 5), Step::Stay);
        assert_eq!(step((302, None), &asked, None, 5), Step::Stay);
    }

    #[test]
    fn what_is_not_followed_is_told() {
        let asked = request("GET", "https://a.example/");
        for (location, word) in [
            (&b"ftp://a.example/"[..], "scheme"),
            (b"https://joe:hidden@a.example/", "credentials"),
            (b"http://a.example/", "from https to http"),
            (b"https://127.0.0.1/", "network of your own"),
            (b"https://printer.local/", "network of your own"),
            (b"https://[", "not a URL"),
            (b"\xff", "not a URL"),
        ] {
            match step((301, Some(location)), &asked, None, 5) {
                Step::Refused(place, why) => {
                    assert!(why.contains(word), "{why}");
                    assert!(
                        !why.contains("hidden") && !place.unwrap_or_default().contains("hidden")
                    );
                }
                other => panic!("{other:?}"),
            }
        }
        let mut way: Option<Onward> = None;
        for _ in 0..3 {
            way = Some(to(step((302, Some(b"/")), &asked, way.as_ref(), 3)));
        }
        let end = step((302, Some(b"/")), &asked, way.as_ref(), 3);
        assert!(matches!(end, Step::Refused(Some(_), why) if why.contains("allowed 3")));
    }
}
