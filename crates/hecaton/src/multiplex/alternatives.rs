//! Which origins respond over HTTP/3, by what they announced (`Alt-Svc`, RFC 7838), and which of them did not. In memory
//! alone, for the life of a client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::message::alt_svc::http3_at;
use crate::message::fields::Fields;
use crate::message::origin::{Origin, Scheme};
use crate::runtime::lock::lock;

/// How long an origin is left alone over HTTP/3 after it did not respond. Doubles each time, up to the longest.
const LEFT_ALONE: Duration = Duration::from_secs(5 * 60);
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The most origins that are remembered. Beyond it, all are forgotten: they announce themselves again.
const MOST: usize = 10_000;

/// The known alternatives of a client's origins.
#[derive(Default)]
pub(crate) struct Alternatives(Mutex<HashMap<Arc<Origin>, Known>>);

#[derive(Default)]
struct Known {
    /// The port of HTTP/3, and until when it holds.
    port: Option<(u16, Instant)>,
    /// Until when the origin is left alone.
    not_before: Option<Instant>,
    /// How often it has not responded since it last did.
    failures: u32,
}

impl Known {
    fn port(&self, now: Instant) -> Option<u16> {
        let (port, until) = self.port?;
        let alone = self.not_before.is_some_and(|end| now < end);
        (now < until && !alone).then_some(port)
    }
}

impl Alternatives {
    /// Notes the announcement in a response, if there is one. Returns whether the origin can be tried over HTTP/3 now,
    /// and could not before.
    pub fn note(&self, origin: &Arc<Origin>, fields: &[u8], now: Instant) -> bool {
        // Without TLS anyone on the way could announce.
        if origin.scheme != Scheme::Https {
            return false;
        }
        let mut values = Fields(fields).all("alt-svc").peekable();
        if values.peek().is_none() {
            return false;
        }
        let found = http3_at(values, &origin.host);
        let mut all = lock(&self.0);
        if found.is_none() && !all.contains_key(origin) {
            return false;
        }
        if all.len() >= MOST && !all.contains_key(origin) {
            all.clear();
        }
        let known = all.entry(origin.clone()).or_default();
        let before = known.port(now);
        known.port = found.and_then(|found| Some((found.port, now.checked_add(found.for_time)?)));
        known.port(now).is_some_and(|port| before != Some(port))
    }

    /// The port of HTTP/3, if the origin is to be tried over it.
    pub fn port(&self, origin: &Origin, now: Instant) -> Option<u16> {
        lock(&self.0).get(origin)?.port(now)
    }

    /// The origin has responded over HTTP/3.
    pub fn worked(&self, origin: &Origin) {
        if let Some(known) = lock(&self.0).get_mut(origin) {
            known.failures = 0;
        }
    }

    /// The origin has not responded over HTTP/3, or wants another version.
    pub fn failed(&self, origin: &Origin, now: Instant) {
        if let Some(known) = lock(&self.0).get_mut(origin) {
            let longer = 2_u32.saturating_pow(known.failures);
            known.failures = known.failures.saturating_add(1);
            known.not_before = now.checked_add(LEFT_ALONE.saturating_mul(longer).min(LONGEST));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;

    fn origin(url: &str) -> Arc<Origin> {
        Request::get(url).unwrap().origin
    }

    const ANNOUNCED: &[u8] = b"alt-svc: h3=\":8443\"; ma=60\r\n";

    #[test]
    fn an_announcement_holds_for_its_time_and_is_replaced_by_the_next() {
        let (all, origin) = (Alternatives::default(), origin("https://host/"));
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        assert!(!all.note(&origin, b"server: s\r\n", begun));
        assert_eq!(all.port(&origin, begun), None);
        assert!(all.note(&origin, ANNOUNCED, begun));
        assert!(!all.note(&origin, ANNOUNCED, begun), "it is known");
        assert_eq!(all.port(&origin, after(59)), Some(8443));
        assert_eq!(all.port(&origin, after(60)), None);
        assert!(!all.note(&origin, b"server: s\r\n", after(1)));
        assert_eq!(
            all.port(&origin, after(2)),
            Some(8443),
            "no field, no change"
        );
        assert!(!all.note(&origin, b"alt-svc: clear\r\n", after(3)));
        assert_eq!(all.port(&origin, after(3)), None);
    }

    #[test]
    fn an_origin_that_does_not_respond_is_left_alone_longer_each_time() {
        let (all, origin) = (Alternatives::default(), origin("https://host/"));
        let mut now = Instant::now();
        let long = b"alt-svc: h3=\":8443\"; ma=999999\r\n";
        assert!(all.note(&origin, long, now));
        for minutes in [5, 10, 20] {
            all.failed(&origin, now);
            assert!(!all.note(&origin, long, now));
            let end = now + Duration::from_secs(60 * minutes);
            assert_eq!(all.port(&origin, end - Duration::from_secs(1)), None);
            assert_eq!(all.port(&origin, end), Some(8443));
            now = end;
        }
        all.worked(&origin);
        all.failed(&origin, now);
        assert!(all.port(&origin, now + LEFT_ALONE).is_some());
    }

    #[test]
    fn nothing_is_believed_without_tls() {
        let (all, origin) = (Alternatives::default(), origin("http://host/"));
        assert!(!all.note(&origin, ANNOUNCED, Instant::now()));
        assert_eq!(all.port(&origin, Instant::now()), None);
    }
}
