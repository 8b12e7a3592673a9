//! Audits clients: several side by side, because a case waits most of its time. A finding is then
//! tried again while no other client runs.

use std::io::{Write, stdout};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, atomic::AtomicBool};

use anyhow::Result;
use hecaton_audit::case::{Case, Verdict};
use hecaton_audit::report::{Audited, wire};
use hecaton_audit::run::{Finding, audit};
use hecaton_audit::subject::{Process, Subject};
use hecaton_lab::run::{Interrupted, receipt};
use hecaton_lab::spec::Manifest;
use parking_lot::Mutex;

use super::{Arguments, Format};
use crate::progress::Progress;
use crate::stop;

/// How many clients are audited side by side.
const SIDE_BY_SIDE: usize = 8;

/// A client that is to be audited.
struct Candidate<'a> {
    manifest: &'a Manifest,
    version: String,
}

/// The parts of an audit that all of its clients share.
struct Audit<'a> {
    cases: &'a [&'a Case],
    arguments: &'a Arguments,
    logs: &'a Path,
    stop: Arc<AtomicBool>,
}

/// Audits the clients of these manifests. With `--all`, a client that is missing or breaks is named, and
/// the others are still audited.
pub fn audit_clients(
    manifests: Vec<&Manifest>,
    cases: &[&Case],
    arguments: &Arguments,
    logs: &Path,
) -> Result<Vec<Audited>> {
    let mut candidates = Vec::new();
    for manifest in manifests {
        match receipt(manifest) {
            Ok(version) => candidates.push(Candidate { manifest, version }),
            Err(missing) if arguments.all => crate::say!("– {missing}"),
            Err(missing) => return Err(missing.into()),
        }
    }
    let stop = stop::on_request()?;
    let audit = Audit {
        cases,
        arguments,
        logs,
        stop,
    };
    match &candidates[..] {
        [] => Ok(Vec::new()),
        [one] if !arguments.all => Ok(vec![audit_one(
            &mut audit.start(one)?,
            &one.version,
            cases,
            arguments,
        )?]),
        many => audit.side_by_side(many),
    }
}

impl Audit<'_> {
    fn start(&self, candidate: &Candidate<'_>) -> Result<Process> {
        let manifest = candidate.manifest;
        let trusted = self.arguments.trust.contains(&manifest.client);
        Process::start(manifest, self.logs.into(), self.stop.clone(), trusted)
    }

    fn side_by_side(&self, candidates: &[Candidate<'_>]) -> Result<Vec<Audited>> {
        let total = candidates.len() * self.cases.len();
        let progress = Mutex::new(Progress::of("cases", total as u64, false));
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Audited)>> = Mutex::default();
        let interrupted: Mutex<Option<anyhow::Error>> = Mutex::default();
        let work = || {
            while let Some(candidate) = {
                let place = next.fetch_add(1, Ordering::SeqCst);
                candidates.get(place).map(|candidate| (place, candidate))
            } {
                let (place, candidate) = candidate;
                match self.first(candidate, &progress) {
                    Ok(audited) => done.lock().push((place, audited)),
                    Err(error) if error.is::<Interrupted>() || !self.arguments.all => {
                        *interrupted.lock() = Some(error);
                        next.store(candidates.len(), Ordering::SeqCst);
                    }
                    Err(error) => broken(&progress, candidate, &error),
                }
            }
        };
        std::thread::scope(|scope| {
            (0..SIDE_BY_SIDE.min(candidates.len())).for_each(|_| drop(scope.spawn(work)));
        });
        progress.lock().end();
        if let Some(error) = interrupted.lock().take() {
            return Err(error);
        }
        let mut done = done.into_inner();
        done.sort_by_key(|(place, _)| *place);
        self.alone(candidates, done)
    }

    /// The first audit of a client, while others are audited beside it.
    fn first(&self, candidate: &Candidate<'_>, progress: &Mutex<Progress>) -> Result<Audited> {
        let mut process = self.start(candidate)?;
        let mut findings = Vec::new();
        for case in self.cases {
            findings.push(audit(case, &mut process, self.arguments.runs)?);
            let last = format!("{} {}", candidate.manifest.client, case.code);
            progress.lock().step(&last);
        }
        Ok(Audited {
            client: candidate.manifest.client.clone(),
            version: candidate.version.clone(),
            findings,
        })
    }

    /// Tries findings again while no other client runs. If the verdict then differs, only what is seen alone counts.
    fn alone(
        &self,
        candidates: &[Candidate<'_>],
        mut done: Vec<(usize, Audited)>,
    ) -> Result<Vec<Audited>> {
        let doubtful = done.iter().flat_map(|(_, audited)| &audited.findings);
        let total = doubtful.filter(|finding| is_doubtful(finding)).count() as u64;
        let progress = Mutex::new(Progress::of("findings again, alone", total, false));
        let mut kept = Vec::new();
        for (place, audited) in &mut done {
            match self.client_alone(&candidates[*place], audited, &progress) {
                Ok(()) => kept.push(*place),
                Err(error) if error.is::<Interrupted>() || !self.arguments.all => {
                    return Err(error);
                }
                Err(error) => broken(&progress, &candidates[*place], &error),
            }
        }
        progress.lock().end();
        done.retain(|(place, _)| kept.contains(place));
        let mut all = Vec::new();
        for (_, mut audited) in done {
            audited.findings = audited.findings.into_iter().map(shown).collect();
            self.print(&audited)?;
            all.push(audited);
        }
        Ok(all)
    }

    fn client_alone(
        &self,
        candidate: &Candidate<'_>,
        audited: &mut Audited,
        progress: &Mutex<Progress>,
    ) -> Result<()> {
        let mut process = None;
        for (case, finding) in self.cases.iter().zip(&mut audited.findings) {
            if !is_doubtful(finding) {
                continue;
            }
            if process.is_none() {
                process = Some(self.start(candidate)?);
            }
            let process = process.as_mut().expect("it was started");
            let mut again = audit(case, process, 1)?;
            if again.verdict != finding.verdict {
                again = audit(case, process, self.arguments.runs)?;
                *finding = again;
            }
            let last = format!("{} {}", candidate.manifest.client, case.code);
            progress.lock().step(&last);
        }
        Ok(())
    }

    fn print(&self, audited: &Audited) -> Result<()> {
        if self.arguments.format != Format::Text {
            return Ok(());
        }
        writeln!(stdout(), "{} {}", audited.client, audited.version)?;
        for finding in &audited.findings {
            line(finding, self.arguments)?;
        }
        writeln!(stdout(), "  {}\n  {}", audited.sum(), audited.tried())?;
        Ok(())
    }
}

fn broken(progress: &Mutex<Progress>, candidate: &Candidate<'_>, error: &anyhow::Error) {
    let client = &candidate.manifest.client;
    progress
        .lock()
        .say(&format!("– {client} is left out: {error:#}"));
}

fn is_doubtful(finding: &Finding) -> bool {
    let verdict = finding.verdict;
    verdict.is_finding() || matches!(verdict, Verdict::Inconclusive | Verdict::SetupFailed)
}

/// Audits one client, and prints each finding as soon as it is known.
pub fn audit_one(
    subject: &mut dyn Subject,
    version: &str,
    cases: &[&Case],
    arguments: &Arguments,
) -> Result<Audited> {
    let text = arguments.format == Format::Text;
    if text {
        writeln!(stdout(), "{} {version}", subject.name())?;
    }
    let mut findings = Vec::new();
    for case in cases {
        let finding = audit(case, subject, arguments.runs)?;
        if text {
            line(&finding, arguments)?;
        }
        findings.push(shown(finding));
    }
    let audited = Audited {
        client: subject.name().to_owned(),
        version: version.to_owned(),
        findings,
    };
    if text {
        writeln!(stdout(), "  {}\n  {}", audited.sum(), audited.tried())?;
    }
    Ok(audited)
}

/// The line of a finding, and the wire if `--wire` was given.
fn line(finding: &Finding, arguments: &Arguments) -> Result<()> {
    if is_doubtful(finding) || !arguments.case.is_empty() {
        let says = finding.says.replace(['\r', '\n'], " ");
        let (verdict, code, id) = (finding.verdict, &finding.code, &finding.id);
        writeln!(stdout(), "  {verdict:<12} {code:<5} {id:<26} {says}")?;
    }
    if arguments.wire {
        writeln!(stdout(), "{}", wire(&finding.run))?;
    }
    Ok(())
}

/// The evidence is of use for findings only, and documents would be large.
fn shown(mut finding: Finding) -> Finding {
    if !finding.verdict.is_finding() {
        finding.run.log.entries.clear();
    }
    finding
}
