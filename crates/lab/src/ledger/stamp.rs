//! The time of day in UTC, as documents and folders are dated.

use std::time::{SystemTime, UNIX_EPOCH};

/// A moment to the second, in the calendar of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    date: (u64, u64, u64),
    time: (u64, u64, u64),
}

impl Stamp {
    /// This moment.
    pub fn now() -> Stamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Stamp::at(since.map_or(0, |since| since.as_secs()))
    }

    /// So many seconds after 1970 began.
    fn at(seconds: u64) -> Stamp {
        let (day, second) = (seconds / 86_400, seconds % 86_400);
        Stamp {
            date: civil(day),
            time: (second / 3600, second / 60 % 60, second % 60),
        }
    }

    /// As in `2026-11-21T08:05:09Z`.
    pub fn plain(self) -> String {
        let ((year, month, day), (hour, minute, second)) = (self.date, self.time);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    /// As in `20261121T080509Z`, which names a file.
    pub fn compact(self) -> String {
        self.plain().replace(['-', ':'], "")
    }
}

/// Year, month and day, so many days after the first of 1970. Years that begin with March end with the leap day, so
/// that a day's number in its year gives its month (Howard Hinnant, `chrono`-Compatible Low-Level Date Algorithms).
fn civil(day: u64) -> (u64, u64, u64) {
    let day = day + 719_468; // from the first of March of the year 0
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = era * 400 + year + u64::from(month <= 2);
    (year, month, day - (153 * from_march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(Stamp::at(seconds).plain(), expected);
        }
        assert_eq!(Stamp::at(951_782_400).compact(), "20000229T000000Z");
    }

    #[test]
    fn no_day_is_left_out_and_none_comes_twice() {
        let months = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut day = 0;
        for year in 1970..2500 {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            for (month, days) in (1..).zip(months) {
                for of_month in 1..=days + u64::from(leap && month == 2) {
                    assert_eq!(civil(day), (year, month, of_month));
                    day += 1;
                }
            }
        }
    }
}
