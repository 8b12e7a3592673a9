//! `hecaton audit`: what a client does behind its caller's back, by the log of a server that misbehaves.

mod clients;
mod compare;
mod expected;
mod explain;
mod listen;

use std::fs::File;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use hecaton_audit::case::{Case, Catalogue};
use hecaton_audit::clients::Client;
use hecaton_audit::report::{
    Audited, Expectations, Library, csv, html, junit, markdown, published,
};
use hecaton_audit::run::RUNS;
use hecaton_audit::subject::Subject;
use hecaton_lab::spec::{Catalogue as Drivers, Manifest, Project, Usage, did_you_mean};

/// Shows how a client behaves with broken servers: what it sends, repeats, accepts and leaks, by the server's log.
///
/// A case is a server with one fault, and a verdict for each thing that a client may do about it. `--list` lists all
/// cases. A client's own reports are claims. The server's log decides.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Clients, separated by spaces or commas; or `explain CASE`; or `compare BEFORE AFTER` with two folders of `--out`, or their run.json files.
    #[arg(value_name = "CLIENT")]
    words: Vec<String>,
    /// All clients that are installed, several side by side. Each finding is tried again alone.
    #[arg(long)]
    all: bool,
    /// Only cases of these groups, separated by commas.
    #[arg(
        long,
        value_name = "GROUP",
        value_delimiter = ',',
        conflicts_with = "case"
    )]
    group: Vec<String>,
    /// Only the few cases that matter most: a small set to begin with. `--list --essential` lists them.
    #[arg(long, conflicts_with = "case")]
    essential: bool,
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
    #[arg(long, value_name = "RUNS", default_value_t = RUNS, value_parser = runs)]
    runs: usize,
    /// How the findings are printed.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Write run.json, report.html, report.md, report.csv and junit.xml to this folder.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Leave out findings that an attacker could use and that are not public yet (see SECURITY.md).
    #[arg(long)]
    public: bool,
    /// A client's file of expected findings; may be repeated. The audit fails if there is any other finding, or if an
    /// expected finding disappears.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "listen", "write_expect"])]
    expect: Vec<PathBuf>,
    /// Write the findings of the client to this file, for `--expect`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["all", "list", "listen"])]
    write_expect: Option<PathBuf>,
    /// Run this client's driver as your own user; may be repeated. Only for drivers that you trust.
    #[arg(long, value_name = "CLIENT")]
    trust: Vec<String>,
    /// With `compare`: fail if a verdict is worse.
    #[arg(long)]
    fail_if_worse: bool,
    /// The fault of the test client `sinner`, as in follows-for-ever. `explain CASE` names the sin of a case.
    #[arg(long, value_name = "SIN")]
    sin: Option<String>,
}

/// The files of `--out`.
const FILES: [&str; 5] = [
    "run.json",
    "report.html",
    "report.md",
    "report.csv",
    "junit.xml",
];

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
  hecaton audit hecaton-ruby --essential
      one client, and the few cases that matter most
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
  hecaton audit compare before after --fail-if-worse
      two runs
  hecaton audit hecaton-ruby --expect audit/expectations/hecaton-ruby.toml
      in continuous integration: only these findings are accepted";

/// Audits, and prints.
pub fn run(arguments: &Arguments, drivers: &[PathBuf]) -> Result<()> {
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    if let ["compare", before, after] = words[..] {
        return compare::run(Path::new(before), Path::new(after), arguments.fail_if_worse);
    }
    let catalogue = Catalogue::load(&Project::find()?)?;
    match words[..] {
        ["explain", case] => return explain::run(catalogue.find(case).map_err(usage)?),
        ["explain", ..] => {
            return wrong("say which case, as in `hecaton audit explain rt02`; `--list` lists all");
        }
        ["compare", ..] => {
            return wrong("say which runs, as in `hecaton audit compare before after`");
        }
        _ => {}
    }
    let cases = chosen(&catalogue, arguments)?;
    match (arguments.list, arguments.listen) {
        (true, _) => explain::list(&cases),
        (_, true) => listen::run(&cases),
        _ => audit(arguments, drivers, &catalogue, &cases),
    }
}

/// Audits clients with the chosen cases, and prints and writes what was found.
fn audit(
    arguments: &Arguments,
    drivers: &[PathBuf],
    catalogue: &Catalogue,
    cases: &[&Case],
) -> Result<()> {
    let drivers = super::catalogue(drivers)?;
    let subjects = Subjects::of(arguments, &drivers, catalogue)?;
    check_trusted(&arguments.trust, &subjects.names())?;
    let expected = expected::read(arguments, &subjects, catalogue, cases)?;
    check_places(arguments)?;
    let mut audited = audit_all(arguments, subjects, cases)?;
    let library = Library::load(&Project::find()?)?;
    audited.iter_mut().for_each(|one| library.describe(one));
    if let Some(file) = &arguments.write_expect {
        expected::write(file, &audited, catalogue)?;
    }
    let differences = expected::differences(&expected, &audited);
    if arguments.public {
        audited = audited.into_iter().map(published).collect();
    }
    let expectations: Vec<&Expectations> = expected.iter().map(|it| &it.expectations).collect();
    // An expected failure to try a case, as in the file, is no failure of the audit.
    let unknown = expected.is_empty() || differences.is_err();
    match audited.iter().find_map(Audited::nothing_shown) {
        Some(why) if unknown && !arguments.all => bail!("{why}"),
        _ if audited.is_empty() => bail!("no client could be audited"),
        _ => {}
    }
    print(arguments, &audited, &expectations)?;
    if let Some(folder) = &arguments.out {
        write(folder, &audited, &expectations)?;
    }
    differences?;
    expected::say_that_all_is_expected(arguments, &expected)
}

/// Refuses to trust a client that is not audited.
fn check_trusted(trusted: &[String], audited: &[&str]) -> Result<()> {
    let stranger = |name: &&String| !audited.contains(&name.as_str());
    match trusted.iter().find(stranger) {
        Some(name) => wrong(&format!(
            "--trust {name}: no client of that name is audited; name one that is"
        )),
        None => Ok(()),
    }
}

/// Refuses places that cannot be written, before anything is audited.
fn check_places(arguments: &Arguments) -> Result<()> {
    if let Some(file) = &arguments.write_expect {
        check_writable("--write-expect", file)?;
    }
    if let Some(folder) = &arguments.out {
        // If the folder cannot be made, neither can the file.
        let _ = std::fs::create_dir_all(folder);
        check_writable("--out", &folder.join(FILES[0]))?;
        // If the audit cannot be made, the folder has none of an earlier one.
        for name in FILES {
            let _ = std::fs::remove_file(folder.join(name));
        }
    }
    Ok(())
}

/// Refuses a file that cannot be written, before work is done whose result would be lost. The file stays as it is.
fn check_writable(option: &str, file: &Path) -> Result<()> {
    let is_new = !file.exists();
    if let Err(error) = File::options().append(true).create(true).open(file) {
        let shown = file.display();
        return wrong(&format!(
            "{option}: {shown} cannot be written ({error}); make its folder, or choose another place"
        ));
    }
    if is_new {
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}

/// An error that ends the command with the status of a wrong command line.
fn usage(error: impl std::fmt::Display) -> anyhow::Error {
    Usage(format!("{error:#}")).into()
}

fn wrong<T>(says: &str) -> Result<T> {
    Err(usage(says))
}

/// The clients that the words name.
struct Subjects<'a> {
    /// The audit's own: the saint, or the sinner with its sin.
    own: Vec<Client>,
    manifests: Vec<&'a Manifest>,
}

impl<'a> Subjects<'a> {
    fn of(arguments: &Arguments, drivers: &'a Drivers, cases: &Catalogue) -> Result<Subjects<'a>> {
        let names = super::names(&arguments.words);
        let (own, named): (Vec<_>, Vec<_>) = names.iter().partition(|name| is_own(name));
        let own: Vec<Client> = own
            .into_iter()
            .map(|name| own_client(name, arguments, cases))
            .collect::<Result<_>>()?;
        let named: Vec<Vec<&Manifest>> = named
            .into_iter()
            .map(|name| drivers.named(name))
            .collect::<Result<_, _>>()?;
        let manifests = match arguments.all {
            true => drivers.all().collect(),
            false => named.concat(),
        };
        if manifests.is_empty() && own.is_empty() {
            return wrong(
                "say which client to audit, as in `hecaton audit hecaton-ruby`, or `--all`; `hecaton drivers` lists them",
            );
        }
        Ok(Subjects { own, manifests })
    }

    fn names(&self) -> Vec<&str> {
        let own = self.own.iter().map(Subject::name);
        let others = self
            .manifests
            .iter()
            .map(|manifest| manifest.client.as_str());
        own.chain(others).collect()
    }
}

/// The cases that options name.
fn chosen<'a>(catalogue: &'a Catalogue, arguments: &Arguments) -> Result<Vec<&'a Case>> {
    let found = match &arguments.case[..] {
        [] => catalogue.groups(&arguments.group),
        names => names.iter().map(|name| catalogue.find(name)).collect(),
    };
    let mut found: Vec<&Case> = found.map_err(usage)?;
    found.retain(|case| case.essential || !arguments.essential);
    if found.is_empty() {
        return wrong(
            "no case of these groups is essential; `hecaton audit --list --essential` lists those that are",
        );
    }
    Ok(found)
}

fn audit_all(
    arguments: &Arguments,
    subjects: Subjects<'_>,
    cases: &[&Case],
) -> Result<Vec<Audited>> {
    let mut audited = Vec::new();
    for mut client in subjects.own {
        audited.push(clients::audit_one(
            &mut client,
            "built in",
            cases,
            arguments,
        )?);
    }
    let logs = super::private_folder()?;
    let others = clients::audit_clients(subjects.manifests, cases, arguments, &logs);
    // An error names a log, unless the driver wrote nothing.
    let _ = match others {
        Ok(_) => std::fs::remove_dir_all(&logs),
        Err(_) => std::fs::remove_dir(&logs),
    };
    audited.extend(others?);
    Ok(audited)
}

fn runs(text: &str) -> Result<usize, String> {
    let runs = text.parse().ok().filter(|runs| *runs > 0);
    runs.ok_or_else(|| "write a number above zero".to_owned())
}

fn is_own(name: &str) -> bool {
    matches!(name, "saint" | "sinner")
}

/// The saint, or the sinner with its sin.
fn own_client(name: &str, arguments: &Arguments, cases: &Catalogue) -> Result<Client> {
    match (name, &arguments.sin) {
        ("saint", _) => Ok(Client::saint()),
        (_, Some(sin)) if cases.all().iter().any(|case| case.sin == *sin) => {
            Ok(Client::sinner(sin))
        }
        (_, Some(sin)) => {
            let guess = did_you_mean(sin, cases.all().iter().map(|case| &*case.sin));
            wrong(&format!(
                "there is no sin `{sin}`{guess} `hecaton audit explain CASE` names the sin of a case"
            ))
        }
        (_, None) => wrong("say which sin, as in `hecaton audit sinner --sin follows-for-ever`"),
    }
}

fn print(arguments: &Arguments, audited: &[Audited], expectations: &[&Expectations]) -> Result<()> {
    let text = match arguments.format {
        Format::Text => return Ok(()),
        Format::Markdown => markdown(audited, expectations),
        Format::Json => serde_json::to_string_pretty(audited)?,
        Format::Csv => csv(audited),
        Format::Junit => junit(audited, expectations),
    };
    writeln!(stdout(), "{}", text.trim_end())?;
    Ok(())
}

fn write(folder: &Path, audited: &[Audited], expectations: &[&Expectations]) -> Result<()> {
    let texts = [
        serde_json::to_string_pretty(audited)?,
        html(audited, home(folder).as_deref()),
        markdown(audited, expectations),
        csv(audited),
        junit(audited, expectations),
    ];
    for (name, text) in FILES.into_iter().zip(texts) {
        let path = folder.join(name);
        std::fs::write(&path, text)
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

/// Where the page leads to: the page of all results in the folder above, if there is one.
fn home(folder: &Path) -> Option<String> {
    let index = folder.join("../index.html");
    index.is_file().then(|| "../index.html".to_owned())
}
