//! `hecaton audit compare`: which verdicts differ between two runs.

use std::io::{Write, stdout};
use std::path::Path;

use anyhow::{Context, Result, bail};
use hecaton_audit::case::Verdict;
use hecaton_audit::report::{Change, Direction, changes, verdicts};
use hecaton_lab::ledger::run_text;

use crate::cmd::session::plural;
use crate::ending::Unexpected;

/// Prints what differs, and fails if something is worse and `--fail-if-worse` is set.
pub fn run(before: &Path, after: &Path, fail_if_worse: bool) -> Result<()> {
    let read = |path: &Path| {
        let text = run_text(path)?;
        verdicts(&text).with_context(|| format!("{} is not a run of the audit", path.display()))
    };
    let changes = changes(&read(before)?, &read(after)?);
    let mut out = stdout().lock();
    for Change {
        client,
        case,
        before,
        after,
        direction,
    } in &changes
    {
        let (before, after) = (word(*before), word(*after));
        writeln!(out, "{direction:<6}  {client}  {case}: {before} → {after}")?;
    }
    let counted = |direction, word: &str| {
        let all = changes
            .iter()
            .filter(|change| change.direction == direction);
        counted(all.count(), "is", "are", word)
    };
    let worse = counted(Direction::Worse, "worse");
    let better = counted(Direction::Better, "better");
    match worse {
        _ if changes.is_empty() => writeln!(out, "The verdicts are the same.")?,
        Some(worse) if fail_if_worse => bail!(Unexpected(worse)),
        worse => {
            let worse = worse.unwrap_or_else(|| "Nothing is worse".to_owned());
            let both: Vec<String> = [Some(worse), better].into_iter().flatten().collect();
            writeln!(out, "{}.", both.join(", and "))?;
        }
    }
    Ok(())
}

/// So many verdicts, as in `1 verdict is worse`; none for 0.
pub fn counted(number: usize, one: &str, several: &str, rest: &str) -> Option<String> {
    let verb = if number == 1 { one } else { several };
    (number > 0).then(|| format!("{} {verb} {rest}", plural(number, "verdict")))
}

/// The word for a verdict in a comparison.
fn word(verdict: Option<Verdict>) -> String {
    verdict.map_or_else(|| "not run".into(), |verdict| verdict.to_string())
}
