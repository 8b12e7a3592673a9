//! Instants as the text of records: RFC 3339 with milliseconds.

use std::time::{Duration, SystemTime};

/// Writes instants in RFC 3339, and reuses the text of the last second.
#[derive(Default)]
pub struct Clock {
    second: u64,
    text: String,
}

/// How long the text of a second is, without the decimals.
const SECOND: usize = "2026-11-22T08:00:00".len();

impl Clock {
    /// The text of an instant.
    pub fn text(&mut self, at: SystemTime) -> &str {
        let since = at.duration_since(SystemTime::UNIX_EPOCH);
        let since = since.unwrap_or_default();
        if self.second != since.as_secs() || self.text.is_empty() {
            self.second = since.as_secs();
            let whole = SystemTime::UNIX_EPOCH + Duration::from_secs(self.second);
            self.text = humantime::format_rfc3339_seconds(whole).to_string();
        }
        self.text.truncate(SECOND);
        let millis = since.subsec_millis();
        self.text.push('.');
        for digit in [millis / 100, millis / 10 % 10, millis % 10] {
            self.text.push(char::from(b'0' + digit as u8));
        }
        self.text.push('Z');
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_in_rfc_3339() {
        let mut clock = Clock::default();
        for millis in [1_700_000_000_004, 1_700_000_000_999, 1_700_000_001_000u64] {
            let at = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
            let expected = humantime::format_rfc3339_millis(at).to_string();
            assert_eq!(clock.text(at), expected);
        }
    }
}
