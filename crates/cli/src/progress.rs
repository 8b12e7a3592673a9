//! Shows on stderr how far a run of the lab has come: a bar in a terminal, a line now and then elsewhere.
//!
//! `cmd/fetch/live.rs` does this for a job of fetch.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use hecaton_lab::run::Round;
use indicatif::{ProgressBar, ProgressStyle};

use crate::live_table::LiveTable;
use crate::screen::{self, fitted};

/// How often a line is written where there is no terminal.
const PERIOD: Duration = Duration::from_secs(10);

/// Lines of the terminal that the table leaves free: for the bar, and for what was printed above it.
const LINES_ELSEWHERE: usize = 4;

/// Most lines of the table, however high the terminal is.
const MOST_LINES: usize = 30;

/// Columns of the bar with the space behind it.
const BAR: usize = 17;

/// The progress of one run.
pub enum Progress {
    /// No progress is shown.
    Quiet,
    /// A bar that is drawn again and again, and the table below it.
    Bar {
        /// The bar.
        bar: ProgressBar,
        /// What is counted.
        unit: &'static str,
        /// The measurements so far.
        table: LiveTable,
        /// How long the rest takes, if somebody knows.
        left: Option<Duration>,
    },
    /// Plain lines.
    Lines {
        /// What is counted.
        unit: &'static str,
        /// Rounds planned.
        total: u64,
        /// Rounds made.
        done: u64,
        /// Start of the run.
        start: Instant,
        /// When the last line was written.
        last: Instant,
        /// How long the rest takes, if somebody knows.
        left: Option<Duration>,
    },
}

impl Progress {
    /// Begins the progress of `total` rounds.
    pub fn new(total: u64, quiet: bool) -> Progress {
        Progress::of("rounds", total, quiet)
    }

    /// Begins the progress of `total` things.
    pub fn of(unit: &'static str, total: u64, quiet: bool) -> Progress {
        if quiet {
            return Progress::Quiet;
        }
        if !std::io::stderr().is_terminal() {
            let now = Instant::now();
            return Progress::Lines {
                unit,
                total,
                done: 0,
                start: now,
                last: now,
                left: None,
            };
        }
        let bar = ProgressBar::with_draw_target(Some(total), screen::target());
        if let Ok(style) = ProgressStyle::with_template("{bar:16} {msg}") {
            bar.set_style(style);
        }
        bar.set_message(fitted(&done_of(&bar, unit, None, ""), BAR));
        bar.enable_steady_tick(Duration::from_millis(500));
        Progress::Bar {
            bar,
            unit,
            table: LiveTable::default(),
            left: None,
        }
    }

    /// The rest takes so long, as the run has shown; otherwise it is computed from what is done.
    pub fn expect(&mut self, time: Duration) {
        match self {
            Progress::Quiet => {}
            Progress::Bar { left, .. } | Progress::Lines { left, .. } => *left = Some(time),
        }
    }

    /// Writes a line of its own, above the bar.
    pub fn say(&self, line: &str) {
        match self {
            Progress::Quiet => {}
            Progress::Bar { bar, .. } => bar.suspend(|| crate::say!("{line}")),
            Progress::Lines { .. } => crate::say!("{line}"),
        }
    }

    /// One more round is done.
    pub fn advance(&mut self, round: &Round) {
        if let Progress::Bar { table, .. } = self {
            table.note(round);
        }
        let cell = &round.cell;
        self.step(&format!("{} × {}", cell.client, cell.load.concurrency));
    }

    /// One more thing is done; `what` was the last.
    pub fn step(&mut self, what: &str) {
        match self {
            Progress::Quiet => {}
            Progress::Bar {
                bar,
                unit,
                table,
                left,
            } => {
                bar.inc(1);
                let line = fitted(&done_of(bar, unit, *left, what), BAR);
                let height = screen::height()
                    .saturating_sub(LINES_ELSEWHERE)
                    .min(MOST_LINES);
                let table = fitted(&table.text(height), 0);
                bar.set_message(format!("{line}\n{table}").trim_end().to_owned());
            }
            Progress::Lines {
                unit,
                total,
                done,
                start,
                last,
                left,
            } => {
                *done += 1;
                if last.elapsed() >= PERIOD {
                    *last = Instant::now();
                    let share = (*total - *done) as f64 / *done as f64;
                    let left = left.or_else(|| {
                        can_tell(*done, *total).then(|| start.elapsed().mul_f64(share))
                    });
                    crate::say!("{done} of {total} {unit}{}", left_words(left));
                }
            }
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if let Progress::Bar { bar, .. } = self {
            bar.finish_and_clear();
        }
    }
}

/// The first rounds predict the others badly, because they include starting the drivers.
fn can_tell(done: u64, total: u64) -> bool {
    done >= total.div_ceil(20)
}

/// How far the run is, and what was done last.
fn done_of(bar: &ProgressBar, unit: &str, left: Option<Duration>, last: &str) -> String {
    let (done, total) = (bar.position(), bar.length().unwrap_or_default());
    let left = left.or_else(|| can_tell(done, total).then(|| bar.eta()));
    format!("{done}/{total} {unit}{}  {last}", left_words(left))
}

fn left_words(left: Option<Duration>) -> String {
    left.map_or_else(String::new, |left| format!(", {} left", words(left)))
}

/// A duration for people: `40 s`, `2 min 10 s`.
pub fn words(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().ceil() as u64;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_shown_after_the_first_rounds() {
        assert!(!can_tell(0, 1) && !can_tell(9, 200));
        assert!(can_tell(1, 2) && can_tell(10, 200));
    }

    #[test]
    fn durations_read_as_one_says_them() {
        assert_eq!(words(Duration::from_millis(900)), "1 s");
        assert_eq!(words(Duration::from_secs(130)), "2 min 10 s");
    }
}
