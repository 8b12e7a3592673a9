//! Which statuses count as success at one's own service, as people write it: `status == 200 or status == 404`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The statuses that there are.
const ALL: std::ops::RangeInclusive<u16> = 100..=599;

/// Statuses that count as success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expected {
    /// As it was written.
    text: String,
    /// The first and the last status of each range, ascending.
    ranges: Vec<(u16, u16)>,
}

impl Expected {
    /// Whether a status counts as success.
    pub fn holds(&self, status: u16) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|(first, last)| (*first..=*last).contains(&status))
    }

    /// The ranges as drivers read them: `200-299,404-404`.
    pub fn ranges(&self) -> String {
        let ranges = self.ranges.iter();
        let ranges = ranges.map(|(first, last)| format!("{first}-{last}"));
        ranges.collect::<Vec<_>>().join(",")
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Expected {
    type Err = String;

    fn from_str(text: &str) -> Result<Expected, String> {
        let wrong = || {
            format!(
                "`{text}` says nothing about a status; write it as in 'status == 200', 'status < 400' or \
                 'status == 200 or status == 404'"
            )
        };
        // `and` binds more tightly than `or`.
        let ways = text.split(" or ");
        let terms = ways.map(|all| all.split(" and ").map(term).collect());
        let terms: Option<Vec<Vec<Term>>> = terms.collect();
        let terms = terms.ok_or_else(wrong)?;
        let holds = |status: u16| {
            let mut ways = terms.iter();
            ways.any(|all| all.iter().all(|(compare, than)| compare(&status, than)))
        };
        let statuses: Vec<u16> = ALL.filter(|status| holds(*status)).collect();
        if statuses.is_empty() {
            return Err(format!(
                "no status from 100 to 599 is expected by `{text}`; nothing could succeed"
            ));
        }
        let ranges = statuses.chunk_by(|a, b| a + 1 == *b);
        let ends = |range: &[u16]| (range[0], range[range.len() - 1]);
        Ok(Expected {
            text: text.trim().to_owned(),
            ranges: ranges.map(ends).collect(),
        })
    }
}

type Compare = fn(&u16, &u16) -> bool;

/// A comparison with a status.
type Term = (Compare, u16);

/// `status == 200` and its like.
fn term(text: &str) -> Option<Term> {
    let rest = text.trim().strip_prefix("status")?.trim_start();
    // Longer operators first, because the shorter ones begin them.
    let operators: [(&str, Compare); 6] = [
        ("==", u16::eq),
        ("!=", u16::ne),
        ("<=", u16::le),
        (">=", u16::ge),
        ("<", u16::lt),
        (">", u16::gt),
    ];
    let compared = |(sign, compare)| Some((compare, rest.strip_prefix(sign)?));
    let (compare, than) = operators.into_iter().find_map(compared)?;
    Some((compare, than.trim().parse().ok()?))
}

as_text!(Expected, {
    "description": "Which statuses count as success, as in `status == 200 or status == 404`.",
    "type": "string",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_become_ranges() {
        for (text, ranges) in [
            ("status == 200", "200-200"),
            (" status==204 ", "204-204"),
            ("status < 400", "100-399"),
            ("status != 503", "100-502,504-599"),
            (
                "status >= 200 and status <= 299 or status == 404",
                "200-299,404-404",
            ),
            ("status == 200 or status == 201", "200-201"),
        ] {
            let expected: Expected = text.parse().unwrap();
            assert_eq!(expected.ranges(), ranges, "{text}");
            assert_eq!(expected.to_string(), text.trim());
        }
        for wrong in [
            "",
            "200",
            "status",
            "status = 200",
            "status == ok",
            "status == 200 or",
            "body == 1",
        ] {
            let says = wrong.parse::<Expected>().unwrap_err();
            assert!(says.contains("status == 200"), "{wrong}: {says}");
        }
        let says = "status < 100".parse::<Expected>().unwrap_err();
        assert!(says.contains("nothing could succeed"), "{says}");
    }
}
