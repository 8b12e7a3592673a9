//! `hecaton audit --listen`: no driver; any client gets its verdicts from the log alone.

use std::collections::BTreeMap;
use std::io::{Write, stdout};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use hecaton_audit::case::{Case, Verdict};
use hecaton_audit::listen::{by_hand, from_the_log, is_for_hands};
use hecaton_audit::server::Server;

use crate::cmd::session::plural;
use crate::stop;

/// How long a case must be quiet before its verdict is printed.
const QUIET: Duration = Duration::from_millis(1500);

/// Prints a command for each case, and the verdicts of the cases that were tried, until somebody stops it.
pub fn run(cases: &[&Case]) -> Result<()> {
    let stop = stop::on_request()?;
    let all = cases.len();
    let cases = cases.iter().copied();
    let cases: Vec<&Case> = cases.filter(|case| is_for_hands(case)).collect();
    let server = Server::start(cases.iter().map(|case| (*case).clone()).collect(), None)?;
    introduce(&cases, all, &server)?;
    let (mut shown, mut seen): (BTreeMap<&str, (Verdict, String)>, usize) = (BTreeMap::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(QUIET);
        let log = server.log();
        // While something still happens, verdicts would be early.
        if log.entries.len() != seen {
            seen = log.entries.len();
            continue;
        }
        for case in &cases {
            let Some(verdict) = from_the_log(case, &log) else {
                continue;
            };
            if shown.get(case.id.as_str()) != Some(&verdict) {
                let mut out = stdout();
                let (word, says) = &verdict;
                writeln!(out, "{} {}: {word}: {says}", case.code, case.id)?;
                out.flush()?;
                shown.insert(&case.id, verdict);
            }
        }
    }
    Ok(())
}

/// Prints the commands. `all` counts also the cases that need a driver.
fn introduce(cases: &[&Case], all: usize, server: &Server) -> Result<()> {
    let (mut out, left_out) = (stdout(), all - cases.len());
    writeln!(
        out,
        "Try a case with curl, or make the same calls with your client. Ctrl-C ends this.\n"
    )?;
    let all = plural(all, "case");
    match left_out {
        0 => {}
        1 => writeln!(out, "1 of {all} needs a driver, and is left out.\n")?,
        left_out => writeln!(
            out,
            "{left_out} of {all} need a driver, and are left out.\n"
        )?,
    }
    for case in cases {
        writeln!(
            out,
            "{} {}: {}\n  {}",
            case.code,
            case.id,
            case.title,
            by_hand(case, server)
        )?;
    }
    writeln!(out)?;
    Ok(out.flush()?)
}
