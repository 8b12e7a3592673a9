//! Where a redirect leads, and which parts of the request go there. Nothing here sends.

use http::Method;

use crate::config::redirect_hosts;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::fields::Fields;
use crate::message::origin::{Origin, Scheme, display_url};
use crate::message::reason::Reason;
use crate::message::redirect::Redirect;
use crate::message::reference;
use crate::message::request::Request;
use crate::message::zone;

/// The limits for the redirects of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits<'a> {
    pub most: u32,
    /// Whether https may lead to http.
    pub to_http: bool,
    /// Whether a redirect may return to a URL: with cookies, the response may then differ. Lenient clients follow it as
    /// curl does.
    pub may_return: bool,
    pub hosts: Option<&'a [String]>,
    /// Whether a user and a password in a Location are dropped, instead of refused.
    pub with_login: bool,
}

/// The redirects of one request.
pub(crate) struct Trail<'a> {
    limits: Limits<'a>,
    /// Each request so far.
    seen: Vec<Step>,
}

/// A request of the trail.
#[derive(PartialEq)]
struct Step {
    method: Method,
    url: String,
}

impl<'a> Trail<'a> {
    pub fn new(request: &Request, limits: Limits<'a>) -> Trail<'a> {
        Trail {
            limits,
            seen: vec![Step {
                method: request.method.clone(),
                url: request.url(),
            }],
        }
    }

    /// Changes the request as this response demands, and returns true. False if the response is for the caller, because
    /// it has no `Location` or another status than those of [`Redirect::is_one`].
    pub fn follow(
        &mut self,
        request: &mut Request,
        status: u16,
        fields: &[u8],
    ) -> Result<bool, Failure> {
        if !Redirect::is_one(status) {
            return Ok(false);
        }
        let location = Redirect::location(Fields(fields).iter());
        let Some(location) = location.map_err(|why| self.failure(why))? else {
            return Ok(false);
        };
        let here = request.url_without_zone();
        let url = reference::join(&here, &location).map_err(|why| self.unreadable(why))?;
        let next = self.target(request, url)?;
        let shown = display_url(&next.origin, &next.target);
        let method = method_after(status, &request.method);
        let step = Step {
            method: method.clone(),
            url: next.url(),
        };
        self.allow(&request.origin, &next.origin, &step, &shown)?;
        if method != request.method {
            request.body = next.body;
            request.forget_announced();
            request.retain(|name, _| !Redirect::describes_content(name));
        }
        if next.origin != request.origin {
            request.leave_origin();
            request.host = next.host;
        }
        request.method = method;
        request.origin = next.origin;
        request.target = next.target;
        request.redirected.push(Redirect { status, url: here });
        self.seen.push(step);
        Ok(true)
    }

    /// An empty request to the URL of the redirect. It stands for its origin, its target, its `Host` and its body, and
    /// not for the method.
    fn target(&self, request: &Request, mut url: String) -> Result<Request, Failure> {
        url.truncate(url.find('#').unwrap_or(url.len()));
        let (scheme, _) = url.split_once(':').unwrap_or_default();
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(&*scheme, "http" | "https") {
            let why =
                format!("it leads to the scheme {scheme:?}: only http and https are followed");
            return Err(self.failure(why).for_reason(Reason::SchemeUnsupported));
        }
        let mut next = Request::new("GET", &url).map_err(|error| self.unreadable(error))?;
        if next.login().is_some() && !self.limits.with_login {
            return Err(self.unreadable("it has credentials in it"));
        }
        if zone::without(&next.origin.host) == zone::without(&request.origin.host) {
            next.stay_in_zone_of(request);
        }
        Ok(next)
    }

    fn allow(
        &self,
        here: &Origin,
        there: &Origin,
        step: &Step,
        shown: &str,
    ) -> Result<(), Failure> {
        if self.followed() >= self.limits.most as usize {
            let why = format!(
                "more redirects than the allowed {}: the last leads to {shown}",
                self.limits.most
            );
            let failure = Failure::new(Kind::Redirect, Phase::Read, why);
            return Err(failure.for_reason(Reason::TooManyRedirects));
        }
        let is_down = here.scheme == Scheme::Https && there.scheme == Scheme::Http;
        if is_down && !self.limits.to_http {
            let why = format!(
                "it leads from https to http, {shown}, which redirects_to_http would allow"
            );
            return Err(self.failure(why).for_reason(Reason::RedirectForbidden));
        }
        if !self.limits.may_return && self.seen.contains(step) {
            let failure = self.failure(format!("it leads back to {shown}, in a circle"));
            return Err(failure.for_reason(Reason::TooManyRedirects));
        }
        if !redirect_hosts::allow(self.limits.hosts, here, there) {
            let why = "whose host is not among the redirect_hosts";
            let failure = self.failure(format!("it leads to {shown}, {why}"));
            return Err(failure.for_reason(Reason::RedirectForbidden));
        }
        Ok(())
    }

    fn followed(&self) -> usize {
        self.seen.len() - 1
    }

    fn unreadable(&self, why: impl std::fmt::Display) -> Failure {
        let failure = self.failure(format!("its Location cannot be used: {why}"));
        failure.for_reason(Reason::LocationInvalid)
    }

    fn failure(&self, why: impl std::fmt::Display) -> Failure {
        let number = self.followed() + 1;
        let detail = format!("redirect number {number} is not followed: {why}");
        Failure::new(Kind::Redirect, Phase::Read, detail)
    }
}

/// Whether a response is a redirect with a `Location`, readable or not.
pub(crate) fn leads_elsewhere(status: u16, fields: &[u8]) -> bool {
    Redirect::is_one(status) && Fields(fields).get("location").is_some()
}

fn method_after(status: u16, method: &Method) -> Method {
    match Redirect::becomes_get(status, method.as_str()) {
        true => Method::GET,
        false => method.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits<'static> = Limits {
        most: 3,
        hosts: None,
        to_http: false,
        may_return: false,
        with_login: false,
    };

    fn request(method: &str) -> Request {
        Request::new(method, "http://host/a/b?c=d")
            .unwrap()
            .header("Authorization", b"Basic x")
            .unwrap()
            .header("X-Session-Id", b"1")
            .unwrap()
            .header("Content-Type", b"text/plain")
            .unwrap()
            .header("X-Other", b"other")
            .unwrap()
            .body("content")
    }

    fn follow(request: &mut Request, status: u16, location: &str) -> Result<bool, String> {
        let fields = format!("server: x\r\nlocation: {location}\r\n");
        Trail::new(request, LIMITS)
            .follow(request, status, fields.as_bytes())
            .map_err(|failure| failure.detail)
    }

    fn names(request: &Request) -> Vec<String> {
        Fields(&request.fields)
            .iter()
            .map(|(name, _)| name.to_ascii_lowercase())
            .collect()
    }

    #[test]
    fn methods_and_bodies_follow_the_rfc() {
        let expected = "301 POST GET, 302 POST GET, 303 POST GET, 307 POST POST, 308 POST POST, 301 PUT PUT, \
             302 DELETE DELETE, 303 PUT GET, 303 HEAD HEAD, 301 HEAD HEAD, 308 GET GET";
        for line in expected.split(", ") {
            let [status, before, after] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let mut request = request(before);
            assert_eq!(
                follow(&mut request, status.parse().unwrap(), "/next"),
                Ok(true)
            );
            assert_eq!(request.method.as_str(), after, "{status} {before}");
            let unchanged = before == after;
            assert_eq!(request.body.is_empty(), !unchanged, "{status} {before}");
            assert_eq!(
                names(&request).contains(&"content-type".to_owned()),
                unchanged
            );
        }
    }

    #[test]
    fn credentials_stay_at_their_origin() {
        let mut same = request("GET");
        follow(&mut same, 302, "http://HOST:80/other").unwrap();
        assert!(names(&same).contains(&"authorization".to_owned()));
        for elsewhere in [
            "http://other/",
            "http://host:81/",
            "//host.example/",
            "http://sub.host/",
        ] {
            let mut request = request("GET");
            follow(&mut request, 302, elsewhere).unwrap();
            assert_eq!(names(&request), ["content-type"], "{elsewhere}");
        }
    }

    #[test]
    fn a_host_header_is_sent_to_its_origin_alone() {
        let with_host = || request("GET").header("Host", b"virtual").unwrap();
        let (mut near, mut far) = (with_host(), with_host());
        follow(&mut near, 302, "/next").unwrap();
        follow(&mut far, 302, "http://other/next").unwrap();
        assert_eq!(
            (&near.host[..], &far.host[..]),
            (&b"virtual"[..], &b"other"[..])
        );
    }

    #[test]
    fn other_responses_are_handed_to_the_caller() {
        for status in [200, 300, 304, 305, 306, 404] {
            assert_eq!(follow(&mut request("GET"), status, "/x"), Ok(false));
        }
        let mut request = request("GET");
        let outcome = Trail::new(&request, LIMITS).follow(&mut request, 302, b"server: x\r\n");
        assert!(matches!(outcome, Ok(false)));
    }

    #[test]
    fn locations_are_resolved_against_the_url() {
        for (location, url) in [
            ("c?x#fragment", "http://host/a/c?x"),
            ("?x", "http://host/a/b?x"),
            ("/two words/é", "http://host/two%20words/%C3%A9"),
            ("//other:8080", "http://other:8080/"),
            (
                "http://other/a/../b?c='d'&e=%7e",
                "http://other/a/../b?c='d'&e=%7e",
            ),
            ("d?c='e'", "http://host/a/d?c='e'"),
            ("/%2e%2e/x", "http://host/%2e%2e/x"),
            ("HTTP://Other:80/x", "http://other/x"),
        ] {
            let mut request = request("GET");
            assert_eq!(follow(&mut request, 302, location), Ok(true), "{location}");
            assert_eq!(request.url(), url);
            assert_eq!(request.redirected[0].url, "http://host/a/b?c=d");
        }
    }

    #[test]
    fn errors_of_redirects_have_a_reason_and_show_no_query() {
        let refused = |location: &str| follow(&mut request("GET"), 302, location).unwrap_err();
        assert!(refused("ftp://host/?secret").contains("scheme"));
        assert!(refused("javascript:alert(secret)").contains("scheme \"javascript\""));
        assert!(refused("http://user:secret@host/").contains("credentials"));
        assert!(refused("http://").contains("Location cannot be used"));
        assert!(refused("/a/b?c=d").contains("back to http://host/a/b, in a circle"));
        assert!(refused("/x\r\nlocation: /y").contains("disagree"));
        for location in [
            "mailto:secret",
            "ftp://host/?secret",
            "http://user:secret@host/?secret",
            "//host:0/?secret",
        ] {
            assert!(
                !refused(location).contains("secret"),
                "{}",
                refused(location)
            );
        }
    }

    #[test]
    fn https_leads_to_http_only_if_allowed_and_without_credentials() {
        let secure = || {
            Request::get("https://host/")
                .unwrap()
                .header("Authorization", b"x")
                .unwrap()
        };
        let down = b"location: http://host/?secret\r\n";
        let (mut refused, mut allowed) = (secure(), secure());
        let failure = Trail::new(&refused, LIMITS)
            .follow(&mut refused, 302, down)
            .unwrap_err();
        assert!(
            failure.detail.contains("from https to http") && !failure.detail.contains("secret"),
            "{failure:?}"
        );
        let limits = Limits {
            to_http: true,
            ..LIMITS
        };
        assert!(
            Trail::new(&allowed, limits)
                .follow(&mut allowed, 302, down)
                .unwrap()
        );
        assert_eq!(
            (allowed.url().as_str(), names(&allowed).len()),
            ("http://host/?secret", 0)
        );
        let mut up = request("GET");
        assert_eq!(follow(&mut up, 301, "https://host/a/b?c=d"), Ok(true));
        assert!(!names(&up).contains(&"authorization".to_owned()));
    }

    #[test]
    fn the_number_of_redirects_is_limited() {
        let mut request = request("GET");
        let mut trail = Trail::new(&request, LIMITS);
        for number in 1..=3 {
            let fields = format!("location: /{number}?secret\r\n");
            assert!(trail.follow(&mut request, 302, fields.as_bytes()).unwrap());
        }
        let failure = trail
            .follow(&mut request, 302, b"location: /4?secret\r\n")
            .unwrap_err();
        assert_eq!(
            failure.detail,
            "more redirects than the allowed 3: the last leads to http://host/4"
        );
        assert_eq!(request.redirected.len(), 3);
    }

    proptest::proptest! {
        /// Whatever a server sends as `Location`: no panic, and only clean bytes reach the wire.
        #[test]
        fn no_location_puts_control_characters_on_the_wire(
            location in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..40)
        ) {
            let mut request = request("POST");
            let line: Vec<u8> = location.into_iter().filter(|byte| *byte != b'\r' && *byte != b'\n').collect();
            let fields = [b"location: ", &line[..], b"\r\n"].concat();
            let _ = Trail::new(&request, LIMITS).follow(&mut request, 307, &fields);
            let wire = format!("{}{:?}", request.target, request.host);
            proptest::prop_assert!(wire.bytes().all(|byte| byte.is_ascii_graphic()), "{wire:?}");
        }
    }
}
