//! Runs cases with a client, as often as one verdict takes.

use std::time::{Duration, Instant};

use anyhow::Result;
use hecaton_lab::run::Handout;
use serde::{Deserialize, Serialize};

use crate::case::{Call, Case, Facts, Severity, Verdict};
use crate::facts::facts;
use crate::judge::judge;
use crate::server::{Log, Server};
use crate::subject::{CallOptions, Reported, Subject};

/// How often each case runs.
pub const RUNS: usize = 3;

/// How long a client may take to notice that the server closed an idle connection, between two calls. No verdict
/// depends on it: a client that has not noticed gets the fault on its reused connection, which is what the case is
/// about.
pub const TO_NOTICE: Duration = Duration::from_millis(30);

/// Most characters of a request's body in a report.
const SHOWN: usize = 4096;

/// One run of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict's sentence.
    pub says: String,
    /// What was requested.
    pub calls: Vec<CallOptions>,
    /// The client's claims.
    pub reported: Vec<Reported>,
    /// The facts that were seen and claimed.
    pub facts: Facts,
    /// What happened. Documents have it for findings only, as evidence.
    #[serde(skip_serializing_if = "Log::is_empty")]
    pub log: Log,
}

impl Run {
    /// Whether the driver failed, so that nothing is known of the client.
    fn is_broken(&self) -> bool {
        self.reported
            .iter()
            .any(|reported| matches!(reported, Reported::Broken { .. }))
    }

    /// Forgets what was said and seen.
    pub fn empty(&mut self) {
        (self.calls, self.reported) = (Vec::new(), Vec::new());
        self.facts.clear();
        self.log.entries.clear();
        self.verdict = Verdict::LeftOut;
        self.says.clear();
    }
}

/// A behaviour that was described in public before it was measured here.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// The id of the case.
    pub case: String,
    /// Who describes it.
    pub by: By,
    /// The description, in our words.
    pub says: String,
    /// The URL, or the file of this project.
    pub source: String,
    /// How to switch it off, if that is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub switch: String,
}

/// The kind of source that describes a behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The client's documentation: it is so on purpose.
    Documentation,
    /// The client's source.
    Source,
    /// A report in the client's tracker.
    Issue,
    /// A security advisory.
    Advisory,
}

/// A case with its runs.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The case.
    pub id: String,
    /// Its short name.
    pub code: String,
    /// Its group.
    pub group: String,
    /// The server's behaviour.
    pub title: String,
    /// The rule.
    pub rfc: String,
    /// The harm of a bad outcome.
    pub severity: Severity,
    /// The verdict of all runs.
    pub verdict: Verdict,
    /// Its sentence.
    pub says: String,
    /// The run that shows it.
    pub run: Run,
    /// The verdicts of all runs.
    pub runs: Vec<Verdict>,
    /// Where this behaviour is described in public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub described: Option<Described>,
}

/// Runs a case so many times.
///
/// # Errors
/// If no port is free, or the client's driver has ended.
pub fn audit(case: &Case, subject: &mut dyn Subject, runs: usize) -> Result<Finding> {
    let mut done: Vec<Run> = Vec::new();
    for _ in 0..runs.max(1) {
        done.push(once(case, subject, TO_NOTICE)?);
        // A call that the client cannot make is not tried again.
        if done[0].verdict == Verdict::Unsupported || done.last().is_some_and(Run::is_broken) {
            break;
        }
    }
    let verdicts: Vec<Verdict> = done.iter().map(|run| run.verdict).collect();
    let same = verdicts.iter().all(|verdict| *verdict == verdicts[0]);
    let broken = done.iter().position(Run::is_broken);
    let found = || done.iter().position(|run| run.verdict.is_finding());
    let run = done.swap_remove(broken.or_else(found).unwrap_or(0));
    let (verdict, says) = match same || broken.is_some() {
        true => (run.verdict, run.says.clone()),
        false => (Verdict::Inconclusive, split(&verdicts)),
    };
    Ok(Finding {
        id: case.id.clone(),
        code: case.code.clone(),
        group: case.group.clone(),
        title: case.title.clone(),
        rfc: case.rfc.clone(),
        severity: case.severity,
        verdict,
        says,
        run,
        runs: verdicts,
        described: None,
    })
}

fn split(verdicts: &[Verdict]) -> String {
    let names: Vec<String> = verdicts.iter().map(Verdict::to_string).collect();
    format!("The runs differ: {}.", names.join(", "))
}

/// The calls of a run, what the client claims of each, and how long each took.
#[derive(Default)]
struct Made {
    calls: Vec<CallOptions>,
    reported: Vec<Reported>,
    waited: Vec<Duration>,
}

/// Makes the calls of a case in their order, until the client does not support one, or its driver fails.
fn make_calls(
    case: &Case,
    subject: &mut dyn Subject,
    server: &Server,
    ca: Option<&Handout>,
    notice: Duration,
) -> Result<Made> {
    let mut made = Made::default();
    for (index, call) in case.calls.iter().enumerate() {
        if index > 0 {
            server.settle(Duration::from_secs(case.budget.seconds));
            if call.down {
                server.go_down()?;
            }
            std::thread::sleep(notice.max(Duration::from_millis(call.after_ms)));
        }
        let mut options = options(case, call, index == 0, server);
        options.ca = ca.map(|ca| ca.path().to_string_lossy().into_owned());
        server.make_current(&call.name);
        let began = Instant::now();
        let reply = subject.make(&options)?;
        made.waited.push(began.elapsed());
        server.note_return();
        if call.down {
            server.come_up()?;
        }
        let ends = matches!(
            reply,
            Reported::Unsupported { .. } | Reported::Broken { .. }
        );
        // Reports need not show megabytes.
        options.body = options.body.map(|body| body.chars().take(SHOWN).collect());
        made.calls.push(options);
        made.reported.push(reply);
        if ends {
            break;
        }
    }
    Ok(made)
}

/// Runs a case once.
///
/// # Errors
/// As [`audit`].
pub fn once(case: &Case, subject: &mut dyn Subject, notice: Duration) -> Result<Run> {
    let server = Server::start(vec![case.clone()], Some(case.budget))?;
    let longest = Duration::from_secs(case.budget.seconds);
    let ca = Some(server.ca()).filter(|pem| !pem.is_empty());
    let ca = ca.map(Handout::write).transpose()?;
    let Made {
        calls,
        reported,
        waited,
    } = make_calls(case, subject, &server, ca.as_ref(), notice)?;
    // A client may send more behind its caller's back.
    server.settle(longest);
    std::thread::sleep(notice);
    server.linger(Duration::from_millis(case.linger_ms));
    let log = server.stop();
    let facts = facts(case, &log, &reported);
    let (verdict, says) = judge(case, &log, &reported, &waited, &facts);
    Ok(Run {
        verdict,
        says,
        calls,
        reported,
        facts,
        log,
    })
}

/// The options of a call.
pub(crate) fn options(case: &Case, call: &Call, new_client: bool, server: &Server) -> CallOptions {
    let addresses = server.addresses(case, &call.name);
    let fill = |text: &String| addresses.fill(text);
    let pairs = |all: &[(String, String)]| {
        let filled = all.iter().map(|(name, value)| (fill(name), fill(value)));
        filled.collect::<Vec<_>>()
    };
    CallOptions {
        new_client,
        method: addresses.fill(&call.method),
        url: addresses.fill(&call.url),
        fields: pairs(&call.fields),
        body: call.body.as_ref().map(fill),
        timeout_ms: call.timeout_ms.unwrap_or(CallOptions::LIMIT_MS),
        follow: call.follow,
        ca: None,
        verify: call.verify,
        http: http_of(case).map(str::to_owned),
        proxy: call.proxy.as_ref().map(fill),
        environment: pairs(&call.environment),
        hosts: call.hosts.as_ref().map(fill),
        parallel: call.parallel,
        pool_size: case.calls.iter().find_map(|call| call.pool_size),
        idle_ms: case.calls.iter().find_map(|call| call.idle_ms),
        by: call.by.clone(),
        needs: case.all_needs(),
    }
}

/// The version of HTTP that the client is to use; none for its default.
fn http_of(case: &Case) -> Option<&'static str> {
    match case.h2 {
        _ if case.h3 => Some("3"),
        Some(_) => Some("2"),
        None => None,
    }
}
