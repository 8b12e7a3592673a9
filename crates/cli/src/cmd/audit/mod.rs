//! `hecaton audit`: what a client does behind its caller's back, by the log of a server that misbehaves.

mod clients;
mod compare;
mod explain;
mod listen;

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use hecaton_audit::case::{Case, Catalogue, Verdict};
use hecaton_audit::clients::{Client, SINS};
use hecaton_audit::report::{
    Audited, Expectations, Fingerprint, Library, csv, html, junit, markdown, published,
};
use hecaton_audit::run::RUNS;
use hecaton_lab::spec::{Manifest, project_root};

/// Audits HTTP clients: what each sends, repeats, accepts and leaks, by the log of a server that misbehaves.
///
/// A case is a server with one fault, and a verdict for each thing that a client may do about it. `--list` lists all
/// cases. A client's own reports are claims. The server's log decides.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Clients; or `explain CASE`; or `compare BEFORE AFTER` with two run.json.
    #[arg(value_name = "CLIENT")]
    words: Vec<String>,
    /// All clients that are installed, several side by side. Each finding is tried again alone.
    #[arg(long)]
    all: bool,
    /// Only cases of these groups, separated by commas.
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    group: Vec<String>,
    /// Only these cases, by their ids or codes, separated by commas.
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    case: Vec<String>,
    /// Print what was sent and received, byte by byte.
    #[arg(long)]
    wire: bool,
    /// List all cases.
    #[arg(long)]
    list: bool,
    /// Serve the cases without a driver: print URLs, and report verdicts on any client from the log until Ctrl-C.
    #[arg(long)]
    listen: bool,
    /// How often each case runs. Verdicts that differ are inconclusive.
    #[arg(long, value_name = "RUNS", default_value_t = RUNS)]
    runs: usize,
    /// How the findings are printed.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Write run.json, report.html, report.md, report.csv and junit.xml to this folder.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Leave out what could be abused and is not public yet, as SECURITY.md says.
    #[arg(long)]
    public: bool,
    /// A file of expected findings. Any other finding fails, and so does an expected one that disappears.
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Run this client's driver as your own user; may be repeated. Only for drivers that you trust.
    #[arg(long, value_name = "CLIENT")]
    trust: Vec<String>,
    /// With `compare`: fail if a verdict is worse.
    #[arg(long)]
    fail_if_worse: bool,
    /// The fault of the test client `sinner`, as in follows-for-ever. docs/audit-cases.md lists them.
    #[arg(long, value_name = "SIN")]
    sin: Option<String>,
}

/// How findings are printed.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    Text,
    Markdown,
    Json,
    Csv,
    Junit,
}

const EXAMPLES: &str = "\
Examples:
  hecaton audit hecaton-ruby
      one client, all cases
  hecaton audit --all --group retries,timeouts
      a matrix of clients and cases
  hecaton audit net-http --case rt02 --wire
      one case, byte by byte
  hecaton audit --listen
      URLs for any client, judged by the log alone
  hecaton audit explain rt02
      what the server does, and why it matters
  hecaton audit compare before/run.json after/run.json --fail-if-worse
      two runs
  hecaton audit hecaton-ruby --expect audit/expectations/hecaton-ruby.toml
      for continuous integration";

/// Audits, and prints.
pub fn run(arguments: &Arguments, drivers: &[PathBuf]) -> Result<()> {
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    if let ["compare", before, after] = words[..] {
        return compare::run(Path::new(before), Path::new(after), arguments.fail_if_worse);
    }
    let catalogue = Catalogue::load(&project_root()?.join("scenarios/audit"))?;
    match words[..] {
        ["explain", case] => return explain::run(catalogue.find(case)?),
        ["explain", ..] => {
            bail!("say which case, as in `hecaton audit explain rt02`; `--list` lists all")
        }
        ["compare", ..] => {
            bail!("say which runs, as in `hecaton audit compare before/run.json after/run.json`")
        }
        _ => {}
    }
    let cases = chosen(&catalogue, arguments)?;
    if arguments.list {
        return explain::list(&cases);
    }
    if arguments.listen {
        return listen::run(&cases);
    }
    let logs = std::env::temp_dir().join(format!("hecaton-audit-{}", std::process::id()));
    std::fs::create_dir_all(&logs)?;
    let audited = audit_all(arguments, drivers, &cases, &logs);
    let _ = std::fs::remove_dir_all(&logs);
    let mut audited = audited?;
    let library = Library::load(&project_root()?.join("audit/documented"))?;
    audited.iter_mut().for_each(|one| library.describe(one));
    if arguments.public {
        audited = audited.into_iter().map(published).collect();
    }
    print(arguments, &audited)?;
    if let Some(folder) = &arguments.out {
        write(folder, &audited)?;
    }
    match &arguments.expect {
        Some(file) => expected(file, &audited),
        None => Ok(()),
    }
}

/// The cases that options name.
fn chosen<'a>(catalogue: &'a Catalogue, arguments: &Arguments) -> Result<Vec<&'a Case>> {
    if !arguments.case.is_empty() {
        return arguments
            .case
            .iter()
            .map(|name| catalogue.find(name))
            .collect();
    }
    catalogue.groups(&arguments.group)
}

fn audit_all(
    arguments: &Arguments,
    drivers: &[PathBuf],
    cases: &[&Case],
    logs: &Path,
) -> Result<Vec<Audited>> {
    let own: Vec<&String> = arguments.words.iter().filter(|name| is_own(name)).collect();
    let mut audited = Vec::new();
    for name in own {
        let mut client = own_client(name, arguments)?;
        audited.push(clients::audit_one(
            &mut client,
            "built in",
            cases,
            arguments,
        )?);
    }
    let catalogue = super::catalogue(drivers)?;
    let manifests: Vec<&Manifest> = if arguments.all {
        catalogue.all().collect()
    } else {
        let named = arguments.words.iter().filter(|name| !is_own(name));
        let found: Result<Vec<_>, _> = named.map(|name| catalogue.named(name)).collect();
        found?.into_iter().flatten().collect()
    };
    ensure!(
        !manifests.is_empty() || !audited.is_empty(),
        "say which client to audit, as in `hecaton audit hecaton-ruby`, or `--all`; `hecaton drivers` lists them"
    );
    audited.extend(clients::audit_clients(manifests, cases, arguments, logs)?);
    Ok(audited)
}

fn is_own(name: &str) -> bool {
    matches!(name, "saint" | "sinner")
}

/// The saint, or the sinner with its sin.
fn own_client(name: &str, arguments: &Arguments) -> Result<Client> {
    match (name, &arguments.sin) {
        ("saint", _) => Ok(Client::saint()),
        (_, Some(sin)) if SINS.iter().any(|(known, _)| known == sin) => Ok(Client::sinner(sin)),
        (_, Some(sin)) => bail!("there is no sin `{sin}`; docs/audit-cases.md lists them"),
        (_, None) => bail!("say which sin, as in `hecaton audit sinner --sin follows-for-ever`"),
    }
}

fn print(arguments: &Arguments, audited: &[Audited]) -> Result<()> {
    let text = match arguments.format {
        Format::Text => return Ok(()),
        Format::Markdown => markdown(audited),
        Format::Json => serde_json::to_string_pretty(audited)?,
        Format::Csv => csv(audited),
        Format::Junit => junit(audited),
    };
    writeln!(stdout(), "{}", text.trim_end())?;
    Ok(())
}

fn write(folder: &Path, audited: &[Audited]) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{} cannot be made", folder.display()))?;
    let fingerprint = Fingerprint::load(&project_root()?.join("audit/fingerprint.toml"))?;
    let files = [
        ("run.json", serde_json::to_string_pretty(audited)?),
        (
            "report.html",
            html(audited, &fingerprint, home(folder).as_deref()),
        ),
        ("report.md", markdown(audited)),
        ("report.csv", csv(audited)),
        ("junit.xml", junit(audited)),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}

/// Where the page leads to: the page of all results in the folder above, if there is one.
fn home(folder: &Path) -> Option<String> {
    let index = folder.join("../index.html");
    index.is_file().then(|| "../index.html".to_owned())
}

/// Fails if the findings are not the expected ones.
fn expected(file: &Path, audited: &[Audited]) -> Result<()> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("{} cannot be read", file.display()))?;
    let expectations =
        Expectations::parse(&text).with_context(|| format!("{} is wrong", file.display()))?;
    let wrong: Vec<String> = audited
        .iter()
        .flat_map(|client| expectations.differences(client))
        .collect();
    ensure!(
        wrong.is_empty(),
        "{} differ from {}:\n  {}",
        wrong.len(),
        file.display(),
        wrong.join("\n  ")
    );
    Ok(())
}

/// The word for a verdict in a comparison.
fn word(verdict: Option<Verdict>) -> String {
    verdict.map_or_else(|| "not run".into(), |verdict| verdict.to_string())
}
