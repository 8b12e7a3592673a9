//! The least that a body must bring: so many bytes in each such time.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::bytes::{bytes, shown};

/// So many bytes in each such time: `1k/30s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinSpeed {
    /// The bytes.
    pub bytes: u64,
    /// The time.
    pub time: Duration,
}

impl FromStr for MinSpeed {
    type Err = String;

    fn from_str(text: &str) -> Result<MinSpeed, String> {
        let wrong = || format!("{text:?} is not a speed: write bytes and a time, as in 1k/30s");
        let (most, time) = text.split_once('/').ok_or_else(wrong)?;
        let time = humantime::parse_duration(time.trim()).map_err(|_| wrong())?;
        match bytes(most.trim()) {
            Ok(bytes) if !time.is_zero() => Ok(MinSpeed { bytes, time }),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for MinSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = humantime::format_duration(self.time);
        write!(f, "{}/{time}", shown(self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read_and_written() {
        let slow = MinSpeed {
            bytes: 1000,
            time: Duration::from_secs(30),
        };
        for text in ["1k/30s", "1kB/30s", "1000 / 30s"] {
            assert_eq!(text.parse(), Ok(slow));
        }
        assert_eq!(slow.to_string(), "1kB/30s");
        for wrong in ["1k", "/30s", "1k/", "0/30s", "1k/0s", "1k/30"] {
            assert!(wrong.parse::<MinSpeed>().is_err(), "{wrong}");
        }
    }
}
