//! The common part of all verbs that measure: options, folder, rounds, result and files.

use std::io::{Write, stderr, stdout};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use console::Term;
use hecaton_lab::findings::words::figure;
use hecaton_lab::findings::{Row, RowThreshold};
use hecaton_lab::ledger::{Folder, holds_run};
use hecaton_lab::measure::{self, Conditions, Measured, Progress};
use hecaton_lab::plan::ServiceTime;
use hecaton_lab::report::{self, View};
use hecaton_lab::run::Elsewhere;
use hecaton_lab::spec::{BASELINE_LOADER, Experiment, Manifest, Project, Usage, parse_duration};

use crate::ending::Beyond;
use crate::progress::{Progress as Bar, words};
use crate::stop;

/// Options of every verb that measures.
#[derive(Args)]
#[command(next_help_heading = "Run and output")]
pub struct Common {
    /// Seed for the order of rounds and for the delays [default: random; run.json records it].
    #[arg(long)]
    pub seed: Option<u64>,
    /// Print the document as JSON on stdout, and everything else on stderr.
    #[arg(long)]
    pub json: bool,
    /// Folder for run.json and report.html [default: a new one in hecaton-report].
    #[arg(short = 'o', long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Overwrite a run that is already in the folder.
    #[arg(long)]
    pub force: bool,
    /// Print nothing but the result.
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// Exit with status 3 if this is true of a row, as in 'p99 > 50ms'. 'typhoeus: p99 > 50ms' is about that client's
    /// rows alone. May be repeated. Columns: p50, p99, cpu, speed, memory, errors, duplicates.
    #[arg(long, value_name = "LIMIT")]
    pub fail_if: Vec<RowThreshold>,
    /// Clients, separated by commas, whose drivers may run as you when no other user can read their files. Their rows
    /// are unverified.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub trust: Vec<String>,
    /// Send requests to the test server on another machine, where `hecaton serve --remote TOKEN` runs.
    #[arg(long, value_name = "HOST:PORT", requires = "server_token")]
    pub server: Option<String>,
    /// The token given to `hecaton serve --remote` on that machine. It is never written to a file.
    #[arg(
        long,
        value_name = "TOKEN",
        env = "HECATON_SERVER_TOKEN",
        hide_env_values = true
    )]
    pub server_token: Option<String>,
    /// How long a driver may be late beyond three times what is expected.
    #[arg(long, hide = true, value_parser = parse_duration, default_value = "20s")]
    pub patience: Duration,
}

impl Common {
    /// The folder of a run, which is not yet made.
    ///
    /// # Errors
    /// When it holds a run already, which would be lost.
    pub fn folder(&self, verb: &str) -> Result<PathBuf> {
        let folder = Folder::path_for(self.out.as_deref(), verb);
        if !self.force && holds_run(&folder) {
            bail!(Usage(format!(
                "{} holds a run already; choose another folder with --out, or write over it with --force",
                folder.display()
            )));
        }
        Ok(folder)
    }

    /// Where an experiment is measured: in this folder, with these options.
    ///
    /// # Errors
    /// When this program cannot be found, or signals cannot be received.
    pub fn conditions(&self, folder: PathBuf) -> Result<Conditions> {
        Ok(Conditions {
            root: Project::find()?.root().map(Into::into),
            folder,
            program: std::env::current_exe()?,
            command: command_line(),
            patience: self.patience,
            server: self.elsewhere(),
            trusted: self.trust.clone(),
            stop: stop::on_request()?,
        })
    }

    /// Where the test server is; none for this machine.
    fn elsewhere(&self) -> Option<Elsewhere> {
        let (address, token) = self.server.clone().zip(self.server_token.clone())?;
        Some(Elsewhere { address, token })
    }

    /// Prints a result: as the document, as CSV, or as the report. With JSON or CSV, the report goes to stderr.
    ///
    /// # Errors
    /// When the output does not take it.
    pub fn print(
        &self,
        view: &View,
        document: impl Fn() -> serde_json::Result<String>,
        csv: Option<&str>,
    ) -> Result<()> {
        let text = |term: &Term| view.terminal(&super::style(term));
        let mut out = stdout().lock();
        match csv {
            _ if self.json => writeln!(out, "{}", document()?)?,
            Some(csv) => out.write_all(csv.as_bytes())?,
            None => out.write_all(text(&Term::stdout()).as_bytes())?,
        }
        out.flush()?;
        if !self.quiet && (self.json || csv.is_some()) {
            stderr()
                .lock()
                .write_all(text(&Term::stderr()).as_bytes())?;
        }
        Ok(())
    }
}

/// Measures an experiment, prints what was found, and writes its files.
///
/// # Errors
/// Whatever goes wrong first; what was measured until then remains.
pub fn measure(experiment: &Experiment, common: &Common, csv: bool) -> Result<()> {
    known(&common.fail_if, &experiment.sweep.clients)?;
    let conditions = common.conditions(common.folder(experiment.kind.verb())?)?;
    let mut bar = Bar::new(0, true);
    let measured = measure::measure(experiment, &conditions, &mut |event| match event {
        Progress::Begun(rounds, time) => {
            bar = Bar::new(rounds, common.quiet);
            for why in &experiment.left_out {
                bar.say(&format!("left out: {why}"));
            }
            bar.say(&begins(experiment, rounds, time));
        }
        Progress::ServiceTimed(time, service) => bar.say(&lasts(time, service)),
        Progress::Said(says) => bar.say(&says),
        Progress::Measured(round) => bar.advance(round),
        Progress::Left(left, all) => {
            bar.expect(left);
            all.iter().for_each(|all| bar.say(&shown(*all)));
        }
    });
    bar.end();
    let measured = measured?;
    show(&measured, common, csv)?;
    if !experiment.tolerant {
        measured.nobody_broke()?;
    }
    within(&measured.findings.rows, &common.fail_if)
}

/// Refuses a limit of a client that is not measured.
fn known(limits: &[RowThreshold], measured: &[Manifest]) -> Result<()> {
    let mut clients = limits.iter().filter_map(|limit| limit.client.as_ref());
    match clients.find(|client| measured.iter().all(|one| one.client != **client)) {
        Some(client) => bail!(Usage(format!(
            "--fail-if {client}: no client of that name is measured; name one that is"
        ))),
        None => Ok(()),
    }
}

/// Fails if a row is beyond a limit, and names each.
fn within(rows: &[Row], limits: &[RowThreshold]) -> Result<()> {
    let failures = limits
        .iter()
        .flat_map(|limit| rows.iter().filter_map(|row| limit.failure(row)));
    Beyond::if_any(failures)
}

fn begins(experiment: &Experiment, rounds: u64, time: Option<Duration>) -> String {
    let clients = plural(experiment.sweep.clients.len(), "client");
    let rounds = plural(rounds as usize, "round");
    let time = time.map(|time| format!("at least {}, ", words(time)));
    let (time, seed) = (time.unwrap_or_default(), experiment.sweep.seed);
    format!("{clients}, {rounds}, {time}seed {seed}")
}

/// How long a run takes, as it has shown.
fn shown(all: Duration) -> String {
    format!(
        "about {} in all, as the first round of each client shows",
        words(all)
    )
}

/// How long a run takes, and why.
fn lasts(time: Duration, service: ServiceTime) -> String {
    let ms = |time: Duration| figure(time.as_secs_f64() * 1e3);
    format!(
        "about {}: a request takes your service {} ms, and with the most in flight one ends every {} ms",
        words(time),
        ms(service.alone),
        ms(service.together)
    )
}

/// Prints the result first, so that it is not lost if the disk is full or the folder is gone.
fn show(measured: &Measured, common: &Common, csv: bool) -> Result<()> {
    let view = report::view(&measured.document, &measured.findings);
    let printed = common.print(
        &view,
        || serde_json::to_string(&measured.full()),
        view.own_csv().filter(|_| csv),
    );
    let (written, folder) = (measured.finish(), &measured.folder);
    let page = folder.write("report.html", view.html().as_bytes())?;
    if let Some(csv) = view.own_csv() {
        folder.write("sync-async.csv", csv.as_bytes())?;
    }
    written?;
    if !common.quiet {
        crate::say!("report: {}", page.display());
        crate::say!("SHA-256 of run.json: {}", folder.fingerprint()?);
    }
    printed?;
    let rows = measured.findings.rows.iter();
    let mut clients = rows.filter(|row| row.client != BASELINE_LOADER).peekable();
    if clients.peek().is_some() && clients.all(|row| row.rejected.is_some()) {
        bail!("every row was rejected, so nothing was found; the reasons are in the report");
    }
    Ok(())
}

/// The command line as it can be pasted into a shell.
pub fn command_line() -> String {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words = without_secrets(words).into_iter();
    std::iter::once("hecaton".to_string())
        .chain(words.map(|word| quoted(&word)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The option whose value is a secret.
const TOKEN: &str = "--server-token";

/// The words of a command line, the values of header fields left out: the line stands in documents and on pages.
fn without_secrets(words: Vec<String>) -> Vec<String> {
    let hidden = |field: &str| match field.split_once(':') {
        Some((name, _)) => format!("{name}: …"),
        None => "…".to_owned(),
    };
    let (mut is_field, mut is_token) = (false, false);
    let one = |word: String| {
        if std::mem::replace(&mut is_token, word == TOKEN) {
            return "…".to_owned();
        }
        if word
            .strip_prefix(TOKEN)
            .is_some_and(|rest| rest.starts_with('='))
        {
            return format!("{TOKEN}=…");
        }
        if std::mem::replace(&mut is_field, word == "-H" || word == "--header") {
            return hidden(&word);
        }
        for option in ["--header=", "-H"] {
            if let Some(field) = word.strip_prefix(option).filter(|field| !field.is_empty()) {
                return format!("{option}{}", hidden(field));
            }
        }
        word
    };
    words.into_iter().map(one).collect()
}

/// A word as a shell would read it.
pub fn quoted(word: &str) -> String {
    let plain = !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || "-_.,:/=%+@".contains(c));
    if plain {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// `1 client`, `2 clients`.
pub fn plural(number: usize, noun: &str) -> String {
    hecaton_lab::findings::words::plural(number as u64, noun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_not_written_over_without_an_option() {
        let folder = tempfile::tempdir().unwrap();
        let common = |force| Common {
            seed: None,
            json: false,
            out: Some(folder.path().to_path_buf()),
            force,
            quiet: true,
            patience: Duration::ZERO,
            fail_if: Vec::new(),
            trust: Vec::new(),
            server: None,
            server_token: None,
        };
        assert!(common(false).folder("sweep").is_ok());
        std::fs::write(folder.path().join("run.json"), "{}").unwrap();
        let error = common(false).folder("sweep").unwrap_err().to_string();
        assert!(
            error.contains("holds a run already") && error.contains("--force"),
            "{error}"
        );
        assert!(common(true).folder("sweep").is_ok());
        std::fs::create_dir(folder.path().join("many")).unwrap();
        std::fs::rename(
            folder.path().join("run.json"),
            folder.path().join("many/run.json"),
        )
        .unwrap();
        assert!(
            common(false).folder("bench").is_err(),
            "a benchmark's parts are runs too"
        );
    }

    #[test]
    fn the_values_of_header_fields_are_in_no_document() {
        let given = [
            "sweep",
            "-H",
            "A: secret",
            "--header=B: secret",
            "-HC:secret",
            "--header",
            "secret",
            "--server-token",
            "secret",
            "--server-token=secret",
            "-c",
            "5",
        ];
        let remaining = without_secrets(given.map(str::to_owned).into()).join(" ");
        assert_eq!(
            remaining,
            "sweep -H A: … --header=B: … -HC: … --header … --server-token … --server-token=… -c 5"
        );
    }

    #[test]
    fn the_command_line_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("--delay"), "--delay");
        assert_eq!(
            quoted("lognormal:p50=5ms,p99=40ms"),
            "lognormal:p50=5ms,p99=40ms"
        );
        assert_eq!(quoted("http://h/?a=b&c"), "'http://h/?a=b&c'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
