//! The lines of `status` about workers: each worker with its parts, and why the slowest part takes long.

use std::time::Duration;

use hecaton_fetch::record::{count, plural};
use hecaton_fetch::run::PartView;
use hecaton_fetch::show::Worker;

use crate::progress::words;

/// The workers, a line each and one for each of their parts; then the part that will be done last.
///
/// When all is done, who is silent is gone, and was missed by nobody.
pub fn lines(workers: &[Worker], is_done: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for worker in workers.iter().filter(|worker| !is_done || worker.is_here()) {
        lines.push(head(worker));
        // Another worker may hold the parts of a silent one by now.
        if worker.is_here() {
            lines.extend(worker.snapshot.open.iter().map(part));
        }
    }
    lines.extend(last(workers));
    lines
}

fn head(worker: &Worker) -> String {
    let snapshot = &worker.snapshot;
    let name = &snapshot.worker;
    if !worker.is_here() {
        let silent = words(Duration::from_secs_f64(worker.silent));
        return format!(
            "worker {name}: silent for {silent}; if it is gone, its parts go to others when their lease is over"
        );
    }
    let trouble = snapshot.trouble.as_ref();
    let trouble = trouble
        .map(|trouble| format!("; {trouble}"))
        .unwrap_or_default();
    format!(
        "worker {name}: {} a second, {} in flight, {}{trouble}",
        count(snapshot.rate.round() as u64),
        count(snapshot.in_flight),
        plural(snapshot.open.len() as u64, "part")
    )
}

fn part(view: &PartView) -> String {
    let again = match view.attempt {
        0 | 1 => String::new(),
        attempt => format!(", attempt {attempt}"),
    };
    let left = view.left().map(|left| format!(", {} left", time(left)));
    format!(
        "  part {}: {} of {}, {} failed{}{again}",
        view.part,
        count(view.tally.records),
        count(view.inputs),
        count(view.tally.failed()),
        left.unwrap_or_default()
    )
}

fn time(seconds: f64) -> String {
    words(Duration::from_secs_f64(seconds.clamp(0.0, 1e9)))
}

/// The part that takes longest, and what holds it up.
fn last(workers: &[Worker]) -> Option<String> {
    let here = workers.iter().filter(|worker| worker.is_here());
    let open = here.flat_map(|worker| &worker.snapshot.open);
    // Nobody knows how long a part without records takes, so it counts as the longest.
    let left = |view: &&PartView| view.left().unwrap_or(f64::INFINITY);
    let slowest = open
        .filter(|view| view.tally.records < view.inputs)
        .max_by(|one, other| left(one).total_cmp(&left(other)))?;
    let why = slowest.why()?;
    Some(format!("part {} takes longest: {why}", slowest.part))
}

#[cfg(test)]
mod tests {
    use hecaton_fetch::run::{HostView, Snapshot};

    use super::*;

    fn view(part: u32, records: u64, state: Option<&str>) -> PartView {
        let mut view = PartView {
            part,
            attempt: 1,
            inputs: 100,
            seconds: 10.0,
            since: records,
            held_up_by: Some(HostView {
                name: format!("host-{part}"),
                waiting: 7,
                in_flight: 2,
                done: records,
                ms: 250.0,
                state: state.map(str::to_owned),
                ..HostView::default()
            }),
            ..PartView::default()
        };
        view.tally.records = records;
        view
    }

    fn worker(name: &str, silent: f64, open: Vec<PartView>) -> Worker {
        let snapshot = Snapshot {
            worker: name.into(),
            open,
            ..Snapshot::default()
        };
        Worker { silent, snapshot }
    }

    #[test]
    fn the_part_that_takes_longest_is_named_with_its_reason() {
        let shown = lines(
            &[
                worker(
                    "one",
                    0.5,
                    vec![view(0, 90, None), view(1, 50, Some("rests"))],
                ),
                worker("two", 0.5, vec![view(2, 80, None)]),
            ],
            false,
        );
        assert_eq!(shown.len(), 6);
        assert_eq!(shown[2], "  part 1: 50 of 100, 0 failed, 10 s left");
        assert_eq!(
            shown[5],
            "part 1 takes longest: host-1 rests after failures, 7 wait for it"
        );
    }

    #[test]
    fn one_that_is_silent_is_said_to_be_and_holds_up_nothing() {
        let gone = [worker("gone", 65.0, vec![view(0, 5, None)])];
        let shown = lines(&gone, false);
        assert!(shown[0].starts_with("worker gone: silent for 1 min 5 s; if it is gone"));
        assert_eq!(shown.len(), 1);
        assert!(lines(&gone, true).is_empty(), "all is done without it");
    }
}
