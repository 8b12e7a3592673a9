//! Finds a response that nobody requested: a part of a body (206), or a 304. Neither passes for a whole body.

use hecaton::{Kind, Phase};

use super::fate::{AttemptEnd, Failure};
use super::resume::{only_of, range};
use crate::error::excerpt;

/// How an attempt ended that brought such a part: as one whose body was cut.
const CUT: AttemptEnd = AttemptEnd::Failed(Failure {
    kind: Kind::Body,
    phase: Phase::Read,
    is_passing: true,
    is_reused: false,
});

/// Most of a header in a sentence, in characters.
const SHOWN: usize = 80;

/// Why a response is of no use.
pub struct Refusal {
    /// How the attempt ended.
    pub end: AttemptEnd,
    /// The kind of the error in the record.
    pub kind: &'static str,
    /// Its sentence.
    pub why: String,
}

/// Refuses a response to a request without `Range` and without a condition:
///
/// - The body of a 206 is as good as cut. One whose `Content-Range` says that the part is the whole is as good as a 200.
/// - A 304 says that a version still holds, and the request named none.
pub fn unrequested<'a>(
    status: u16,
    fields: impl Iterator<Item = (&'a str, &'a [u8])>,
) -> Option<Refusal> {
    let (end, kind, why) = match status {
        206 => (CUT, "body", part(fields)?),
        304 => {
            let why = "the response is a 304, and the request named no version of its own";
            (AttemptEnd::NotModified, "protocol", why.to_owned())
        }
        _ => return None,
    };
    Some(Refusal { end, kind, why })
}

/// Says that a body is a part, unless that is the whole.
fn part<'a>(fields: impl Iterator<Item = (&'a str, &'a [u8])>) -> Option<String> {
    let named = fields.filter(|(name, _)| name.eq_ignore_ascii_case("content-range"));
    let named = only_of(named.map(|(_, value)| value)).unwrap_or_default();
    let is_whole = range(named).is_some_and(|(first, last, total)| {
        first == 0 && last.checked_add(1).is_some_and(|end| Some(end) == total)
    });
    let named = excerpt(named, SHOWN);
    (!is_whole).then(|| {
        format!("the response is a part of the body that was not requested: its Content-Range is {named:?}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_206_is_good_only_if_its_part_is_the_whole_and_a_304_never() {
        for (status, ranges, is_refused) in [
            (206, &["bytes 0-99/1000"][..], true),
            (206, &["bytes 900-999/1000"], true),
            (206, &["bytes 1-999/1000"], true),
            (206, &["bytes 0-998/1000"], true),
            (206, &["bytes 0-1000/1000"], true),
            (206, &["bytes 0-999/*"], true),
            (206, &["bytes */1000"], true),
            (206, &["pages 0-999/1000"], true),
            (
                206,
                &["bytes 0-18446744073709551615/18446744073709551615"],
                true,
            ),
            (206, &["bytes 0-999/1000", "bytes 0-999/1000"], true),
            (206, &["\u{ff}"], true),
            (206, &[""], true),
            (206, &[], true),
            (206, &["bytes 0-999/1000"], false),
            (206, &["Bytes 0-0/1"], false),
            (200, &["bytes 0-99/1000"], false),
            (416, &["bytes */1000"], false),
            (304, &[], true),
            (304, &["bytes 0-999/1000"], true),
            (303, &[], false),
        ] {
            let fields = ranges
                .iter()
                .map(|range| ("Content-Range", range.as_bytes()));
            assert_eq!(
                unrequested(status, fields).is_some(),
                is_refused,
                "{status} {ranges:?}"
            );
        }
    }
}
