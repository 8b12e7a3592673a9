//! Whether what a job came to is good enough: its `fail_if`, and a job without one good response.

use crate::error::{Error, Result};
use crate::expression::{Counts, Threshold};
use crate::plan::{Folder, Plan};
use crate::record::count;
use crate::segment::{Tally, load};

/// The `fail_if` that is never true.
const NEVER: &str = "never";

/// Why a job is not good enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// Its `fail_if` is true, or no input has a good response.
    Failed(String),
    /// At least one input has no good response, and no `fail_if` says how many may be so.
    Incomplete(String),
}

impl Counts for Tally {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("records", self.records),
            ("ok", self.ok),
            ("not_ok", self.not_ok()),
            ("responses", self.responses),
            ("bad_responses", self.bad_responses()),
            ("no_response", self.errors),
            ("unchanged", self.unchanged),
            ("skipped", self.skipped),
            ("unreached", self.unreached),
            ("unknown", self.unknown),
            ("invalid", self.invalid),
        ]
    }

    /// Names that job files have from before.
    fn former(&self) -> Vec<(&'static str, u64)> {
        vec![("errors", self.errors), ("failed", self.failed())]
    }

    fn all(&self) -> u64 {
        self.records
    }
}

/// Refuses a `fail_if` that cannot be read.
///
/// # Errors
/// Where, and what was expected there.
pub fn check(fail_if: Option<&str>) -> Result<()> {
    threshold(fail_if).map(drop)
}

fn threshold(fail_if: Option<&str>) -> Result<Option<Threshold>> {
    let fail_if = fail_if.filter(|text| text.trim() != NEVER);
    let read = fail_if.map(|text| Threshold::parse(text, &Tally::default()));
    read.transpose().map_err(Error::usage)
}

/// How the inputs of the parts that are done ended.
///
/// # Errors
/// When a `COMMIT` cannot be read.
pub fn tally(folder: &Folder, plan: &Plan) -> Result<Tally> {
    let mut tally = Tally::default();
    for part in &plan.parts {
        if let Some(commit) = load(folder, part.number)? {
            tally.add(&commit.tally);
        }
    }
    Ok(tally)
}

/// Why counts are not good enough; none if they are. `home` is the job's folder.
///
/// # Errors
/// When `fail_if` cannot be read.
pub fn shortfall(fail_if: Option<&str>, tally: &Tally, home: &str) -> Result<Option<Shortfall>> {
    let threshold = threshold(fail_if)?;
    // Behind the reason, with the command that may help.
    let failed = |why: String| {
        let why = match remedies(tally, home) {
            remedies if remedies.is_empty() => why,
            remedies => format!("{why}: {}", remedies.join(", ")),
        };
        Ok(Some(Shortfall::Failed(why)))
    };
    if let Some(threshold) = threshold.filter(|threshold| threshold.holds(tally)) {
        return failed(broken(&threshold, tally));
    }
    if tally.records > 0 && tally.ok == 0 {
        let why = match tally.records {
            1 => "the job failed: its record has no good response".to_owned(),
            all => format!(
                "the job failed: none of its {} records has a good response",
                count(all)
            ),
        };
        return failed(why);
    }
    let is_incomplete = fail_if.is_none() && tally.not_ok() > 0;
    Ok(is_incomplete.then(|| Shortfall::Incomplete(incomplete(tally, home))))
}

fn broken(threshold: &Threshold, tally: &Tally) -> String {
    let named = threshold.named(tally).into_iter();
    let named: Vec<String> = named
        .map(|(name, number)| format!("{name} {}", count(number)))
        .collect();
    format!(
        "the job failed, because '{threshold}' is true: {}, of {} records",
        named.join(", "),
        count(tally.records)
    )
}

/// Counts what has no good response, and says what to do.
fn incomplete(tally: &Tally, home: &str) -> String {
    let counts = [
        ("other responses", tally.bad_responses()),
        ("errors", tally.errors),
        ("unreached", tally.unreached),
        ("unknown", tally.unknown),
        ("invalid", tally.invalid),
    ];
    let counts = counts.into_iter().filter(|(_, number)| *number > 0);
    let counts: Vec<String> = counts
        .map(|(name, number)| format!("{name} {}", count(number)))
        .collect();
    let remedies = match remedies(tally, home) {
        remedies if remedies.is_empty() => String::new(),
        remedies => format!("{}, and ", remedies.join(", ")),
    };
    format!(
        "{} of {} inputs {} no good response ({}): {remedies}--fail-if sets how many are allowed",
        count(tally.not_ok()),
        count(tally.records),
        if tally.not_ok() == 1 { "has" } else { "have" },
        counts.join(", ")
    )
}

/// The commands that send again the inputs without a good response, as far as one does. The usual condition leaves out
/// most statuses, and only a condition that names them chooses unknown inputs.
fn remedies(tally: &Tally, home: &str) -> Vec<String> {
    let again = |condition: &str, what: &str| {
        format!("`hecaton fetch again {home}{condition}` sends {what} again")
    };
    let usual = match (tally.errors > 0, tally.unreached > 0) {
        (true, true) => Some("errors and unreached inputs"),
        (true, false) => Some("errors"),
        (false, true) => Some("unreached inputs"),
        (false, false) => None,
    };
    let has_others = tally.bad_responses() > 0;
    let others = has_others.then(|| again(" --where 'status and not ok'", "other responses"));
    let usual = usual.map(|what| again("", what));
    let unknown = (tally.unknown > 0).then(|| {
        let sends = again(" --where \"outcome == 'unknown'\"", "unknown ones");
        format!("{sends}, though a server may act twice")
    });
    usual.into_iter().chain(others).chain(unknown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fail_if: Option<&str>, tally: &Tally) -> Option<Shortfall> {
        shortfall(fail_if, tally, "out").unwrap()
    }

    fn is_failed(shortfall: Option<Shortfall>) -> bool {
        matches!(shortfall, Some(Shortfall::Failed(_)))
    }

    #[test]
    fn one_input_without_a_good_response_is_a_shortfall_unless_fail_if_says_otherwise() {
        let all = Tally {
            records: 9,
            responses: 9,
            ok: 9,
            ..Tally::default()
        };
        assert_eq!(of(None, &all), None);
        let skipped = Tally {
            records: 10,
            skipped: 1,
            ..all.clone()
        };
        assert_eq!(of(None, &skipped), None, "a duplicate has its response");
        let more = |change: fn(&mut Tally)| {
            let mut tally = Tally {
                records: 10,
                ..all.clone()
            };
            change(&mut tally);
            tally
        };
        for bad in [
            more(|tally| tally.responses += 1),
            more(|tally| tally.errors += 1),
            more(|tally| tally.unreached += 1),
            more(|tally| tally.unknown += 1),
            more(|tally| tally.invalid += 1),
        ] {
            let Some(Shortfall::Incomplete(why)) = of(None, &bad) else {
                panic!("{bad:?}");
            };
            assert!(
                why.starts_with("1 of 10 inputs has no good response ("),
                "{why}"
            );
            assert!(why.contains("--fail-if"), "{why}");
            assert_eq!(of(Some("never"), &bad), None);
            assert_eq!(of(Some("not_ok > 1"), &bad), None);
            assert!(is_failed(of(Some("not_ok > 0"), &bad)));
        }
        let none = Tally {
            records: 2,
            errors: 2,
            ..Tally::default()
        };
        assert!(is_failed(of(None, &none)) && is_failed(of(Some("never"), &none)));
    }

    #[test]
    fn the_command_that_is_named_sends_what_has_no_good_response() {
        let usual = "`hecaton fetch again out` sends";
        let other = "`hecaton fetch again out --where 'status and not ok'` sends other responses";
        for (errors, unreached, bad, expected) in [
            (0, 0, 0, "invalid 1): --fail-if".to_owned()),
            (1, 0, 0, format!(": {usual} errors again, and --fail-if")),
            (
                0,
                1,
                0,
                format!(": {usual} unreached inputs again, and --fail-if"),
            ),
            (0, 0, 1, format!(": {other} again, and --fail-if")),
            (
                1,
                1,
                1,
                format!(": {usual} errors and unreached inputs again, {other} again, and"),
            ),
        ] {
            let tally = Tally {
                records: 10,
                responses: 5 + bad,
                ok: 5,
                invalid: 1,
                errors,
                unreached,
                ..Tally::default()
            };
            let Some(Shortfall::Incomplete(why)) = of(None, &tally) else {
                panic!("{tally:?}");
            };
            assert!(why.contains(&expected), "{why}");
        }
    }

    #[test]
    fn unknown_inputs_are_sent_again_by_a_condition_that_names_them() {
        let tally = Tally {
            records: 3,
            responses: 1,
            ok: 1,
            unknown: 2,
            ..Tally::default()
        };
        let Some(Shortfall::Incomplete(why)) = of(None, &tally) else {
            panic!("{tally:?}");
        };
        let sends = "`hecaton fetch again out --where \"outcome == 'unknown'\"` sends unknown ones";
        assert!(why.contains(sends), "{why}");
    }

    #[test]
    fn names_say_what_is_counted_and_former_names_are_read() {
        let tally = Tally {
            records: 10,
            responses: 7,
            ok: 5,
            errors: 1,
            unreached: 1,
            invalid: 1,
            ..Tally::default()
        };
        for (text, holds) in [
            (
                "bad_responses == 2 and no_response == 1 and not_ok == 5",
                true,
            ),
            ("errors == 1 and failed == 4", true),
            ("errors > 1", false),
        ] {
            assert_eq!(is_failed(of(Some(text), &tally)), holds, "{text}");
        }
        let refused = check(Some("failures > 1")).unwrap_err().to_string();
        assert!(
            refused.contains("not_ok") && !refused.contains("failed"),
            "{refused}"
        );
    }
}
