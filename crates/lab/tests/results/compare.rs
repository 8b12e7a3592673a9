//! A comparison's judgement, on rounds whose truth is known: pairs, keep-alive connections, batches; and its views.

use hecaton_lab::findings::{Compared, What, compared};
use hecaton_lab::ledger::Document;
use hecaton_lab::plan::{Load, Mode};
use hecaton_lab::report;
use hecaton_lab::run::{Cell, Round};
use hecaton_lab::spec::Comparison;
use hecaton_test_server::{Delay, Times};
use serde_json::json;

use crate::synthetic::{Machine, document, judge, unwitnessed};

/// Rounds of one cell at a true speed.
fn rounds(blocks: u32, seed: u64, cell: &Cell, speed: f64) -> Vec<Round> {
    let machine = Machine {
        seed,
        blocks,
        ..Machine::default()
    };
    let shape = [(cell.load.concurrency, (speed, 50.0))];
    let mut rounds = machine.rounds(&cell.client, cell.load.body_bytes, &shape);
    for round in &mut rounds {
        round.cell = cell.clone();
        let page = round.seen.as_mut().unwrap();
        if !cell.load.keepalive {
            page.connections_used = page.requests;
        }
    }
    rounds
}

fn cell(client: &str) -> Cell {
    let load = Load {
        body_bytes: 133,
        concurrency: 10,
        ..Load::PLAIN
    };
    Cell::new(client, load)
}

fn found(comparison: &Comparison, rounds: &[Round]) -> Compared {
    let findings = judge(rounds, &Delay::None);
    compared(comparison, rounds, &findings.rows)
}

fn pair_of(a: Cell, b: Cell) -> Comparison {
    Comparison::Pair {
        a: Box::new(a),
        b: Box::new(b),
    }
}

fn pair(blocks: u32, speeds: [f64; 2]) -> Compared {
    let (a, b) = (cell("one"), cell("other"));
    let mut all = rounds(blocks, 1, &a, speeds[0]);
    all.extend(rounds(blocks, 2, &b, speeds[1]));
    found(&pair_of(a, b), &all)
}

#[test]
fn a_clear_difference_is_said_with_its_interval() {
    let found = pair(12, [1300.0, 1000.0]);
    let What::Pair(figures) = &found.what else {
        panic!("{found:?}");
    };
    let ratio = figures.ratio.unwrap();
    assert!(ratio.low < 1.3 && 1.3 < ratio.high, "{ratio:?}");
    let first = &found.verdict[0];
    assert!(
        first.starts_with("one is 1.3") && first.ends_with("as fast as other."),
        "{first}"
    );
    assert!(figures.cpu_ratio.unwrap().high < 1.0);
}

#[test]
fn a_difference_within_chance_is_not_sold_as_one() {
    let found = pair(12, [1003.0, 1000.0]);
    assert!(
        found.verdict[0].contains("are equivalent"),
        "{:?}",
        found.verdict
    );
}

#[test]
fn too_few_rounds_make_no_statement() {
    let found = pair(3, [1300.0, 1000.0]);
    assert!(
        found.verdict[0].contains("six rounds or more"),
        "{:?}",
        found.verdict
    );
}

#[test]
fn nothing_is_said_of_a_rejected_side() {
    let (a, b) = (cell("honest"), cell("liar"));
    let mut all = rounds(12, 1, &a, 1000.0);
    let mut lies = rounds(12, 2, &b, 9000.0);
    lies[3].claim.sum += 1;
    all.extend(lies);
    let found = found(&pair_of(a, b), &all);
    assert!(
        found.verdict[0].contains("liar is rejected"),
        "{:?}",
        found.verdict
    );
    let What::Pair(figures) = found.what else {
        panic!("not a pair");
    };
    assert_eq!((figures.ratio, figures.cpu_ratio), (None, None));
}

#[test]
fn one_client_with_two_settings_is_named_by_them() {
    let a = cell("same");
    let mut b = a.clone();
    b.load.keepalive = false;
    let mut all = rounds(12, 1, &a, 1000.0);
    all.extend(rounds(12, 2, &b, 500.0));
    let found = found(&pair_of(a, b), &all);
    let first = &found.verdict[0];
    assert!(first.starts_with("same (keepalive on) is "), "{first}");
    assert!(
        first.ends_with("as fast as same (keepalive off)."),
        "{first}"
    );
}

/// Keep-alive and new connections with 1 ms and 3 ms of work; `extra` round trips that nobody predicts.
fn keepalive(extra: f64) -> Vec<Round> {
    let mut all = Vec::new();
    for (seed, trip) in [0u64, 20, 100].into_iter().enumerate() {
        for (keepalive, trips, work) in [(true, 1.0, 1.0), (false, 3.0 + extra, 3.0)] {
            let load = Load {
                keepalive,
                concurrency: 1,
                tls: true,
                round_trip_ms: Some(trip),
                ..cell("x").load
            };
            let cell = Cell::new("x", load);
            let speed = 1e3 / (trips * trip as f64 + work);
            all.extend(rounds(12, seed as u64, &cell, speed));
        }
    }
    all
}

fn of_keepalive(rounds: &[Round]) -> Compared {
    found(&Comparison::Keepalive { client: "x".into() }, rounds)
}

#[test]
fn the_gain_of_keep_alive_connections_is_predicted_from_the_round_trip_of_zero() {
    let found = of_keepalive(&keepalive(0.0));
    let What::RoundTrips(trips) = &found.what else {
        panic!("{found:?}");
    };
    assert_eq!(
        trips
            .iter()
            .map(|trip| trip.round_trip_ms)
            .collect::<Vec<_>>(),
        [0, 20, 100]
    );
    for (trip, truth) in trips.iter().zip([3.0, 3.0, 303.0 / 101.0]) {
        let (gain, predicted) = (trip.gain.unwrap().value, trip.predicted_gain.unwrap());
        assert!((gain / truth - 1.0).abs() < 0.05, "{trip:?}");
        assert!((predicted / truth - 1.0).abs() < 0.05, "{trip:?}");
    }
    assert!((trips[1].predicted_new_ms.unwrap() / 63.0 - 1.0).abs() < 0.05);
    assert!(
        found.verdict[1].contains("predictions hold"),
        "{:?}",
        found.verdict
    );
}

#[test]
fn a_handshake_that_takes_longer_than_predicted_is_said() {
    let found = of_keepalive(&keepalive(1.0));
    assert!(
        found.verdict[1].contains("do not hold within 10\u{a0}% for new (off by at most 3")
            && found.verdict[1].contains("they hold for keep-alive"),
        "{:?}",
        found.verdict
    );
}

/// The gain alone may be right where both of its parts are wrong.
#[test]
fn each_column_is_held_against_its_prediction() {
    let mut all = keepalive(0.0);
    for round in all
        .iter_mut()
        .filter(|round| round.cell.load.round_trip_ms == Some(20))
    {
        round.wall_ns = round.wall_ns * 5 / 4;
        let mut slower = Times::new();
        for (us, count) in round.claim.latencies_us.iter() {
            slower.add(us * 5 / 4, count);
        }
        round.claim.latencies_us = slower;
    }
    let found = of_keepalive(&all);
    let sentence = &found.verdict[1];
    assert!(
        sentence.contains("do not hold within 10\u{a0}% for keep-alive (off by at most 2"),
        "{sentence}"
    );
    assert!(
        sentence.contains("at 20 ms) and new (off by at most 2"),
        "{sentence}"
    );
    assert!(sentence.contains("they hold for gain"), "{sentence}");
}

#[test]
fn a_client_that_keeps_what_it_should_not_gets_no_gain() {
    let mut all = keepalive(0.0);
    for round in all.iter_mut().filter(|round| !round.cell.load.keepalive) {
        round.seen.as_mut().unwrap().reused = 1;
    }
    let found = of_keepalive(&all);
    let What::RoundTrips(trips) = &found.what else {
        panic!("{found:?}");
    };
    assert!(
        trips
            .iter()
            .all(|trip| trip.gain.is_none() && trip.rejected.is_some())
    );
}

/// Batches of one request after another at 10 ms each, and at once in waves of `pool`.
fn batches(pool: u64) -> Vec<Round> {
    let mut all = Vec::new();
    for (seed, size) in [1u64, 10, 60].into_iter().enumerate() {
        for mode in [Mode::Sync, Mode::Async] {
            let at_once = if mode == Mode::Sync { 1 } else { size };
            let load = Load {
                concurrency: at_once as usize,
                mode: Some(mode),
                requests: Some(size),
                ..cell("x").load
            };
            let cell = Cell::new("x", load);
            let waves = size.div_ceil(at_once.min(pool));
            let wall = 0.01 * waves as f64;
            let speed = size as f64 / wall;
            let mut own = rounds(10, seed as u64, &cell, speed);
            for round in &mut own {
                round.wall_ns = (round.wall_ns as f64 * size as f64 / round.count as f64) as u64;
                (round.count, round.claim.done) = (size, size);
                round.claim.bytes = size * 133;
                let times = round.claim.latencies_us.iter();
                round.claim.latencies_us = times.take(size as usize).map(|(us, _)| us).collect();
                let page = round.seen.as_mut().unwrap();
                (page.count, page.requests, page.distinct) = (size, size, size);
                page.body_bytes_out = size * 133;
                page.peak_in_flight = at_once.min(pool);
                page.connections_used = at_once.min(pool);
            }
            all.extend(own);
        }
    }
    all
}

fn of_batches(rounds: &[Round]) -> Compared {
    found(&Comparison::SyncAsync { client: "x".into() }, rounds)
}

#[test]
fn batches_sent_at_once_are_as_much_faster_as_they_are_large() {
    let found = of_batches(&batches(1000));
    let What::Batches(sizes) = &found.what else {
        panic!("{found:?}");
    };
    for (batch, size) in sizes.iter().zip([1.0, 10.0, 60.0]) {
        let speed_up = batch.speed_up.unwrap();
        assert!((speed_up.value / size - 1.0).abs() < 0.05, "{batch:?}");
        assert!(
            (batch.sync_average_ms / (10.0 * size) - 1.0).abs() < 0.1,
            "{batch:?}"
        );
        assert_eq!(batch.loops, 10);
    }
    assert_eq!(
        sizes
            .iter()
            .map(|batch| batch.in_flight)
            .collect::<Vec<_>>(),
        [Some(1), Some(10), Some(60)]
    );
    assert!(
        !found
            .verdict
            .iter()
            .any(|sentence| sentence.contains("pool"))
    );
}

#[test]
fn a_pool_smaller_than_the_batch_is_seen_by_the_server() {
    let found = of_batches(&batches(2));
    let limit = found
        .verdict
        .iter()
        .find(|sentence| sentence.contains("pool"))
        .unwrap();
    assert!(
        limit.starts_with("From batches of 10 on") && limit.contains("more than 2"),
        "{limit}"
    );
}

#[test]
fn averages_are_written_for_spreadsheets() {
    let run = run(batches(1000), &Comparison::SyncAsync { client: "x".into() });
    let csv = report::view(&run, &judge(&run.rounds, &Delay::None)).csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "mul,loop,sync,async");
    assert!(lines[2].starts_with("10,10,"), "{csv}");
    assert_eq!(lines.len(), 4);
}

#[test]
fn a_server_without_a_ledger_leaves_everything_unverified() {
    let found = of_batches(&unwitnessed(batches(1000)));
    assert!(
        found
            .verdict
            .iter()
            .any(|sentence| sentence.starts_with("UNVERIFIED"))
    );
}

/// The document of a comparison, read again as `hecaton report` does.
fn run(rounds: Vec<Round>, comparison: &Comparison) -> Document {
    let mut run = document(rounds, "0", json!({"kind": "test_server"}));
    run.plan.comparison = Some(comparison.clone());
    serde_json::from_value(serde_json::to_value(&run).unwrap()).unwrap()
}

#[test]
fn every_view_shows_the_figures_of_a_comparison() {
    let client = || "x".to_string();
    let (a, b) = (cell("one"), cell("other"));
    let mut both = rounds(12, 1, &a, 1300.0);
    both.extend(rounds(12, 2, &b, 1000.0));
    let runs = [
        (run(both, &pair_of(a, b)), "one ÷ other", "pair"),
        (
            run(keepalive(0.0), &Comparison::Keepalive { client: client() }),
            "100 ms",
            "round_trips",
        ),
        (
            run(batches(1000), &Comparison::SyncAsync { client: client() }),
            "60",
            "batches",
        ),
    ];
    let style = report::Style {
        width: 100,
        color: false,
        unicode: true,
    };
    for (run, words, key) in runs {
        let findings = judge(&run.rounds, &run.plan.delay);
        let full = serde_json::to_value(report::document(&run, &findings)).unwrap();
        let sentence = full["comparison"]["verdict"][0].as_str().unwrap();
        assert!(
            full["comparison"][key].is_object() || full["comparison"][key].is_array(),
            "{full}"
        );
        assert_eq!(full["recommendations"], json!([]));
        for width in [60, 80, 100, 120] {
            let text = report::view(&run, &findings).terminal(&report::Style { width, ..style });
            let longest = text.lines().max_by_key(|line| line.chars().count());
            let longest = longest.unwrap_or_default();
            assert!(longest.chars().count() <= width, "{width}: {longest}");
        }
        let terminal = report::view(&run, &findings).terminal(&style);
        let page = report::view(&run, &findings).html();
        for text in [&terminal, &report::view(&run, &findings).markdown(), &page] {
            assert!(text.contains(words), "{key}: {text}");
        }
        let sentence = sentence.trim_end_matches('.');
        assert!(page.contains(sentence) && page.contains("<svg"), "{key}");
        assert!(page.len() < 200_000);
        assert!(
            page.contains("What the server saw")
                && page.matches(">agrees<").count() >= 2
                && page.contains("contradicts no row")
        );
        for (name, drawing) in report::view(&run, &findings).drawings() {
            assert!(
                name.ends_with(".svg") && drawing.starts_with("<svg"),
                "{name}"
            );
        }
    }
}
