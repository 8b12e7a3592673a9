//! The other views of a run: Markdown, CSV, charts as files, and two runs side by side.

use hecaton_lab::findings::{changes, judge};
use hecaton_lab::ledger::Document;
use hecaton_lab::report::{self, Style};
use hecaton_origin::Delay;
use serde_json::json;

use crate::synthetic::{MRI_SHORT, Machine, document};

const PLAIN: Style = Style {
    width: 100,
    color: false,
    unicode: true,
};

/// One client and its ceiling; `speed` is how fast the client is against its usual, `machine` how fast all are.
fn sweep(seed: u64, speed: f64, machine: f64) -> Document {
    let rounds = |client: &str, factor: f64| {
        let shape = MRI_SHORT.map(|(rate, cpu)| (rate * factor * machine, cpu));
        Machine {
            seed,
            ..Machine::default()
        }
        .sweep(client, 133, &shape)
    };
    let mut all = rounds("typhoeus", speed);
    all.extend(rounds("raw", 1.6));
    document(all, "0", json!({ "kind": "origin" }))
}

#[test]
fn markdown_has_a_line_for_every_row_and_the_command() {
    let run = sweep(1, 1.0, 1.0);
    let text = report::markdown(&run, &judge(&run.rounds, &Delay::None));
    let rows = text
        .lines()
        .filter(|line| line.starts_with("| typhoeus") || line.starts_with("| raw"));
    assert_eq!(rows.count(), 32, "{text}");
    assert!(text.contains(&run.command), "{text}");
    assert!(text.contains("| ---: |"), "{text}");
}

#[test]
fn csv_has_the_keys_of_the_document_and_a_line_for_every_row() {
    let run = sweep(1, 1.0, 1.0);
    let text = report::csv(&run, &judge(&run.rounds, &Delay::None));
    let lines: Vec<&str> = text.split("\r\n").collect();
    assert!(
        lines[0].starts_with("client,body_bytes,delay_ms,concurrency,requests_per_second,"),
        "{}",
        lines[0]
    );
    assert_eq!(lines.len(), 1 + 32 + 1);
    let columns = lines[0].split(',').count();
    assert!(
        lines[1..33]
            .iter()
            .all(|line| line.split(',').count() == columns),
        "{text}"
    );
}

#[test]
fn charts_are_whole_documents_with_their_colours() {
    let run = sweep(1, 1.0, 1.0);
    let files = report::drawings(&run, &judge(&run.rounds, &Delay::None));
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["all-133.svg", "typhoeus-133.svg", "raw-133.svg"]);
    for (name, chart) in &files {
        assert!(
            chart.starts_with("<svg") && chart.contains("xmlns="),
            "{name}"
        );
        assert!(chart.contains("--s0:") && chart.contains("<path"), "{name}");
    }
}

#[test]
fn a_slower_machine_is_no_slower_client() {
    let (before, after) = (sweep(1, 1.0, 1.0), sweep(2, 1.0, 0.7));
    let changed = changes(
        (&before.rounds, &Delay::None),
        (&after.rounds, &Delay::None),
    );
    assert_eq!(changed.len(), 16);
    assert!(changed.iter().all(|change| change.against_ceiling));
    let worse = changed
        .iter()
        .filter(|change| change.is_worse(0.05))
        .count();
    assert_eq!(worse, 0);
}

#[test]
fn a_slower_client_is_found_and_a_faster_one_is_not_blamed() {
    let (before, slower, faster) = (sweep(1, 1.0, 1.0), sweep(2, 0.85, 1.3), sweep(3, 1.2, 0.8));
    let against =
        |run: &Document| changes((&before.rounds, &Delay::None), (&run.rounds, &Delay::None));
    assert!(against(&slower).iter().all(|change| change.is_worse(0.05)));
    assert!(against(&slower).iter().all(|change| !change.is_worse(0.25)));
    assert!(against(&faster).iter().all(|change| !change.is_worse(0.0)));
    let text = report::side_by_side(&against(&slower), ["old", "new"], &PLAIN);
    assert!(text.contains("slower") && text.contains("0.85×"), "{text}");
}

#[test]
fn a_row_that_is_rejected_now_is_worse_whatever_its_speed() {
    let (before, mut after) = (sweep(1, 1.0, 1.0), sweep(2, 1.0, 1.0));
    for round in after
        .rounds
        .iter_mut()
        .filter(|r| r.cell.client == "typhoeus" && r.cell.concurrency == 200)
    {
        round.proof.as_mut().unwrap().peak_in_flight = 128;
    }
    let changed = changes(
        (&before.rounds, &Delay::None),
        (&after.rounds, &Delay::None),
    );
    let worse: Vec<usize> = changed
        .iter()
        .filter(|it| it.is_worse(0.9))
        .map(|it| it.new.concurrency)
        .collect();
    assert_eq!(worse, [200]);
}

#[test]
fn runs_without_a_cell_in_common_say_so() {
    let text = report::side_by_side(&[], ["a.json", "b.json"], &PLAIN);
    assert!(text.contains("a.json and b.json have no client"), "{text}");
}
