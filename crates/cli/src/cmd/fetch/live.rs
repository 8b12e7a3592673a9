//! The progress: a live view in a terminal, a line of JSON a minute elsewhere, and metrics for a scraper.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::Result;
use hecaton_fetch::job::Job;
use hecaton_fetch::record::{count, plural};
use hecaton_fetch::request::Naming;
use hecaton_fetch::run::{Observer, Snapshot};
use hecaton_fetch::segment::Tally;
use hecaton_fetch::start::Started;
use indicatif::{ProgressBar, ProgressStyle};

use super::metrics::Metrics;
use super::planning::nothing_listed;
use super::watching::{self, Watching};
use crate::progress::words;
use crate::screen::{self, fitted};

/// Most hosts in the live view.
const HOSTS: usize = 4;

/// Columns that stand beside the bar, at most.
const BESIDE_BAR: usize = 44;

/// The observer that reports to the terminal.
pub struct Live {
    bar: Option<ProgressBar>,
    is_quiet: bool,
    last: Instant,
    log_every: Duration,
    metrics: Option<Metrics>,
}

impl Live {
    /// One that says nothing while it goes well, if it is to be quiet.
    ///
    /// # Errors
    /// When metrics cannot be served.
    pub fn new(watching: &Watching) -> Result<Live> {
        let is_quiet = watching.quiet;
        let is_bar = !is_quiet && std::io::stderr().is_terminal();
        let bar = is_bar.then(|| ProgressBar::with_draw_target(Some(0), screen::target()));
        if let (Some(bar), Ok(style)) = (&bar, ProgressStyle::with_template(&template())) {
            bar.set_style(style);
        }
        Ok(Live {
            bar,
            is_quiet,
            last: Instant::now(),
            log_every: watching.log_every(),
            metrics: watching.metrics()?,
        })
    }

    /// Says what the run will do.
    pub fn begin(&self, started: &Started) {
        if !self.is_quiet {
            let inputs = plural(started.plan.inputs, "input");
            let parts = plural(started.plan.parts.len() as u64, "part");
            let doing = if started.is_resumed {
                "resuming"
            } else {
                "planned"
            };
            crate::say!("{doing} {inputs} in {parts} in {}", started.folder.shown());
            if let Some(sentence) = nothing_listed(started) {
                crate::say!("{sentence}");
            }
            if let Some(names) = robots(&started.job) {
                crate::say!("robots.txt is obeyed as {names}");
            }
        }
    }

    /// Takes the view away.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Live {
    fn progress(&mut self, snapshot: &Snapshot) {
        if let Some(metrics) = &self.metrics {
            metrics.note(snapshot);
        }
        if let Some(bar) = &self.bar {
            bar.set_length(snapshot.inputs);
            bar.set_position(snapshot.tally.records);
            bar.set_prefix(far(snapshot));
            bar.set_message(fitted(&[flow(snapshot), hosts(snapshot)].concat(), 0));
        } else if !self.is_quiet && self.last.elapsed() >= self.log_every {
            self.last = Instant::now();
            crate::say!("{}", watching::line(snapshot));
        }
    }

    fn say(&mut self, sentence: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| crate::say!("{sentence}")),
            None => crate::say!("{sentence}"),
        }
    }
}

/// The names under which a job obeys robots.txt, if it does.
fn robots(job: &Job) -> Option<String> {
    let naming = Naming::new(job).ok().filter(|_| job.pace.robots)?;
    Some(naming.all().into_iter().collect::<Vec<_>>().join(", "))
}

/// A bar with how far it is, and below it what happens; two lines, so that 80 columns are enough.
fn template() -> String {
    let columns = usize::from(console::Term::stderr().size().1);
    let bar = columns.saturating_sub(BESIDE_BAR).clamp(8, 40);
    format!("{{bar:{bar}.cyan/dim}} {{prefix}}\n{{msg}}")
}

/// How far it is, and how it flows, in one line.
pub fn line(snapshot: &Snapshot) -> String {
    format!("{}, {}{}", done(snapshot), flow(snapshot), left(snapshot))
}

/// How far it is.
fn far(snapshot: &Snapshot) -> String {
    done(snapshot) + &left(snapshot)
}

fn done(snapshot: &Snapshot) -> String {
    let (done, all) = (snapshot.tally.records, snapshot.inputs);
    format!(
        "{} of {} done{}",
        count(done),
        count(all),
        pages(&snapshot.tally)
    )
}

/// The pages that others follow, behind the inputs that have ended.
pub fn pages(tally: &Tally) -> String {
    match tally.pages {
        0 => String::new(),
        pages => format!(" and {}", plural(pages, "earlier page")),
    }
}

fn left(snapshot: &Snapshot) -> String {
    let left = snapshot.left();
    let left = left.filter(|_| snapshot.tally.records < snapshot.inputs);
    let left = left.map(|seconds| words(Duration::from_secs_f64(seconds.min(1e9))));
    left.map_or(String::new(), |left| format!(", {left} left"))
}

/// The rate and the requests in flight.
fn flow(snapshot: &Snapshot) -> String {
    format!(
        "{} failed, {} a second, {} in flight",
        count(snapshot.tally.failed()),
        count(snapshot.rate.round() as u64),
        count(snapshot.in_flight),
    )
}

/// The slowest hosts, a line each.
pub fn hosts(snapshot: &Snapshot) -> String {
    let lines = snapshot.hosts.iter().take(HOSTS).map(|host| {
        let state = host
            .state
            .as_ref()
            .map(|state| format!(", {state}"))
            .unwrap_or_default();
        format!(
            "\n  {}: {} done, {} failed, {:.0} ms on average, {} in flight{state}",
            host.name,
            count(host.done),
            count(host.failed),
            host.ms,
            count(host.in_flight)
        )
    });
    lines.collect()
}
