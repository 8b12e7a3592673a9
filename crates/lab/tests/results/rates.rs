//! What is said of requests at a rate: the highest that a client keeps within a budget, and claims that cannot be true.

use hecaton_lab::findings::{judge_run, rejection, warnings};
use hecaton_lab::ledger::Document;
use hecaton_lab::report;
use hecaton_lab::run::Round;
use hecaton_test_server::Times;
use serde_json::json;

use crate::synthetic::{Machine, document};

/// Rounds of one client at a rate, each with 1,000 latencies, of which the slowest two in a hundred take `slow_ms`.
fn at_rate(rate: &str, per_second: f64, done: f64, slow_ms: u32) -> Vec<Round> {
    let mut rounds = Machine::default().rounds("honest", 133, &[(50, (done, 20.0))]);
    for round in &mut rounds {
        round.cell.load.rate = Some(rate.parse().unwrap());
        round.per_second = Some(per_second);
        let mut times = Times::new();
        times.add(2_000, 980);
        times.add(slow_ms * 1000, 20);
        round.claim.latencies_us = times;
    }
    rounds
}

fn run(p99_ms: Option<f64>) -> Document {
    let mut rounds = at_rate("200", 200.0, 200.0, 12);
    rounds.extend(at_rate("400", 400.0, 400.0, 48));
    rounds.extend(at_rate("800", 800.0, 800.0, 160));
    rounds.extend(at_rate("1600", 1600.0, 900.0, 20));
    let mut run = document(rounds, "0", json!({ "kind": "test_server" }));
    run.plan.budget.p99_ms = p99_ms;
    run
}

#[test]
fn the_highest_rate_within_the_budget_is_named() {
    let sentence = |budget| judge_run(&run(budget)).verdicts.swap_remove(0);
    let says = sentence(Some(50.0));
    assert!(
        says.starts_with("honest, 133-byte bodies: keeps p99 under 50"),
        "{says}"
    );
    assert!(
        says.contains("ms up to 400 requests/s: at 200 requests/s"),
        "{says}"
    );
    assert!(
        says.contains("at 1,600 requests/s") && says.contains("did only"),
        "{says}"
    );
    let says = sentence(Some(5.0));
    assert!(
        says.contains("no measured rate keeps p99 under 5"),
        "{says}"
    );
    assert!(sentence(None).starts_with("honest, 133-byte bodies: at 200 requests/s p50 2"));
}

#[test]
fn a_rate_is_kept_within_a_budget_of_memory() {
    let mut run = run(None);
    run.plan.budget.memory_mb = Some(30.0);
    let says = judge_run(&run).verdicts.swap_remove(0);
    assert!(
        says.contains("keeps memory under 30.0 MB up to 800 requests/s"),
        "{says}"
    );
    run.plan.budget.memory_mb = Some(20.0);
    let says = judge_run(&run).verdicts.swap_remove(0);
    assert!(
        says.contains("no measured rate keeps memory under 20.0 MB"),
        "{says}"
    );
}

/// The title of the page says which client keeps most.
#[test]
fn the_title_names_the_highest_rate_within_the_budget() {
    let title = |budget| {
        let run = run(budget);
        let page = report::view(&run, &judge_run(&run)).html();
        let (_, heading) = page.split_once("<h1>").unwrap();
        heading.split_once("</h1>").unwrap().0.to_owned()
    };
    assert_eq!(
        title(Some(50.0)),
        "honest keeps 400 requests/s with p99 under 50.0 ms"
    );
    assert_eq!(title(None), "honest keeps 800 requests/s");
    assert_eq!(title(Some(5.0)), "Which rate does each client keep?");
}

/// Where the highest rate that was tried is kept, the client may keep more, and nobody knows who keeps most.
#[test]
fn a_title_ranks_nobody_whose_limit_was_not_found() {
    let title = |rates: &[(&str, f64)]| {
        let of_client = |client: &'static str| {
            let rates = rates.iter();
            let mut all: Vec<Round> = rates
                .flat_map(|(rate, due)| at_rate(rate, *due, due.min(1000.0), 12))
                .collect();
            for round in &mut all {
                round.cell.client = client.into();
            }
            all
        };
        let mut rounds = of_client("honest");
        rounds.extend(of_client("other"));
        let run = document(rounds, "0", json!({ "kind": "test_server" }));
        let page = report::view(&run, &judge_run(&run)).html();
        let (_, heading) = page.split_once("<h1>").unwrap();
        heading.split_once("</h1>").unwrap().0.to_owned()
    };
    let says = title(&[("200", 200.0), ("400", 400.0)]);
    assert!(
        says.contains("honest keeps at least 400 requests/s"),
        "{says}"
    );
    assert!(says.contains("not ranked"), "{says}");
    let says = title(&[("200", 200.0), ("1600", 1600.0)]);
    assert!(
        !says.contains("at least") && !says.contains("not ranked"),
        "{says}"
    );
}

/// What was measured at a rate recommends no concurrency.
#[test]
fn a_rate_recommends_no_concurrency() {
    let findings = judge_run(&run(None));
    assert_eq!(findings.rates.len(), 4);
    assert!(findings.recommendations.is_empty());
    assert!(!findings.verdicts.concat().contains("no recommendation"));
}

/// Why rounds at a rate are rejected after this was done to them.
fn reason(spoil: impl Fn(&mut Round)) -> Option<String> {
    let mut rounds = at_rate("200", 200.0, 200.0, 12);
    for round in &mut rounds {
        round.lat_every = 1;
        round.count = 1000;
        round.claim.done = 1000;
        round.claim.bytes = 133_000;
        let seen = round.seen.as_mut().unwrap();
        (
            seen.count,
            seen.requests,
            seen.distinct,
            seen.body_bytes_out,
        ) = (1000, 1000, 1000, 133_000);
        seen.least.add(1_500, 1000);
        seen.behind.add(100, 1000);
        spoil(round);
    }
    rejection(&rounds.iter().collect::<Vec<_>>())
}

#[test]
fn claims_below_the_servers_times_and_requests_before_they_are_due_are_refuted() {
    assert_eq!(reason(|_| ()), None);
    let says = reason(|round| {
        // Half of the responses went out 30 ms after their requests were due.
        let seen = round.seen.as_mut().unwrap();
        seen.least = Times::new();
        seen.least.add(30_000, 500);
        seen.least.add(1_500, 500);
    });
    let says = says.unwrap();
    assert!(says.contains("after the request was due"), "{says}");
    let says = reason(|round| round.seen.as_mut().unwrap().early = 3).unwrap();
    assert!(
        says.contains("3 of 1,000 requests arrived before they were due"),
        "{says}"
    );
}

#[test]
fn sending_late_is_a_figure_and_no_offence() {
    let mut rounds = at_rate("200", 200.0, 200.0, 12);
    rounds[0].seen.as_mut().unwrap().behind.add(40_000, 1000);
    let rounds: Vec<&Round> = rounds.iter().collect();
    assert_eq!(rejection(&rounds), None);
    let says = warnings(&rounds).join("; ");
    assert!(
        says.contains("requests reached the server later than they were due: by 40"),
        "{says}"
    );
}

/// The rate is what the points of a line differ in, so it is what is across, and each client is one line.
#[test]
fn charts_of_a_rate_have_the_rate_across_and_the_budget_as_a_line() {
    let run = run(Some(50.0));
    let findings = judge_run(&run);
    let page = report::view(&run, &findings).html();
    for words in [
        "requests due per second",
        "Latency over the rate",
        "budget of 50.0 ms",
        "400 requests/s: p99 in ms 48",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(
        !page.contains("over concurrency") && !page.contains("honest, rate"),
        "{page}"
    );
}

#[test]
fn latencies_are_drawn_from_p50_to_p99_9_with_their_number() {
    let run = run(None);
    let findings = judge_run(&run);
    let row = findings
        .rows
        .iter()
        .find(|row| row.due_per_second == Some(400.0))
        .unwrap();
    let all = row.percentiles.as_ref().unwrap();
    let rounds = run
        .rounds
        .iter()
        .filter(|round| round.per_second == Some(400.0))
        .count();
    assert_eq!(all.n, 1000 * rounds as u64);
    assert!(
        all.at(50.0).unwrap().ms < 2.1 && all.at(99.0).unwrap().ms > 47.0,
        "{all:?}"
    );
    let view = report::view(&run, &findings);
    let page = view.html();
    for words in [
        "Latency from p50 to p99.9",
        ">p50<",
        ">p99.9<",
        "latency in ms, n = 12,000",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let document = json!(report::document(&run, &findings));
    let row = &document["rows"][0]["percentiles"];
    assert_eq!(row["ms"][0][0], 50.0, "{row}");
    assert!(row["ms"][0][1].as_f64().unwrap() < 2.1, "{row}");
}
