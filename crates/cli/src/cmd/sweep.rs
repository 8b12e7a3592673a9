//! `hecaton sweep`: measures clients over a range of concurrencies and recommends one.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hecaton_lab::spec::{
    Budget, Catalogue, Experiment, Kind, Levels, Project, Rate, Sweep, SweepRequest, SweepScenario,
    Usage, has_version, parse_delay, parse_duration, parse_memory, parse_share,
};
use hecaton_test_server::Delay;

use super::service::ServiceArguments;
use super::session::{self, Common};

/// Measures clients over a range of concurrencies and recommends one.
///
/// Without a URL the clients run against the lab's own server, whose log (the ledger) verifies their claims. With
/// one they run against that server, unverified.
#[derive(Args)]
#[command(allow_negative_numbers = true, after_help = EXAMPLES, override_usage = USAGE)]
pub struct Arguments {
    /// Clients, separated by spaces or commas; or a server: [METHOD] URL [REQUESTS] [REPEATS].
    ///
    /// URL is absolute and requested as it is. METHOD is GET unless you name another. REQUESTS is the number of
    /// requests in a round, 500 by default; with --time, as many as fill that time. REPEATS is the number of rounds of
    /// each row of the table, 10 by default.
    #[arg(value_name = "CLIENTS or URL")]
    what: Vec<String>,
    /// Clients to measure, separated by commas [default: hecaton-ruby and typhoeus].
    #[arg(
        long,
        visible_alias = "clients",
        value_name = "NAMES",
        value_delimiter = ','
    )]
    client: Vec<String>,
    /// Requests in flight, separated by commas [default: 1,2,5,10,20,50,100,200].
    #[arg(short = 'c', long, value_name = "LIST", value_delimiter = ',')]
    concurrency: Vec<usize>,
    /// Send requests at these rates, separated by commas, instead of waiting for the previous response.
    ///
    /// The rate 500 is in requests per second, and is equal for all clients. The rate 80% is a share of the client's
    /// own speed in the closed loop. With poisson:500 and poisson:80%, arrivals are random. Latencies count from when a
    /// request is due. --concurrency is then the most that may be in flight, 50 by default.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    rate: Vec<Rate>,
    /// The highest p99 to accept, such as 50ms. Only a concurrency within it is recommended; with --rate, the highest
    /// such rate.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    p99: Option<Duration>,
    /// The most memory that a client may use, such as 200M. Only a concurrency within it is recommended.
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    memory: Option<f64>,
    /// How much of the best speed is enough for a recommended concurrency, as in 0.9 or 90% [default: 0.95].
    #[arg(long, value_name = "SHARE", value_parser = parse_share, conflicts_with = "rate")]
    share: Option<f64>,
    /// Bytes of a response's body, separated by commas [default: 133 and 13801].
    #[arg(short = 'b', long, value_name = "BYTES", value_delimiter = ',')]
    body: Vec<usize>,
    /// How long the server waits before each response, as in 15ms or fixed:15ms [default: lognormal:p50=10ms,p99=20ms].
    ///
    /// A time alone is the median of a log-normal distribution whose p99 is twice as long. 0 means no delay. Other
    /// forms: uniform:5ms..20ms, exponential:10ms, lognormal:p50=5ms,p99=40ms.
    #[arg(short = 'd', long, value_parser = parse_delay)]
    delay: Option<Delay>,
    /// More factors, separated by spaces, such as tls=off,on job=plain,gzip; every combination of their values is
    /// measured. `hecaton compare --help` lists them.
    #[arg(long, value_name = "FACTOR=LIST", num_args = 1..)]
    set: Vec<Levels>,
    /// Rounds of each row of the table; six or more give 95 % confidence intervals [default: 6].
    #[arg(short = 'r', long, value_name = "N")]
    rounds: Option<u32>,
    /// How long a round lasts, as in 500ms or 1s; it decides the number of requests [default: 250ms].
    #[arg(long, value_parser = parse_duration)]
    time: Option<Duration>,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    service: ServiceArguments,
}

/// Requests of a round at a server of the user's own.
const REQUESTS: u64 = 500;

const USAGE: &str = "\
hecaton sweep [OPTIONS] [CLIENTS]...
       hecaton sweep [OPTIONS] [METHOD] <URL>
                     [REQUESTS] [REPEATS]";

const EXAMPLES: &str = "\
Examples:
  hecaton sweep
  hecaton sweep hecaton-ruby net-http -c 1,10,50
  hecaton sweep -b 133 -d 0 -r 12 --time 1s
  hecaton sweep --delay lognormal:p50=5ms,p99=40ms
  hecaton sweep typhoeus -b 13801 -d 0 --set job=plain,gzip
      with and without gzip
  hecaton sweep net-http --rate 50%,80%,95% --p99 50ms --time 10s
      which rates the client keeps
  hecaton sweep net-http typhoeus --p99 50ms --memory 200M --share 90%
      a concurrency within a budget
  hecaton sweep net-http --fail-if 'p99 > 50ms' --fail-if 'errors > 0'
      for CI: status 3 if a row is beyond a limit
  hecaton sweep --json --quiet > run.json
  hecaton sweep http://127.0.0.1:3000/
      your own server
  hecaton sweep HEAD http://127.0.0.1:3000/ 100 6
      HEAD requests to it, 100 in each of 6 rounds
  hecaton sweep https://127.0.0.1:3000/ --ca ca.pem --data @body.json
          -H 'Content-Type: application/json' -H 'Authorization: Bearer …'
      POST requests over TLS, with header fields and a body";

/// Measures, writes the files, prints the result.
pub fn run(arguments: &Arguments, drivers: &[PathBuf]) -> Result<()> {
    let catalogue =
        super::catalogue_with(drivers, &[&arguments.what[..], &arguments.client].concat())?;
    let request = request(arguments, &catalogue)?;
    let sweep = Sweep::new(
        request,
        &SweepScenario::load(&Project::find()?)?,
        &catalogue,
    )?;
    session::measure(
        &Experiment::new(sweep, Kind::Sweep),
        &arguments.common,
        false,
    )
}

fn request(arguments: &Arguments, catalogue: &Catalogue) -> Result<SweepRequest> {
    let mut clients = arguments.client.clone();
    let (mut rounds, mut foreign) = (arguments.rounds, None);
    match Server::named_by(&arguments.what, catalogue)? {
        None => {
            arguments.service.refuse_without_a_url()?;
            clients.extend(super::names(&arguments.what));
        }
        Some(server) => {
            server.refuse_options_of_the_test_server(arguments)?;
            let requests = server.requests_of_round(arguments.time)?;
            let method = server.method.as_deref();
            foreign = Some(arguments.service.target(method, &server.url, requests)?);
            rounds = rounds.or(Some(server.repeats));
        }
    }
    Ok(SweepRequest {
        clients,
        concurrency: arguments.concurrency.clone(),
        rates: arguments.rate.clone(),
        budget: Budget {
            p99_ms: arguments.p99.map(|time| time.as_secs_f64() * 1e3),
            memory_mb: arguments.memory,
            share: arguments.share,
        },
        body_bytes: arguments.body.clone(),
        delay: arguments.delay,
        levels: arguments.set.clone(),
        rounds,
        round_time: arguments.time,
        seed: arguments.common.seed,
        foreign,
    })
}

/// A server other than the lab's, as the words of the command line name it.
#[derive(Debug, PartialEq)]
struct Server {
    method: Option<String>,
    url: String,
    requests: Option<u64>,
    repeats: u32,
}

impl Server {
    /// The server of `[METHOD] URL [REQUESTS] [REPEATS]`; none where the words are names of clients.
    fn named_by(words: &[String], catalogue: &Catalogue) -> Result<Option<Server>, Usage> {
        let Some(first) = words.first().filter(|word| !is_name(word, catalogue)) else {
            return Ok(None);
        };
        let (method, rest) = match is_method(first) {
            true => (Some(first), &words[1..]),
            false => (None, words),
        };
        let [url, numbers @ ..] = rest else {
            let method = first;
            return Err(Usage(format!(
                "{method} needs a URL: hecaton sweep {method} <URL>"
            )));
        };
        if let [_, _, surplus, ..] = numbers {
            return Err(Usage(format!(
                "`{surplus}` is one word too many; write [METHOD] URL [REQUESTS] [REPEATS]"
            )));
        }
        Ok(Some(Server {
            method: method.cloned(),
            url: url.clone(),
            requests: match numbers.first() {
                Some(word) => Some(number("REQUESTS", Some(word), REQUESTS)?),
                None => None,
            },
            repeats: number("REPEATS", numbers.get(1), 10)?,
        }))
    }

    /// The requests of a round; none if it is as long as `time`.
    fn requests_of_round(&self, time: Option<Duration>) -> Result<Option<u64>, Usage> {
        match (self.requests, time) {
            (None, Some(_)) => Ok(None),
            (requests, None) => Ok(Some(requests.unwrap_or(REQUESTS))),
            (Some(_), Some(_)) => Err(Usage(
                "REQUESTS and --time both say how long a round is; leave one of them out".into(),
            )),
        }
    }

    fn refuse_options_of_the_test_server(&self, arguments: &Arguments) -> Result<(), Usage> {
        let given = [
            ("--body", !arguments.body.is_empty()),
            ("--delay", arguments.delay.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Usage(format!(
                "{option} is for the lab's own test server and cannot be set for {}; leave one of them out",
                self.url
            ))),
            None => Ok(()),
        }
    }
}

/// Whether a word names clients: whatever is neither a method nor looks like a URL.
fn is_name(word: &str, catalogue: &Catalogue) -> bool {
    let is_url = word.contains(['/', ':', '.']) || word.starts_with('@') || word == "localhost";
    if has_version(word) {
        return true;
    }
    let names = word.split(',');
    names.into_iter().any(|name| catalogue.find(name).is_ok()) || !(is_method(word) || is_url)
}

fn is_method(word: &str) -> bool {
    let usual = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let is_usual = usual.iter().any(|method| method.eq_ignore_ascii_case(word));
    is_usual || !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn number<T: std::str::FromStr>(name: &str, word: Option<&String>, usual: T) -> Result<T, Usage> {
    word.map_or(Ok(usual), |word| {
        let wrong = |_| {
            Usage(format!(
                "{name} is `{word}`; write a whole number, as in 10"
            ))
        };
        word.parse().map_err(wrong)
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

    fn server(words: &[&str]) -> Result<Option<Server>, Usage> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let catalogue = Catalogue::load(&root.join("drivers")).unwrap();
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        Server::named_by(&words, &catalogue)
    }

    #[test]
    fn a_url_alone_is_a_get_and_other_words_are_clients() {
        let get = |url: &str, requests, repeats| Server {
            method: None,
            url: url.into(),
            requests,
            repeats,
        };
        let url = "http://127.0.0.1:3000/";
        assert_eq!(server(&[url]).unwrap(), Some(get(url, None, 10)));
        assert_eq!(server(&[url, "20"]).unwrap(), Some(get(url, Some(20), 10)));
        assert_eq!(
            server(&[url, "20", "3"]).unwrap(),
            Some(get(url, Some(20), 3))
        );
        assert_eq!(
            server(&["localhost"]).unwrap(),
            Some(get("localhost", None, 10))
        );
        let head = server(&["head", url]).unwrap().unwrap();
        assert_eq!(
            (head.method.as_deref(), head.url.as_str()),
            (Some("head"), url)
        );
        for clients in [&["curb", "excon"][..], &["curb,excon"], &["nobody"], &[]] {
            assert_eq!(server(clients).unwrap(), None, "{clients:?}");
        }
        for wrong in [&["GET"][..], &[url, "many"], &[url, "1", "2", "3"]] {
            assert!(server(wrong).is_err(), "{wrong:?}");
        }
    }

    /// The help cannot read the scenario, so this holds them together.
    #[test]
    fn the_help_names_the_defaults_of_the_scenario() {
        let scenario = SweepScenario::load(&Project::built_in()).unwrap();
        let help = Line::command().render_help().to_string().replace('\n', " ");
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>();
        for default in [
            scenario.clients.join(" and "),
            words(&scenario.concurrency).join(","),
            words(&scenario.body_bytes).join(" and "),
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

    /// Each option stands in the help with a sentence of its own.
    #[test]
    fn the_help_explains_every_option() {
        let help = Line::command().render_long_help().to_string();
        for option in Line::command().get_arguments() {
            let Some(long) = option.get_long().filter(|_| !option.is_hide_set()) else {
                continue;
            };
            let words = option.get_help().map(ToString::to_string);
            let is_explained = words.is_some_and(|words| words.split_whitespace().count() >= 3);
            assert!(
                is_explained && help.contains(&format!("--{long}")),
                "--{long}: {help}"
            );
        }
    }
}
