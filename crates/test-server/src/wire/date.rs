//! The text of the Date header, made once per second.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Length of an HTTP date.
pub(crate) const LENGTH: usize = 29;

/// The present date as RFC 9110 §5.6.7 writes it.
pub(crate) struct Date {
    text: Cell<[u8; LENGTH]>,
    /// The text's seconds since 1970; shows whether the date of a prepared response is old.
    second: Cell<u64>,
    expires: Cell<Instant>,
}

impl Date {
    pub(crate) fn new() -> Date {
        let date = Date {
            text: Cell::new([0; LENGTH]),
            second: Cell::new(0),
            expires: Cell::new(Instant::now()),
        };
        date.renew(Instant::now());
        date
    }

    /// The date and its second at an instant that has just been read.
    pub(crate) fn at(&self, now: Instant) -> ([u8; LENGTH], u64) {
        self.second(now);
        (self.text.get(), self.second.get())
    }

    /// The second of the date alone.
    pub(crate) fn second(&self, now: Instant) -> u64 {
        if now >= self.expires.get() {
            self.renew(now);
        }
        self.second.get()
    }

    fn renew(&self, now: Instant) {
        let time = SystemTime::now();
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut text = [0; LENGTH];
        text.copy_from_slice(httpdate::fmt_http_date(time).as_bytes());
        self.text.set(text);
        self.second.set(since.as_secs());
        let rest = Duration::from_secs(1) - Duration::from_nanos(since.subsec_nanos().into());
        self.expires.set(now + rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_that_of_the_current_second() {
        let date = Date::new();
        let before = SystemTime::now() - Duration::from_secs(1);
        let (text, second) = date.at(Instant::now());
        let read = httpdate::parse_http_date(std::str::from_utf8(&text).unwrap()).unwrap();
        assert!(read >= before && read <= SystemTime::now());
        assert_eq!(read.duration_since(UNIX_EPOCH).unwrap().as_secs(), second);

        date.expires.set(Instant::now());
        date.text.set([b'x'; LENGTH]);
        assert_ne!(date.at(Instant::now()).0, [b'x'; LENGTH]);
    }
}
