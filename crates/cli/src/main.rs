//! The command `hecaton`: reads the command line, does one verb, and ends with its status.

#![deny(clippy::print_stderr, clippy::print_stdout)]

mod cmd;
mod ending;
mod exit;
mod live_table;
mod markdown;
mod progress;
mod reading;
mod screen;
mod stop;
mod terminal;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Command, CommandFactory as _, Parser, Subcommand};

use crate::reading::Group;

/// Downloads in bulk, and measures HTTP clients of any language by the server's log.
#[derive(Parser)]
#[command(name = "hecaton", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Line {
    #[command(subcommand)]
    verb: Verb,
    /// A folder with manifests of your own clients, in addition to the project's; may be repeated.
    #[arg(
        long,
        global = true,
        hide = true,
        value_parser = OsStringValueParser::new().map(PathBuf::from),
        env = DRIVERS,
        hide_env_values = true,
        value_name = "FOLDER"
    )]
    drivers: Vec<PathBuf>,
}

/// Names one more folder of clients.
const DRIVERS: &str = "HECATON_DRIVERS";

/// How the verbs are grouped in the help; every verb that is not hidden stands in one group.
const GROUPS: [Group; 4] = [
    Group {
        title: "Download in bulk",
        verbs: &["fetch"],
    },
    Group {
        title: "Measure HTTP clients",
        verbs: &["sweep", "shootout", "compare", "bench", "measure", "report"],
    },
    Group {
        title: "Audit HTTP clients",
        verbs: &["audit"],
    },
    Group {
        title: "Tools",
        verbs: &["serve", "drivers", "doctor", "completions", "help"],
    },
];

/// The verbs that run clients, whose help shows `--drivers`.
const WITH_DRIVERS: [&str; 7] = [
    "sweep", "shootout", "compare", "bench", "audit", "drivers", "doctor",
];

const EXAMPLES: &str = "\
Examples:
  hecaton fetch urls.txt -o out/
      every URL in a list, each recorded once
  hecaton sweep
      the default clients, in about two minutes
  hecaton sweep --client net-http --delay 20ms
      one client, responses after 20 ms
  hecaton sweep http://127.0.0.1:3000/
      your own server
  hecaton shootout
      every installed client, with the same job
  hecaton compare hecaton-ruby net-http
      two clients, or one with other settings
  hecaton bench --quick
      the gem against other Ruby clients, with its goals
  hecaton measure -- ruby script.rb {url}
      your own program, unchanged
  hecaton report before/ after/
      two runs side by side
  hecaton audit hecaton-ruby
      what a client does behind its caller's back
  hecaton serve --body 13801 --delay 5ms
      the test server alone
  hecaton drivers
      all clients, and how to install the missing ones
  hecaton doctor
      checks this machine before you measure";

#[derive(Subcommand)]
enum Verb {
    Sweep(cmd::sweep::Arguments),
    Shootout(cmd::shootout::Arguments),
    Compare(Box<cmd::compare::Arguments>),
    Bench(cmd::bench::Arguments),
    Measure(cmd::measure::Arguments),
    Report(cmd::report::Arguments),
    #[cfg_attr(
        not(feature = "fetch"),
        command(about = "Fetches every URL in a list and records each exactly once")
    )]
    Fetch(Box<cmd::fetch::Arguments>),
    #[cfg_attr(
        not(feature = "audit"),
        command(about = "Shows how a client behaves with broken servers")
    )]
    Audit(cmd::audit::Arguments),
    Serve(cmd::serve::Arguments),
    Drivers(cmd::drivers::Arguments),
    Doctor(cmd::doctor::Arguments),
    Completions(cmd::completions::Arguments),
    /// The lab's baseline loader, as a driver.
    #[command(hide = true)]
    BaselineLoader,
}

/// The command line, as its help and the completions show it.
fn command() -> Command {
    reading::shown(Line::command(), "drivers", &WITH_DRIVERS)
}

fn main() -> ExitCode {
    let mut line: Line = reading::line(command(), &GROUPS);
    // An empty variable is like none.
    if std::env::var_os(DRIVERS).is_some_and(|value| value.is_empty()) {
        line.drivers.retain(|folder| folder != "");
    }
    let result = match line.verb {
        Verb::Sweep(arguments) => cmd::sweep::run(&arguments, &line.drivers),
        Verb::Shootout(arguments) => cmd::shootout::run(&arguments, &line.drivers),
        Verb::Compare(arguments) => cmd::compare::run(&arguments, &line.drivers),
        Verb::Bench(arguments) => cmd::bench::run(&arguments, &line.drivers),
        Verb::Measure(arguments) => cmd::measure::run(&arguments),
        Verb::Report(arguments) => cmd::report::run(&arguments),
        #[cfg(feature = "fetch")]
        Verb::Fetch(arguments) => cmd::fetch::run(&arguments),
        #[cfg(feature = "audit")]
        Verb::Audit(arguments) => cmd::audit::run(&arguments, &line.drivers),
        #[cfg(not(feature = "fetch"))]
        Verb::Fetch(_) => cmd::later::run("fetch"),
        #[cfg(not(feature = "audit"))]
        Verb::Audit(_) => cmd::later::run("audit"),
        Verb::Serve(arguments) => cmd::serve::run(&arguments),
        Verb::Drivers(arguments) => cmd::drivers::run(&arguments, &line.drivers),
        Verb::Doctor(arguments) => cmd::doctor::run(&arguments, &line.drivers),
        Verb::Completions(arguments) => cmd::completions::run(&arguments, command()),
        Verb::BaselineLoader => cmd::baseline_loader::run(),
    };
    ending::of(result)
}
