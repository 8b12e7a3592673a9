//! `hecaton audit compare`: which verdicts differ between two runs.

use std::io::{Write, stdout};
use std::path::Path;

use anyhow::{Context, Result, bail};
use hecaton_audit::report::{Change, changes, verdicts};

/// Prints what differs, and fails if something is worse and `--fail-if-worse` is set.
pub fn run(before: &Path, after: &Path, fail_if_worse: bool) -> Result<()> {
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        verdicts(&text).with_context(|| format!("{} is not a run of the audit", path.display()))
    };
    let changes = changes(&read(before)?, &read(after)?);
    let mut out = stdout().lock();
    for Change {
        client,
        case,
        before,
        after,
        worse,
    } in &changes
    {
        let mark = if *worse { "worse" } else { "other" };
        writeln!(
            out,
            "{mark}  {client}  {case}: {} → {}",
            super::word(*before),
            super::word(*after)
        )?;
    }
    let worse = changes.iter().filter(|change| change.worse).count();
    match (changes.len(), worse) {
        (0, _) => writeln!(out, "The verdicts are the same.")?,
        (_, 0) => writeln!(out, "Nothing is worse.")?,
        (_, worse) if fail_if_worse => bail!("{worse} verdicts are worse"),
        (_, worse) => writeln!(out, "{worse} verdicts are worse.")?,
    }
    Ok(())
}
