//! The parts of a job that are not read for a round: what is known of good responses, and the counts of the part, say
//! that no record of it matches. A round for the few that failed then costs what their parts cost, and not the whole job.

use super::choose::Pick;
use crate::error::{Error, Result};
use crate::expression::{Expression, Facts, Field, Value};
use crate::job::Job;
use crate::plan::{Folder, Part};
use crate::segment::{Tally, load};

/// The statuses that a response can have.
const STATUSES: std::ops::Range<u16> = 100..1000;

/// Which parts are not read.
pub struct Spared {
    /// Whether those are that have good responses alone.
    good: bool,
}

impl Spared {
    /// Those that a choice of inputs spares.
    ///
    /// # Errors
    /// When the job's check cannot be read.
    pub fn of(pick: &Pick, job: &Job) -> Result<Spared> {
        let (Pick::Matching(condition) | Pick::Changed(condition)) = pick else {
            return Ok(Spared { good: false });
        };
        let check = job.results.check.as_deref().map(Expression::parse);
        let check = check.transpose();
        let check = check.map_err(Error::usage)?;
        Ok(Spared {
            good: spares_good(condition, check.as_ref()),
        })
    }

    /// Whether a part is not read.
    ///
    /// # Errors
    /// When its counts cannot be read.
    pub fn has(&self, folder: &Folder, part: &Part) -> Result<bool> {
        if !self.good {
            return Ok(false);
        }
        let commit = load(folder, part.number)?;
        Ok(commit.is_some_and(|commit| is_all_good(&commit.tally)))
    }
}

/// Whether every record is that of a good response.
fn is_all_good(tally: &Tally) -> bool {
    tally.records == tally.responses && tally.records == tally.ok && tally.pages == 0
}

/// Whether a condition holds for no good response.
fn spares_good(condition: &Expression, check: Option<&Expression>) -> bool {
    let may_hold = |expression: &Expression, status, is_checked| {
        expression.decide(&Good { status, is_checked }) != Ok(false)
    };
    STATUSES.clone().all(|status| {
        let may_be = match check {
            Some(check) => may_hold(check, status, false),
            None => status < 300,
        };
        !may_be || !may_hold(condition, status, true)
    })
}

/// The known facts of any good response with this status.
struct Good {
    status: u16,
    /// Whether the check has made it good: before, nobody knows.
    is_checked: bool,
}

/// The fields that no good response has.
const MISSING: [&str; 4] = ["error", "phase", "message", "why"];

impl Facts for Good {
    fn field(&self, field: &Field) -> Option<Value<'_>> {
        let Field::Named(name) = field else {
            return None;
        };
        match name.name {
            "status" => Some(Value::Number(i64::from(self.status).into())),
            "outcome" => Some(Value::Text("response".into())),
            "ok" if self.is_checked => Some(Value::Bool(true)),
            _ => None,
        }
    }

    fn unknown(&self, field: &Field) -> Option<String> {
        let is_missing = matches!(field, Field::Named(name) if MISSING.contains(&name.name));
        (!is_missing).then(String::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::again::{ALL_SENT, USUAL};

    #[test]
    fn which_conditions_hold_for_no_good_response() {
        for (condition, check, is_spared) in [
            (USUAL, None, true),
            (USUAL, Some("status == 200"), true),
            (USUAL, Some("status == 200 and json:/a"), true),
            (USUAL, Some("status < 600"), false),
            (USUAL, Some("not json:/error"), false),
            (USUAL, Some("not ok"), false),
            (ALL_SENT, None, false),
            ("not ok", None, true),
            ("error", None, true),
            ("error == 'timeout' or message contains 'x'", None, true),
            ("status == 404", None, true),
            (
                "status == 404",
                Some("status == 404 or status == 200"),
                false,
            ),
            ("status == 204", None, false),
            ("outcome != 'response'", None, true),
            ("url contains '/a'", None, false),
            ("url contains '/a' and status >= 400", None, true),
            ("not url contains '/a' or error", None, false),
            ("column.a == '1'", None, false),
            ("body contains 'x' or error", None, false),
        ] {
            let check = check.map(|check| Expression::parse(check).unwrap());
            let condition = Expression::parse(condition).unwrap();
            let found = spares_good(&condition, check.as_ref());
            assert_eq!(found, is_spared, "{condition} with {check:?}");
        }
    }

    #[test]
    fn a_part_is_all_good_if_nothing_else_is_counted() {
        let good = Tally {
            records: 2,
            responses: 2,
            ok: 2,
            ..Tally::default()
        };
        assert!(is_all_good(&good));
        for other in [
            Tally {
                ok: 1,
                ..good.clone()
            },
            Tally {
                pages: 1,
                ..good.clone()
            },
            Tally {
                responses: 1,
                skipped: 1,
                ..good.clone()
            },
            Tally {
                responses: 1,
                unchanged: 1,
                ..good.clone()
            },
        ] {
            assert!(!is_all_good(&other), "{other:?}");
        }
    }
}
