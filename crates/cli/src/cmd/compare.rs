//! `hecaton compare`: any two clients or settings, keep-alive connections against new ones, batches one by one or at
//! once.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use hecaton_lab::spec::{
    Catalogue, CompareScenario, Comparison, Experiment, Extras, Kind, PairRequest, Project,
    Setting, Sweep, SyncAsyncRequest, Target, Usage, parse_delay,
};
use hecaton_test_server::Delay;

use super::service::ServiceArguments;
use super::session::{self, Common};

/// Compares any two clients or settings, in paired rounds.
#[derive(Args)]
#[command(allow_negative_numbers = true, after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    preset: Option<Preset>,
    #[command(flatten)]
    pair: PairArguments,
}

#[derive(Subcommand)]
enum Preset {
    /// Compares keep-alive connections with a new one for each request, over TLS, at round trips of 0, 1, 20 and 100
    /// ms.
    ///
    /// The round trips are simulated, because loopback has none. The server waits one before each response. Before the
    /// first response of a connection it waits two more, one for TCP and one for TLS 1.3. The report shows the measured
    /// times next to the predicted ones.
    Keepalive(KeepaliveArguments),
    /// Compares batches of 1 to 60 requests, sent one after another and all at once.
    ///
    /// Connections are opened before each batch, by requests that are not counted.
    SyncAsync(SyncAsyncArguments),
}

#[derive(Args)]
struct PairArguments {
    /// The first client. The result says how many times as fast as B it is. A,B names both clients.
    #[arg(required_unless_present = "client")]
    a: Option<String>,
    /// The second client, or the first one again with other settings.
    b: Option<String>,
    /// Both clients, separated by a comma, instead of A and B.
    #[arg(long, visible_alias = "clients", value_name = "A,B", value_delimiter = ',', conflicts_with_all = ["a", "b"])]
    client: Vec<String>,
    /// Settings of B, separated by spaces, or of A with A: in front, as in A:keepalive=off.
    ///
    /// The load: concurrency=N, body=BYTES, delay=15ms, rate=500, job=plain|json|gzip.
    ///
    /// The connections: keepalive=on|off, tls=on|off, http=1.1|2|3 (over TLS), resumption=on|off (of TLS sessions).
    #[arg(long, value_name = "SETTING", num_args = 1..)]
    set: Vec<Setting>,
    /// Requests in flight, for both [default: 10].
    #[arg(short = 'c', long, value_name = "N")]
    concurrency: Option<usize>,
    /// Bytes of a response's body, for both [default: 133].
    #[arg(short = 'b', long, value_name = "BYTES")]
    body: Option<usize>,
    /// How long the server waits before each response, for both, as in 15ms or fixed:15ms [default: 0].
    #[arg(short = 'd', long, value_parser = parse_delay)]
    delay: Option<Delay>,
    /// Rounds of each side; six or more give 95 % confidence intervals [default: 12].
    #[arg(short = 'r', long, value_name = "N")]
    rounds: Option<u32>,
    /// Your own server instead of the lab's: [METHOD] URL, requested as it is and unverified.
    #[arg(long, value_name = "URL", num_args = 1..=2, conflicts_with_all = ["body", "delay"])]
    url: Vec<String>,
    #[command(flatten)]
    service: ServiceArguments,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct KeepaliveArguments {
    /// The client to measure.
    client: String,
    /// Rounds of each row of the table; six or more give 95 % confidence intervals [default: 12].
    #[arg(short = 'r', long, value_name = "N")]
    rounds: Option<u32>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct SyncAsyncArguments {
    /// The client to measure.
    client: String,
    /// An absolute URL; its responses are not verified [default: the lab's test server, whose log verifies them].
    #[arg(short, long, conflicts_with = "delay")]
    url: Option<String>,
    /// Requests of the largest batch [default: 60].
    #[arg(short, long, value_name = "N")]
    mul: Option<usize>,
    /// Batches of each size, in each of the two ways [default: 50].
    #[arg(short, long = "loop", visible_alias = "rounds", value_name = "N")]
    loops: Option<u32>,
    /// How long the server waits before each response, as in 15ms or fixed:15ms [default: lognormal:p50=10ms,p99=20ms].
    #[arg(short = 'd', long, value_parser = parse_delay)]
    delay: Option<Delay>,
    /// Print comma-separated values: mul,loop,sync,async, the last two in milliseconds of an average batch.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Allow a URL on another machine. It receives all requests of a batch at once.
    #[arg(long)]
    i_own_this_host: bool,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Examples:
  hecaton compare hecaton-ruby typhoeus -c 50
      two clients, 50 requests in flight
  hecaton compare excon excon --set keepalive=off
      one client, with and without keep-alive connections
  hecaton compare curb curb --set tls=on A:concurrency=20
      two settings: TLS for B, concurrency for A
  hecaton compare net-http typhoeus --url http://127.0.0.1:3000/
      two clients against your own server
  hecaton compare keepalive hecaton-ruby
      what keep-alive connections save, at several distances
  hecaton compare sync-async httpc-async -m 60 -l 50 --csv
      batches one after another, and all at once";

/// Measures, writes the files, prints the result.
pub fn run(arguments: &Arguments, drivers: &[PathBuf]) -> Result<()> {
    let scenario = CompareScenario::load(&Project::find()?)?;
    let words = arguments
        .pair
        .a
        .iter()
        .chain(&arguments.pair.b)
        .chain(&arguments.pair.client);
    let catalogue = super::catalogue_with(drivers, &words.cloned().collect::<Vec<_>>())?;
    let (plan, common, csv) = match &arguments.preset {
        None => {
            let request = pair(&arguments.pair)?;
            let plan = scenario.pair(request, &catalogue)?;
            (plan, &arguments.pair.common, false)
        }
        Some(Preset::Keepalive(given)) => {
            let seed = given.common.seed;
            let plan = scenario.keepalive(&given.client, given.rounds, seed, &catalogue)?;
            (plan, &given.common, false)
        }
        Some(Preset::SyncAsync(given)) => {
            let plan = sync_async(given, &scenario, &catalogue)?;
            (plan, &given.common, given.csv)
        }
    };
    let (sweep, comparison) = plan;
    session::measure(
        &Experiment::new(sweep, Kind::Compare(comparison)),
        common,
        csv,
    )
}

fn pair(given: &PairArguments) -> Result<PairRequest> {
    let words = given.a.iter().chain(&given.b).chain(&given.client);
    let named = super::names(&words.cloned().collect::<Vec<_>>());
    let [a, b] = &named[..] else {
        let are = match named.len() {
            1 => "1 is".to_owned(),
            many => format!("{many} are"),
        };
        let why =
            format!("a comparison needs two clients, and {are} named; name two, as in curb,excon");
        bail!(Usage(why));
    };
    let foreign = given.service.named(&given.url)?;
    Ok(PairRequest {
        foreign,
        clients: [a.clone(), b.clone()],
        settings: given.set.clone(),
        concurrency: given.concurrency,
        body_bytes: given.body,
        delay: given.delay,
        rounds: given.rounds,
        seed: given.common.seed,
    })
}

fn sync_async(
    given: &SyncAsyncArguments,
    scenario: &CompareScenario,
    catalogue: &Catalogue,
) -> Result<(Sweep, Comparison)> {
    let most = given.mul.unwrap_or(scenario.sync_async.most);
    let foreign = given.url.as_deref().map(|url| {
        let (requests, owned) = (Some(most.max(1) as u64), given.i_own_this_host);
        Target::foreign("GET", url, requests, Extras::default(), owned)
    });
    let request = SyncAsyncRequest {
        client: given.client.clone(),
        most: Some(most),
        loops: given.loops,
        delay: given.delay,
        foreign: foreign.transpose()?,
        seed: given.common.seed,
    };
    Ok(scenario.sync_async(request, catalogue)?)
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

    /// The help cannot read the scenario, so this test compares their defaults.
    #[test]
    fn the_help_names_the_defaults_of_the_scenario() {
        let scenario = CompareScenario::load(&Project::built_in()).unwrap();
        let mut command = Line::command();
        let mut help = command.render_help().to_string();
        for preset in command.get_subcommands_mut() {
            help += &preset.render_long_help().to_string();
        }
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for default in [
            scenario.pair.concurrency.to_string(),
            scenario.pair.body_bytes.to_string(),
            scenario.pair.delay.to_string(),
            scenario.pair.timing.rounds.to_string(),
            scenario.keepalive.timing.rounds.to_string(),
            scenario.sync_async.most.to_string(),
            scenario.sync_async.loops.to_string(),
            scenario.sync_async.delay.to_string(),
        ] {
            assert!(
                help.contains(&format!("[default: {default}]")),
                "{default} is not in: {help}"
            );
        }
    }

    #[test]
    fn two_clients_or_a_preset_are_needed() {
        for line in ["x", "x keepalive", "x sync-async a --csv --json"] {
            assert!(Line::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
        let words = "x a b --set tls=on A:body=9 --set concurrency=2";
        let line = Line::try_parse_from(words.split(' ')).unwrap();
        assert_eq!(line.arguments.pair.set.len(), 3);
        let line = Line::try_parse_from(["x", "--clients", "a,b"]).unwrap();
        assert_eq!(pair(&line.arguments.pair).unwrap().clients, ["a", "b"]);
        let line = Line::try_parse_from(["x", "a,b"]).unwrap();
        assert_eq!(pair(&line.arguments.pair).unwrap().clients, ["a", "b"]);
        for words in [&["x", "--client", "a"][..], &["x", "a"], &["x", "a,b", "c"]] {
            let line = Line::try_parse_from(words).unwrap();
            assert!(pair(&line.arguments.pair).is_err(), "{words:?}");
        }
        assert!(Line::try_parse_from("x sync-async a -u http://h/ -m 6 -l 5".split(' ')).is_ok());
    }
}
