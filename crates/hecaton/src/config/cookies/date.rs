//! The dates of cookies, by the algorithm of RFC 6265 §5.1.1, which reads what servers have always written.

use std::time::{Duration, SystemTime};

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

const DAY: i64 = 24 * 60 * 60;

/// The parts found so far.
#[derive(Default)]
struct Found {
    time: Option<[u32; 3]>,
    day: Option<u32>,
    /// January is 0.
    month: Option<usize>,
    year: Option<u32>,
}

/// The time of a date in whatever form and zone, read as UTC; none if the text is no date.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let mut found = Found::default();
    let tokens = text.as_bytes().split(|byte| is_delimiter(*byte));
    for token in tokens.filter(|token| !token.is_empty()) {
        found.note(token);
    }
    found.instant()
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, 0x09 | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

impl Found {
    /// A token is read as the first of time, day, month and year that is still missing and that the token can be.
    fn note(&mut self, token: &[u8]) {
        if self.time.is_none() {
            self.time = time(token);
            if self.time.is_some() {
                return;
            }
        }
        if self.day.is_none() {
            self.day = number(token, 1..=2);
            if self.day.is_some() {
                return;
            }
        }
        if self.month.is_none() {
            self.month = month(token);
            if self.month.is_some() {
                return;
            }
        }
        if self.year.is_none() {
            self.year = number(token, 2..=4);
        }
    }

    fn instant(self) -> Option<SystemTime> {
        let ([hour, minute, second], day, month) = (self.time?, self.day?, self.month?);
        let year = match self.year? {
            year @ 70..=99 => year + 1900,
            year @ 0..=69 => year + 2000,
            year => year,
        };
        let is_date = year >= 1601 && (1..=days_of(month, year)).contains(&day);
        if !is_date || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let seconds = i64::from(hour * 3600 + minute * 60 + second);
        let since = days_since_1970(year, month, day) * DAY + seconds;
        let distance = Duration::from_secs(since.unsigned_abs());
        match since < 0 {
            true => SystemTime::UNIX_EPOCH.checked_sub(distance),
            false => SystemTime::UNIX_EPOCH.checked_add(distance),
        }
    }
}

/// A time such as `1:2:3`. Anything but a digit may follow it.
fn time(token: &[u8]) -> Option<[u32; 3]> {
    let mut parts = token.splitn(3, |byte| *byte == b':');
    let mut next = |is_last: bool| {
        let part = parts.next()?;
        let whole = part.len() <= 2 && part.iter().all(u8::is_ascii_digit);
        (is_last || whole).then(|| number(part, 1..=2))?
    };
    Some([next(false)?, next(false)?, next(true)?])
}

/// A number of this many digits. Anything but another digit may follow it.
fn number(token: &[u8], digits: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let is_digit = |byte: &&u8| byte.is_ascii_digit();
    let found = token.iter().take_while(is_digit).count();
    let value = |sum: u32, digit: &u8| sum * 10 + u32::from(digit - b'0');
    digits
        .contains(&found)
        .then(|| token[..found].iter().fold(0, value))
}

fn month(token: &[u8]) -> Option<usize> {
    let begin = token.get(..3)?;
    MONTHS
        .iter()
        .position(|name| begin.eq_ignore_ascii_case(name.as_bytes()))
}

fn days_of(month: usize, year: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        1 => 28 + u32::from(is_leap),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// Days before 1970 are below zero. Leap years are counted up to the year before.
fn days_since_1970(year: u32, month: usize, day: u32) -> i64 {
    let before = i64::from(year - 1);
    let years = before * 365 + before / 4 - before / 100 + before / 400;
    let months: u32 = (0..month).map(|month| days_of(month, year)).sum();
    // 719,162 days lie between the first of January of the years 1 and 1970.
    years - 719_162 + i64::from(months + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds since 1970.
    fn seconds(text: &str) -> Option<i64> {
        let instant = parse(text)?;
        Some(match instant.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => after.as_secs().cast_signed(),
            Err(before) => -before.duration().as_secs().cast_signed(),
        })
    }

    #[test]
    fn dates_of_servers_are_read_as_the_rfc_demands() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Sun, 6 Nov 1994 8:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 +0100",
            "Sun, 06-Nov-1994 08:49:37 GMT",
            "sun, 06 nov 1994 08:49:37 gmt",
            "SUN, 06 NOVEMBER 1994 08:49:37 GMT",
            "06 Nov 94 08:49:37",
            "1994 Nov 6 08:49:37",
            "08:49:37 6 Nov 1994",
            "6Nov Nov 1994th 08:49:37Z",
            "6,Nov;1994 08:49:37.123",
            "\t6\tNov\t1994\t8:49:37\t",
            "Mon, 06 Nov 1994 08:49:37 GMT, 07 Dec 2000 00:00:00",
        ] {
            assert_eq!(seconds(text), Some(784_111_777), "{text}");
        }
    }

    #[test]
    fn days_are_counted() {
        for (text, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 1 Jan 1970 0:00:00 GMT", 0),
            ("Thu, 1-Jan-70 0:0:0", 0),
            ("31 Dec 1969 23:59:59", -1),
            ("29 Feb 2000 00:00:00", 951_782_400),
            ("29 Feb 2024 12:00:00", 1_709_208_000),
            ("1 Mar 2100 00:00:00", 4_107_542_400),
            ("31 Dec 69 23:59:59", 3_155_759_999),
            ("1 Jan 70 00:00:00", 0),
            ("1 Jan 1601 00:00:00", -11_644_473_600),
            ("31 Dec 9999 23:59:59", 253_402_300_799),
            ("01 Jan 021 00:00:00", 1_609_459_200),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn an_invalid_date_is_none() {
        for text in [
            "",
            "0",
            "Sun, 06 Nov 1994",
            "06 Nov 08:49:37",
            "Nov 1994 08:49:37",
            "06 1994 08:49:37",
            "32 Nov 1994 08:49:37",
            "31 Nov 1994 08:49:37",
            "0 Nov 1994 08:49:37",
            "29 Feb 2100 00:00:00",
            "29 Feb 2023 00:00:00",
            "06 Nov 1600 08:49:37",
            "06 Nov 19945 08:49:37",
            "06 Nov 1994 24:00:00",
            "06 Nov 1994 08:60:00",
            "06 Nov 1994 08:49:60",
            "06 Nov 1994 08:49",
            "06 Nov 1994 008:49:37",
            "006 Nov 1994 08:49:37",
            "06 Növ 1994 08:49:37",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,40}|([0-9]{1,5}|nov|:|[ ,-]){0,12}") {
            parse(&text);
        }
    }
}
