//! When a run ends by itself: after some time, or after so many bytes of bodies.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::bytes::{shown, with_unit};

/// When a run ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopAfter {
    /// After this time.
    Time(Duration),
    /// After this many bytes of bodies.
    Bytes(u64),
}

impl StopAfter {
    /// Whether a run that takes so long and has so many bytes is to end.
    pub fn is_reached(self, took: Duration, bytes: u64) -> bool {
        match self {
            StopAfter::Time(most) => took >= most,
            StopAfter::Bytes(most) => bytes >= most,
        }
    }
}

impl FromStr for StopAfter {
    type Err = String;

    fn from_str(text: &str) -> Result<StopAfter, String> {
        // M is not a month here: 1.5M is a mistake.
        let time = || {
            humantime::parse_duration(text)
                .ok()
                .filter(|_| !text.ends_with('M'))
        };
        let read = with_unit(text).map(StopAfter::Bytes);
        let read = read.or_else(|| time().map(StopAfter::Time));
        let read = read.filter(|limit| !limit.is_reached(Duration::ZERO, 0));
        read.ok_or_else(|| {
            format!(
                "{text:?} cannot be a limit: write a time, or a whole number of bytes, above 0, such as 2h or 10GB"
            )
        })
    }
}

impl fmt::Display for StopAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopAfter::Time(time) => humantime::format_duration(*time).fmt(f),
            StopAfter::Bytes(bytes) => f.write_str(&shown(*bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_numbers_of_bytes_are_read_and_written() {
        for (text, expected) in [
            ("2h", StopAfter::Time(Duration::from_secs(7200))),
            ("1m 30s", StopAfter::Time(Duration::from_secs(90))),
            ("10GB", StopAfter::Bytes(10_000_000_000)),
            ("3MiB", StopAfter::Bytes(3 << 20)),
            ("10KiB", StopAfter::Bytes(10 << 10)),
            ("7B", StopAfter::Bytes(7)),
        ] {
            assert_eq!(text.parse(), Ok(expected));
            assert_eq!(expected.to_string(), text);
        }
        // Bytes may lack their B, and M is then no month.
        for (text, bytes) in [("10G", 10_000_000_000), ("3Mi", 3 << 20), ("5M", 5_000_000)] {
            assert_eq!(text.parse(), Ok(StopAfter::Bytes(bytes)));
        }
        let minutes = StopAfter::Time(Duration::from_secs(300));
        assert_eq!("5m".parse(), Ok(minutes));
        for wrong in [
            "",
            "10",
            "0",
            "0s",
            "0B",
            "0k",
            "GB",
            "-1GB",
            "1.5x",
            "1.5M",
            "99999999TB",
        ] {
            assert!(wrong.parse::<StopAfter>().is_err(), "{wrong}");
        }
    }
}
