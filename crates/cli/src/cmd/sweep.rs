//! `hecaton sweep`: measures clients over a range of concurrencies and recommends one.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hecaton_lab::spec::{
    Experiment, Kind, Sweep, SweepRequest, SweepScenario, Target, parse_delay, parse_duration,
    project_root,
};
use hecaton_origin::Delay;

use super::session::{self, Common};

/// Measures clients over a range of concurrencies and recommends one.
///
/// Without a URL the clients run against the lab's own server, whose ledger verifies everything they claim. With
/// one they run against that server, unverified.
#[derive(Args)]
#[command(allow_negative_numbers = true, after_help = EXAMPLES, override_usage = USAGE)]
pub struct Arguments {
    /// Method of the requests to URL, such as GET.
    #[arg(requires = "url")]
    method: Option<String>,
    /// An absolute URL, requested as it is.
    #[arg(conflicts_with_all = ["body", "delay", "time"])]
    url: Option<String>,
    /// Requests of each round to URL.
    #[arg(default_value_t = 500)]
    requests: u64,
    /// Rounds of each row of the table, with URL.
    #[arg(default_value_t = 10, conflicts_with = "rounds")]
    repeats: u32,
    /// Clients to measure, separated by commas [default: hecaton-ruby and typhoeus].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    client: Vec<String>,
    /// Requests in flight, separated by commas [default: 1,2,5,10,20,50,100,200].
    #[arg(short = 'c', long, value_name = "LIST", value_delimiter = ',')]
    concurrency: Vec<usize>,
    /// Bytes of an answer's body, separated by commas [default: 133 and 13801].
    #[arg(short = 'b', long, value_name = "BYTES", value_delimiter = ',')]
    body: Vec<usize>,
    /// How long the server waits before each answer. 15ms is the median of a log-normal distribution whose p99 is twice as
    /// long; 0 is no wait; or fixed:15ms, uniform:5ms..20ms, exponential:10ms, lognormal:p50=5ms,p99=40ms [default:
    /// lognormal:p50=10ms,p99=20ms].
    #[arg(short = 'd', long, value_parser = parse_delay)]
    delay: Option<Delay>,
    /// Rounds of each row of the table; six or more give 95 % confidence intervals [default: 6].
    #[arg(short = 'r', long, value_name = "N")]
    rounds: Option<u32>,
    /// How long a round lasts, as in 500ms or 1s; it decides the number of requests [default: 250ms].
    #[arg(long, value_parser = parse_duration)]
    time: Option<Duration>,
    #[command(flatten)]
    common: Common,
    /// Allow a URL on another machine, which gets as many requests as the clients can send.
    #[arg(long)]
    i_own_this_host: bool,
}

const USAGE: &str = "\
hecaton sweep [OPTIONS]
       hecaton sweep [OPTIONS] <METHOD> <URL>
                     [REQUESTS] [REPEATS]";

const EXAMPLES: &str = "\
Examples:
  hecaton sweep
  hecaton sweep --client hecaton-ruby,net-http -c 1,10,50
  hecaton sweep -b 133 -d 0 -r 12 --time 1s
  hecaton sweep --delay lognormal:p50=5ms,p99=40ms
  hecaton sweep --json --quiet > run.json
  hecaton sweep GET http://127.0.0.1:3000/ 500 10
      a server of yours, 500 requests in each of 10 rounds";

/// Measures, writes the files, prints the result.
pub fn run(arguments: &Arguments, drivers: &[PathBuf]) -> Result<()> {
    let root = project_root()?;
    let sweep = Sweep::new(
        request(arguments)?,
        &SweepScenario::load(&root)?,
        &super::catalogue(drivers)?,
    )?;
    session::measure(
        &Experiment::new(sweep, Kind::Sweep),
        &arguments.common,
        false,
    )
}

fn request(arguments: &Arguments) -> Result<SweepRequest> {
    let (mut rounds, mut foreign) = (arguments.rounds, None);
    if let (Some(method), Some(url)) = (&arguments.method, &arguments.url) {
        foreign = Some(Target::foreign(
            method,
            url,
            arguments.requests,
            arguments.i_own_this_host,
        )?);
        rounds = rounds.or(Some(arguments.repeats));
    }
    Ok(SweepRequest {
        clients: arguments.client.clone(),
        concurrency: arguments.concurrency.clone(),
        body_bytes: arguments.body.clone(),
        delay: arguments.delay,
        rounds,
        round_time: arguments.time,
        seed: arguments.common.seed,
        foreign,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::CommandFactory;
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// The help cannot read the scenario, so this holds them together.
    #[test]
    fn the_help_names_the_defaults_of_the_scenario() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let scenario = SweepScenario::load(&root).unwrap();
        let help = Line::command().render_help().to_string().replace('\n', " ");
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let bodies: Vec<String> = scenario.body_bytes.iter().map(usize::to_string).collect();
        for default in [
            scenario.clients.join(" and "),
            bodies.join(" and "),
            scenario.delay.to_string(),
            scenario.rounds.to_string(),
            format!("{}ms", scenario.round_seconds * 1000.0),
        ] {
            assert!(
                help.contains(&format!("[default: {default}]")),
                "{default} is not in: {help}"
            );
        }
    }
}
