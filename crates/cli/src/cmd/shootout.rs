//! `hecaton shootout`: every client at one verified job, ranked.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, bail};
use clap::Args;
use hecaton_lab::findings::words::listed;
use hecaton_lab::run;
use hecaton_lab::spec::{
    BASELINE_LOADER, Catalogue, Experiment, Kind, Levels, Project, ShootoutRequest,
    ShootoutScenario, Usage, parse_delay,
};
use hecaton_test_server::Delay;

use super::service::ServiceArguments;
use super::session::{self, Common};

/// Measures many clients with the same requests, and ranks them.
///
/// The job: a client fetches a JSON document of 16 KB, parses it and checks one value; a wrong value is an error.
/// Connections are reused if the client can do that. Every client that is installed takes part, unless you name some.
#[derive(Args)]
#[command(allow_negative_numbers = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// Clients to measure, separated by spaces or commas [default: all that are installed].
    #[arg(value_delimiter = ',')]
    clients: Vec<String>,
    /// Clients to measure, separated by commas, instead of names alone.
    #[arg(
        long,
        visible_alias = "clients",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    client: Vec<String>,
    /// Clients to leave out, separated by commas. The variable HECATON_SKIP does the same.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    skip: Vec<String>,
    /// Requests that each client sends, over all its rounds [default: 10000].
    #[arg(long, value_name = "N")]
    requests: Option<u64>,
    /// Requests in flight, which the variable HECATON_CONCURRENCY sets too [default: 1].
    #[arg(short = 'c', long, value_name = "N")]
    concurrency: Option<usize>,
    /// Total requests as a multiple of the concurrency, instead of --requests. The variable HECATON_PER_THREAD does the
    /// same.
    #[arg(long, value_name = "M", conflicts_with = "requests")]
    per_thread: Option<u64>,
    /// The job; there is one so far.
    #[arg(long, value_name = "NAME", default_value = JOB)]
    job: String,
    /// The client that the others' speeds are divided by [default: net-http, or the first client if it is not
    /// measured].
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// How long the server waits before each response, as in 15ms, fixed:15ms or lognormal:p50=5ms,p99=40ms [default:
    /// 0].
    #[arg(short = 'd', long, value_parser = parse_delay)]
    delay: Option<Delay>,
    /// Factors to change, separated by spaces, such as tls=on job=gzip. `hecaton compare --help` lists them.
    #[arg(long, value_name = "FACTOR=VALUE", num_args = 1..)]
    set: Vec<Levels>,
    /// Rounds of each client; six or more give 95 % confidence intervals [default: 12].
    #[arg(short = 'r', long, value_name = "N")]
    rounds: Option<u32>,
    /// Your own server instead of the lab's: [METHOD] URL, requested as it is and unverified.
    #[arg(long, value_name = "URL", num_args = 1..=2, conflicts_with = "delay")]
    url: Vec<String>,
    #[command(flatten)]
    service: ServiceArguments,
    #[command(flatten)]
    common: Common,
}

/// The only job.
const JOB: &str = "get-16k-json";

const EXAMPLES: &str = "\
Examples:
  hecaton shootout
      everything that is installed
  hecaton shootout hecaton-ruby curb typhoeus -c 20
  hecaton shootout --skip excon --requests 2000 -r 6
  hecaton shootout net-http typhoeus --url http://127.0.0.1:3000/
      against your own server
  HECATON_CONCURRENCY=20 HECATON_PER_THREAD=200 hecaton shootout
      20 in flight, 200 requests for each of the 20";

/// Measures, ranks, writes the files.
pub fn run(arguments: &Arguments, drivers: &[PathBuf]) -> Result<()> {
    let named = [&arguments.clients[..], &arguments.client].concat();
    if arguments.job != JOB {
        bail!(Usage(format!(
            "no job is called {}; the only one is {JOB}",
            arguments.job
        )));
    }
    let scenario = ShootoutScenario::load(&Project::find()?)?;
    let catalogue = super::catalogue_with(drivers, &named)?;
    let (clients, missing) = present(&named, &skipped(arguments), &catalogue)?;
    let baseline = baseline(arguments, &scenario, &clients, &catalogue)?;
    let sweep = scenario.sweep(request(arguments, &scenario, clients)?, &catalogue)?;
    let experiment = Experiment {
        left_out: missing,
        // One that is named must work; of all that happen to be there, one may break.
        tolerant: named.is_empty(),
        ..Experiment::new(sweep, Kind::Shootout { baseline })
    };
    session::measure(&experiment, &arguments.common, false)
}

/// The clients that can take part, and sentences about the others.
fn present(
    named: &[String],
    skip: &[String],
    catalogue: &Catalogue,
) -> Result<(Vec<String>, Vec<String>)> {
    let skipped: BTreeSet<&str> = skip
        .iter()
        .map(|name| name.trim())
        .filter(|name| !name.is_empty())
        .collect();
    for name in &skipped {
        catalogue.find(name)?;
    }
    let wanted = |name: &str| !skipped.contains(name) && name != BASELINE_LOADER;
    if !named.is_empty() {
        for name in named {
            catalogue.find(name)?;
        }
        let clients: Vec<String> = named.iter().filter(|name| wanted(name)).cloned().collect();
        return nobody(clients, Vec::new());
    }
    let (mut clients, mut missing): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    for manifest in catalogue.all().filter(|manifest| wanted(&manifest.client)) {
        match run::receipt(manifest) {
            Ok(_) => clients.push(manifest.client.clone()),
            Err(_) => missing.push(manifest.client.as_str()),
        }
    }
    nobody(clients, not_installed(&missing))
}

/// One sentence, for where little is installed a sentence for each would bury all others.
fn not_installed(missing: &[&str]) -> Vec<String> {
    let are = match missing.len() {
        0 => return Vec::new(),
        1 => "is",
        _ => "are",
    };
    let names = listed(missing);
    vec![format!(
        "{names} {are} not installed: `bin/hecaton drivers install all` (or a name, or a language) installs what is missing, and \
         `bin/hecaton drivers` says what that is"
    )]
}

fn nobody(clients: Vec<String>, missing: Vec<String>) -> Result<(Vec<String>, Vec<String>)> {
    match clients.is_empty() {
        true => bail!(Usage(
            "no client is left to measure; name one, or skip fewer".into()
        )),
        false => Ok((clients, missing)),
    }
}

/// The client that the others are compared with; one that is named must be measured.
fn baseline(
    arguments: &Arguments,
    scenario: &ShootoutScenario,
    clients: &[String],
    catalogue: &Catalogue,
) -> Result<String> {
    let Some(name) = &arguments.baseline else {
        let usual = clients.iter().find(|client| **client == scenario.baseline);
        return Ok(usual.unwrap_or(&clients[0]).clone());
    };
    catalogue.find(name)?;
    match clients.contains(name) {
        true => Ok(name.clone()),
        false => bail!(Usage(format!(
            "the baseline {name} is not measured; name it among the clients, install it, or choose another"
        ))),
    }
}

fn request(
    arguments: &Arguments,
    scenario: &ShootoutScenario,
    clients: Vec<String>,
) -> Result<ShootoutRequest> {
    let concurrency = match arguments.concurrency {
        None => of_environment("HECATON_CONCURRENCY")?,
        given => given,
    };
    let threads = concurrency.unwrap_or(scenario.concurrency) as u64;
    let of_threads = match arguments.requests {
        Some(_) => None,
        None => arguments.per_thread.map_or_else(
            || of_environment("HECATON_PER_THREAD"),
            |each| Ok(Some(each)),
        )?,
    };
    let of_threads = of_threads.map(|each| each.saturating_mul(threads));
    let foreign = arguments.service.named(&arguments.url)?;
    Ok(ShootoutRequest {
        foreign,
        clients,
        concurrency,
        requests: arguments.requests.or(of_threads),
        delay: arguments.delay,
        levels: arguments.set.clone(),
        rounds: arguments.rounds,
        seed: arguments.common.seed,
    })
}

/// The clients to leave out: the option's, or else the environment's.
fn skipped(arguments: &Arguments) -> Vec<String> {
    match arguments.skip.is_empty() {
        false => arguments.skip.clone(),
        true => super::names(&[std::env::var("HECATON_SKIP").unwrap_or_default()]),
    }
}

/// A whole number of the environment, none if the variable is not set. Not left to clap, whose errors do not name the
/// variable, and for which it would conflict with an option that has to win over it.
fn of_environment<T: FromStr>(name: &str) -> Result<Option<T>> {
    match std::env::var(name).unwrap_or_default().trim() {
        "" => Ok(None),
        text => match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => bail!(Usage(format!(
                "{name} is `{text}` in the environment; it must be a whole number"
            ))),
        },
    }
}

#[cfg(test)]
mod tests {

    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// The help cannot read the scenario, so this holds them together.
    #[test]
    fn the_help_names_the_defaults_of_the_scenario() {
        let scenario = ShootoutScenario::load(&Project::built_in()).unwrap();
        let help = Line::command().render_long_help().to_string();
        for (option, default) in [
            ("--requests", scenario.requests.to_string()),
            ("--concurrency", scenario.concurrency.to_string()),
            ("--rounds", scenario.rounds.to_string()),
            ("--baseline", scenario.baseline.clone()),
        ] {
            let (_, own) = help.split_once(&format!("{option} <")).unwrap();
            let own = own.split("\n      --").next().unwrap_or_default();
            let own = own.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                own.contains(&format!("[default: {default}")),
                "{option}: {own}"
            );
        }
    }

    #[test]
    fn what_is_not_installed_is_one_sentence_with_what_to_do() {
        assert!(not_installed(&[]).is_empty());
        let [one] = &not_installed(&["curb"])[..] else {
            panic!("one sentence")
        };
        assert!(
            one.starts_with("curb is not installed: `bin/hecaton drivers install"),
            "{one}"
        );
        let [three] = &not_installed(&["a", "b", "c"])[..] else {
            panic!("one sentence")
        };
        assert!(three.starts_with("a, b and c are not installed"), "{three}");
    }
}
