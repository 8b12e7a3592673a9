//! The time of day in UTC, as documents and folders are dated.

use std::time::{SystemTime, UNIX_EPOCH};

use humantime::format_rfc3339_seconds;

/// A moment to the second, in the calendar of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(SystemTime);

impl Stamp {
    /// This moment.
    pub fn now() -> Stamp {
        Stamp(SystemTime::now().max(UNIX_EPOCH))
    }

    /// As in `2026-11-21T08:05:09Z`.
    pub fn plain(self) -> String {
        format_rfc3339_seconds(self.0).to_string()
    }

    /// As in `20261121T080509Z`, which names a file.
    pub fn compact(self) -> String {
        self.plain().replace(['-', ':'], "")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// So many seconds after 1970 began.
    fn at(seconds: u64) -> Stamp {
        Stamp(UNIX_EPOCH + Duration::from_secs(seconds))
    }

    #[test]
    fn moments_are_dated_as_others_date_them() {
        // From `date --utc --date @SECONDS`.
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_795_312_525, "2026-11-22T01:55:25Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(at(seconds).plain(), expected);
        }
        assert_eq!(at(951_782_400).compact(), "20000229T000000Z");
    }

    #[test]
    fn no_day_is_left_out_and_none_comes_twice() {
        let months = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut day = 0;
        for year in 1970..2500 {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            for (month, days) in (1..).zip(months) {
                for of_month in 1..=days + u64::from(leap && month == 2) {
                    let expected = format!("{year:04}-{month:02}-{of_month:02}T00:00:00Z");
                    assert_eq!(at(day * 86_400).plain(), expected);
                    day += 1;
                }
            }
        }
    }
}
