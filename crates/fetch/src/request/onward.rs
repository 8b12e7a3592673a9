//! Where a redirect leads, and what of the request goes there: pure decisions.
//!
//! A run follows redirects itself, each as a request of its own, so that every host's limits hold for them too.

use std::borrow::Cow;

use hecaton::Redirect;
use url::Url;

use super::Rendered;
use crate::host::{Host, Whose, is_same_site};
use crate::job::Reach;
use crate::record::Way;

/// A URL behind those before it, to which no redirect led yet.
fn after(earlier: Option<&Way>, leaves: bool, url: String) -> Way {
    Way {
        has_left: leaves || earlier.is_some_and(|onward| onward.has_left),
        is_get: earlier.is_some_and(|onward| onward.is_get),
        url,
        ..Way::default()
    }
}

/// A URL that is not fetched, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfetched {
    /// Why not.
    pub why: String,
    /// The URL, if there is one that may be shown.
    pub url: Option<String>,
}

impl From<String> for Unfetched {
    fn from(why: String) -> Unfetched {
        Unfetched { why, url: None }
    }
}

/// The next step after a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// No step: this is the final response.
    Stay,
    /// This URL.
    To(Way),
    /// A URL that is not fetched.
    Refused(Unfetched),
}

/// Which redirects are followed.
#[derive(Clone, Copy, Debug)]
pub struct RedirectLimits {
    /// How many of an input.
    pub most: u32,
    /// Where to.
    pub reach: Reach,
}

/// The next step after a response with this status and these header fields. `rendered` is the input's request,
/// and `earlier` the redirects so far.
pub fn step<'a>(
    status: u16,
    fields: impl Iterator<Item = (&'a str, &'a [u8])>,
    rendered: &Rendered<'_>,
    earlier: Option<&Way>,
    limits: RedirectLimits,
) -> Step {
    if !Redirect::is_one(status) {
        return Step::Stay;
    }
    let here = earlier.map_or(&*rendered.url, |onward| &onward.url);
    let (here, there, url) = match target(fields, here) {
        Ok(Some(target)) => target,
        Ok(None) => return Step::Stay,
        Err(why) => return Step::Refused(why.into()),
    };
    let followed = earlier.map_or(0, |onward| onward.followed);
    let is_get = earlier.is_some_and(|onward| onward.is_get);
    let method = if is_get { "GET" } else { &*rendered.method };
    let becomes_get = Redirect::becomes_get(status, method);
    let is_public = there.username().is_empty() && there.password().is_none();
    let why = match becomes_get && status != 303 {
        true => Some(format!(
            "the redirect is not followed: after a {status}, a {method} would go on as a GET without its body"
        )),
        false => refusal(&here, &there, followed, limits),
    };
    if let Some(why) = why {
        let url = is_public.then_some(url);
        return Step::Refused(Unfetched { why, url });
    }
    let next = after(earlier, here.origin() != there.origin(), url);
    Step::To(Way {
        is_get: next.is_get || becomes_get,
        followed: followed + 1,
        status: Some(status),
        ..next
    })
}

/// The request for a next page, whose URL a response names. `earlier` is where redirects and pages led so far.
///
/// # Errors
/// Why it is not fetched: the rules of redirects hold for it.
pub fn next_page(
    found: &str,
    rendered: &Rendered<'_>,
    earlier: Option<&Way>,
    reach: Reach,
) -> Result<Way, String> {
    let here = earlier.map_or(&*rendered.url, |onward| &onward.url);
    let (here, there, url) =
        resolve(here, found).ok_or_else(|| format!("{found:?} is not a URL"))?;
    match refusal(&here, &there, 0, RedirectLimits { most: 1, reach }) {
        Some(why) => Err(why),
        None => Ok(after(earlier, here.origin() != there.origin(), url)),
    }
}

/// The URL of a redirect, and its target, as [`resolve`] returns them. None without a target.
fn target<'a>(
    fields: impl Iterator<Item = (&'a str, &'a [u8])>,
    here: &str,
) -> Result<Option<(Url, Url, String)>, String> {
    let Some(location) = Redirect::location(fields)? else {
        return Ok(None);
    };
    let resolved = resolve(here, &location);
    let wrong = || format!("it leads to {location:?}, which is not a URL");
    resolved.map(Some).ok_or_else(wrong)
}

/// Both URLs as they are compared, and the second as it is sent.
fn resolve(here: &str, location: &str) -> Option<(Url, Url, String)> {
    let mut url = hecaton::join(here, location).ok()?;
    url.truncate(url.find('#').unwrap_or(url.len()));
    let there = Url::parse(&url).ok()?;
    Some((Url::parse(here).ok()?, there, url))
}

/// Why a redirect is not followed, after so many others.
fn refusal(here: &Url, there: &Url, followed: u32, limits: RedirectLimits) -> Option<String> {
    let RedirectLimits { most, reach } = limits;
    if !matches!(there.scheme(), "http" | "https") {
        let scheme = there.scheme();
        return Some(format!(
            "it leads to the scheme {scheme:?}: only http and https are followed"
        ));
    }
    if !there.username().is_empty() || there.password().is_some() {
        return Some("it leads to a URL with credentials in it".into());
    }
    if followed >= most {
        return Some(format!(
            "more redirects than the allowed {most}: the last leads to {there}"
        ));
    }
    if here.scheme() == "https" && there.scheme() == "http" {
        return Some(format!("it leads from https to http, {there}"));
    }
    if reach == Reach::Site && !is_same_site(here.as_str(), there.as_str()) {
        return Some(format!(
            "it leads to another site, {there}: --redirects-to any follows it there"
        ));
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

/// The request of an input after its redirects so far.
///
/// Of its own headers only public ones leave its origin, as with those that all requests have.
pub(super) fn rendered<'a>(
    rendered: &'a Rendered<'a>,
    onward: &'a Way,
    template: &hecaton::Template,
) -> Rendered<'a> {
    let goes = |name: &str| {
        let is_left = onward.is_get && Redirect::describes_content(&name.to_ascii_lowercase());
        !is_left && (!onward.has_left || template.is_public(name))
    };
    let headers = rendered.headers.iter();
    Rendered {
        method: match onward.is_get {
            true => Cow::Borrowed("GET"),
            false => Cow::Borrowed(&rendered.method),
        },
        url: Cow::Borrowed(&onward.url),
        headers: headers.filter(|(name, _)| goes(name)).cloned().collect(),
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
            headers: vec![
                (Cow::Borrowed("X-Key"), Cow::Borrowed("secret")),
                (Cow::Borrowed("Content-Type"), Cow::Borrowed("text/plain")),
            ],
            body: Some(Cow::Borrowed("body")),
        }
    }

    fn step(
        (status, location): (u16, Option<&[u8]>),
        rendered: &Rendered<'_>,
        earlier: Option<&Way>,
        most: u32,
    ) -> Step {
        let fields = location.into_iter().map(|value| ("location", value));
        let reach = Reach::Any;
        super::step(
            status,
            fields,
            rendered,
            earlier,
            RedirectLimits { most, reach },
        )
    }

    fn limits(reach: Reach) -> RedirectLimits {
        RedirectLimits { most: 5, reach }
    }

    fn rendered<'a>(original: &'a Rendered<'a>, onward: &'a Way) -> Rendered<'a> {
        let template = hecaton::Template::new(&hecaton::Defaults::default()).unwrap();
        super::rendered(original, onward, &template)
    }

    fn to(step: Step) -> Way {
        match step {
            Step::To(onward) => onward,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn methods_bodies_and_headers_change_as_the_way_demands() {
        let original = request("POST", "http://a.example/x?y");
        let first = to(step((307, Some(b"/z")), &original, None, 5));
        assert_eq!(
            (&*first.url, first.followed, first.has_left),
            ("http://a.example/z", 1, false)
        );
        let same = rendered(&original, &first);
        assert_eq!((&*same.method, same.headers.len()), ("POST", 2));
        assert_eq!(same.body.as_deref(), Some("body"));
        let got = to(step((303, Some(b"/got")), &original, Some(&first), 5));
        let got = rendered(&original, &got);
        let names: Vec<_> = got.headers.iter().map(|(name, _)| &**name).collect();
        assert_eq!(
            (&*got.method, got.body.as_deref(), &names[..]),
            ("GET", None, &["X-Key"][..])
        );
        let second = to(step(
            (303, Some(b"http://b.example/#part")),
            &original,
            Some(&first),
            5,
        ));
        let gone = rendered(&original, &second);
        assert_eq!((&*gone.method, &*gone.url), ("GET", "http://b.example/"));
        assert_eq!((gone.headers.len(), gone.body), (0, None));
        let abroad = to(step((307, Some(b"http://b.example/")), &original, None, 5));
        let abroad = rendered(&original, &abroad);
        let names: Vec<_> = abroad.headers.iter().map(|(name, _)| &**name).collect();
        assert_eq!(
            (&names[..], abroad.body.as_deref()),
            (&["Content-Type"][..], Some("body"))
        );
        // Back where it came from: what was left behind stays there.
        let third = to(step(
            (307, Some(b"http://a.example/")),
            &original,
            Some(&second),
            5,
        ));
        assert!(third.has_left && third.is_get);
        assert_eq!(step((200, Some(b"/z")), &original, None, 5), Step::Stay);
        assert_eq!(step((302, None), &original, None, 5), Step::Stay);
    }

    #[test]
    fn an_order_does_not_become_a_question() {
        for (method, statuses) in [
            ("GET", &[301, 302, 303, 307, 308][..]),
            ("HEAD", &[301, 302, 303, 307, 308]),
            ("PUT", &[301, 302, 303, 307, 308]),
            ("POST", &[303, 307, 308]),
        ] {
            for status in [301, 302, 303, 307, 308] {
                let next = step(
                    (status, Some(b"/z")),
                    &request(method, "http://a.example/"),
                    None,
                    5,
                );
                match statuses.contains(&status) {
                    true => drop(to(next)),
                    false => assert!(
                        matches!(&next, Step::Refused(it) if it.url.as_deref() == Some("http://a.example/z") && it.why.contains("not followed")),
                        "{method} {status}: {next:?}"
                    ),
                }
            }
        }
        // This is the reason also where there are others.
        let post = request("POST", "http://a.example/");
        let far = step((302, Some(b"http://u:p@b.example/")), &post, None, 0);
        assert!(
            matches!(&far, Step::Refused(it) if it.url.is_none() && it.why.contains("as a GET")),
            "{far:?}"
        );
        // A POST that became a GET is followed as a GET.
        let got = to(step((303, Some(b"/got")), &post, None, 5));
        to(step((302, Some(b"/on")), &post, Some(&got), 5));
    }

    #[test]
    fn a_get_with_a_body_keeps_it_and_several_locations_must_agree() {
        let original = request("GET", "http://a.example/");
        let next = to(step((303, Some(b"/z")), &original, None, 5));
        assert_eq!(rendered(&original, &next).body.as_deref(), Some("body"));
        let twice = |second: &'static [u8]| {
            let fields = [("location", &b"/a"[..]), ("location", second)];
            super::step(302, fields.into_iter(), &original, None, limits(Reach::Any))
        };
        assert_eq!(&*to(twice(b"/a")).url, "http://a.example/a");
        assert!(
            matches!(twice(b"/b"), Step::Refused(it) if it.url.is_none() && it.why.contains("disagree"))
        );
    }

    #[test]
    fn a_site_has_one_name_with_and_without_www() {
        let original = request("GET", "http://a.example/");
        let step = |location: &'static [u8], reach| {
            let fields = [("location", location)].into_iter();
            super::step(301, fields, &original, None, limits(reach))
        };
        for near in [
            &b"/x"[..],
            b"https://www.a.example/",
            b"https://A.example:443/",
        ] {
            to(step(near, Reach::Site));
        }
        for far in [
            &b"http://b.example/"[..],
            b"http://a.example:8080/",
            b"http://shop.a.example/",
        ] {
            let refused = step(far, Reach::Site);
            assert!(
                matches!(&refused, Step::Refused(it) if it.url.is_some() && it.why.contains("--redirects-to any")),
                "{refused:?}"
            );
            to(step(far, Reach::Any));
        }
    }

    #[test]
    fn a_valid_location_stays_as_it_is() {
        let original = request("GET", "http://a.example/x");
        let url = "http://b.example/a/../b?c='d'&e=%7e";
        let next = to(step((302, Some(url.as_bytes())), &original, None, 5));
        assert_eq!(next.url, url);
        let latin = to(step((302, Some(b"/caf\xe9?\xfc")), &original, None, 5));
        assert_eq!(latin.url, "http://a.example/caf%e9?%fc");
    }

    #[test]
    fn the_reason_for_not_following_is_reported() {
        let original = request("GET", "https://a.example/");
        for (location, word) in [
            (&b"ftp://a.example/"[..], "scheme"),
            (b"https://joe:hidden@a.example/", "credentials"),
            (b"http://a.example/", "from https to http"),
            (b"https://127.0.0.1/", "network of your own"),
            (b"https://printer.local/", "network of your own"),
            (b"https://[", "not a URL"),
            (b"/a\tb", "control character"),
        ] {
            match step((301, Some(location)), &original, None, 5) {
                Step::Refused(Unfetched { url, why }) => {
                    assert!(why.contains(word), "{why}");
                    assert!(!why.contains("hidden") && !url.unwrap_or_default().contains("hidden"));
                }
                other => panic!("{other:?}"),
            }
        }
        let encoded = to(step((301, Some(b"/caf\xe9")), &original, None, 5));
        assert_eq!(encoded.url, "https://a.example/caf%e9");
        let mut way: Option<Way> = None;
        for _ in 0..3 {
            way = Some(to(step((302, Some(b"/")), &original, way.as_ref(), 3)));
        }
        let end = step((302, Some(b"/")), &original, way.as_ref(), 3);
        assert!(
            matches!(end, Step::Refused(it) if it.url.is_some() && it.why.contains("allowed 3"))
        );
    }
}
