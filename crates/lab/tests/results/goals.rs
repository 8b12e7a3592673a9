//! Goals of a benchmark: met or missed by the figure, open where the interval holds the limit, and never guessed.

use hecaton_lab::findings::{Judgement, judge_goal};
use hecaton_lab::report::{self, Style};
use hecaton_lab::run::Round;
use hecaton_lab::spec::{Goal, Promise};
use serde_json::json;

use crate::synthetic::{Machine, delayed, document, judge, ten_ms};

/// Twelve rounds of three clients at concurrency 10, whose speeds are as 2.6 to 1 to 4.
fn rounds() -> Vec<Round> {
    let machine = Machine::default();
    let speeds = [
        ("ours", 260.0),
        ("theirs", 100.0),
        ("baseline-loader", 400.0),
    ];
    let rounds = speeds.map(|(client, speed)| machine.rounds(client, 133, &[(10, (speed, 20.0))]));
    delayed(&rounds.concat(), &ten_ms())
}

fn judged(promise: &Promise, rounds: &[Round]) -> Judgement {
    let rounds = &delayed(rounds, &ten_ms());
    let findings = judge(rounds, &ten_ms());
    let mut judgements = judge_goal(&goal(promise, None), rounds, &findings.rows);
    assert_eq!(judgements.len(), 1, "one cell, one judgement");
    judgements.remove(0)
}

/// The promise as a goal, at this concurrency alone if one is given.
fn goal(promise: &Promise, concurrency: Option<usize>) -> Goal {
    Goal {
        part: "many".into(),
        concurrency,
        body_bytes: None,
        promise: promise.clone(),
    }
}

fn faster(than: &str, times: f64) -> Promise {
    Promise::Faster {
        client: "ours".into(),
        than: than.into(),
        times,
    }
}

#[test]
fn a_ratio_is_compared_with_its_goal() {
    let met = judged(&faster("theirs", 2.5), &rounds());
    assert_eq!(met.met, Some(true));
    assert!((met.value.unwrap() - 2.6).abs() < 0.02, "{met:?}");
    assert!(
        met.sentence
            .starts_with("ours ÷ theirs at concurrency 10, 133-byte bodies: 2.6")
            && met.sentence.ends_with("goal 2.50×: met"),
        "{}",
        met.sentence
    );
    let missed = judged(&faster("theirs", 3.0), &rounds());
    assert_eq!(missed.met, Some(false));
    assert!(missed.sentence.ends_with("goal 3.00×: missed"));
    assert_eq!(
        judged(&faster("baseline-loader", 0.6), &rounds()).met,
        Some(true)
    );
}

#[test]
fn a_goal_is_checked_where_it_says() {
    let rounds = rounds();
    let findings = judge(&rounds, &ten_ms());
    let met = |concurrency| {
        let goal = goal(&faster("theirs", 2.5), Some(concurrency));
        judge_goal(&goal, &rounds, &findings.rows)[0].met
    };
    assert_eq!((met(10), met(50)), (Some(true), None));
}

#[test]
fn without_rounds_there_are_no_verdicts() {
    let judgement = judged(&faster("theirs", 2.5), &[]);
    assert_eq!((judgement.met, judgement.limit), (None, 2.5));
    assert_eq!(judgement.sentence, "ours: not judged: it was not measured");
}

#[test]
fn a_limit_inside_the_interval_is_reported() {
    let found = judged(&faster("theirs", 2.5), &rounds());
    let [low, high] = found.interval.unwrap();
    assert!(low < high);
    let open = judged(&faster("theirs", high), &rounds());
    assert_eq!(open.met, Some(false));
    assert!(open.sentence.ends_with("missed, equivalent to the goal"));
}

#[test]
fn goals_of_what_was_rejected_or_not_measured_are_open() {
    let mut spoiled = rounds();
    spoiled
        .iter_mut()
        .filter(|round| round.cell.client == "theirs")
        .for_each(|round| round.claim.sum ^= 1);
    for (promise, rounds, why) in [
        (
            faster("theirs", 2.5),
            &spoiled,
            "theirs was rejected: the checksum",
        ),
        (faster("nobody", 2.5), &rounds(), "nobody was not measured"),
        (keep_alive(), &rounds(), "new connections were not measured"),
    ] {
        let judgement = judged(&promise, rounds);
        assert_eq!((judgement.met, judgement.value), (None, None));
        assert!(judgement.sentence.contains("not judged: "), "{judgement:?}");
        assert!(judgement.sentence.contains(why), "{judgement:?}");
    }
}

fn keep_alive() -> Promise {
    Promise::KeepAlive {
        client: "ours".into(),
        times: 2.0,
    }
}

#[test]
fn keep_alive_connections_are_compared_with_new_ones_of_the_same_client() {
    let mut all = rounds();
    let mut new = Machine::default().rounds("ours", 133, &[(10, (50.0, 20.0))]);
    for round in &mut new {
        round.cell.load.keepalive = false;
        for page in [&mut round.seen, &mut round.probe].into_iter().flatten() {
            page.reused = 0;
        }
    }
    all.extend(new);
    let judgement = judged(&keep_alive(), &all);
    assert_eq!(judgement.met, Some(true));
    assert!(
        (judgement.value.unwrap() - 5.2).abs() < 0.1,
        "{judgement:?}"
    );
}

#[test]
fn memory_and_responses_are_checked_over_all_rounds() {
    let mut rounds = rounds();
    let most = |megabytes| Promise::Memory {
        client: "ours".into(),
        megabytes,
    };
    rounds[3].peak_rss_kib = 40_000;
    assert_eq!(judged(&most(41.0), &rounds).met, Some(true));
    assert_eq!(judged(&most(40.0), &rounds).met, Some(false));
    let complete = Promise::Complete {
        client: "ours".into(),
    };
    assert_eq!(judged(&complete, &rounds).met, Some(true));
    let claim = &mut rounds[5].claim;
    claim.done -= 1;
    claim.errors = 1;
    let missed = judged(&complete, &rounds);
    assert_eq!(missed.met, Some(false));
    assert!(missed.sentence.contains("failed"), "{}", missed.sentence);
}

#[test]
fn the_table_has_the_fastest_first_and_the_subject_divided_by_each() {
    let run = document(rounds(), "10ms", json!({ "kind": "test_server" }));
    let style = Style {
        width: 100,
        color: false,
        unicode: true,
    };
    let part = report::Part {
        title: "A part",
        subject: "ours",
        run: &run,
    };
    let view = report::bench(&[part], &["A goal is met.".into()], &[]);
    let text = view.terminal(&style);
    assert!(
        text.contains("A part") && text.contains("- A goal is met."),
        "{text}"
    );
    assert!(view.html().contains("A goal is met."));
    let places = ["baseline loader ", "ours ", "theirs "]
        .map(|name| text.find(&format!("\n  {name}")).unwrap());
    assert!(places.is_sorted(), "{text}");
    assert!(text.contains("2.6") && text.contains("0.65×"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

/// Rounds of two builds in three places, the one `times` as fast as the other.
fn of_builds(seed: u64, blocks: u32, times: f64) -> Vec<Round> {
    let machine = Machine {
        seed,
        blocks,
        noise: 0.03,
        ..Machine::default()
    };
    let places = [(1, 70.0), (50, 900.0), (200, 1000.0)];
    let of = |client: &str, times: f64| {
        let shape = places.map(|(concurrency, speed)| (concurrency, (times * speed, 50.0)));
        machine.rounds(client, 133, &shape)
    };
    let all = [of("gem@checkout", times), of("gem@1a2b3c4", 1.0)].concat();
    delayed(&all, &ten_ms())
}

fn of_all_places(rounds: &[Round]) -> Vec<Judgement> {
    let promise = Promise::NotSlower {
        client: "gem@checkout".into(),
        than: "gem@1a2b3c4".into(),
    };
    let findings = judge(rounds, &ten_ms());
    judge_goal(&goal(&promise, None), rounds, &findings.rows)
}

#[test]
fn equal_builds_are_not_called_different() {
    let runs = 20;
    let names_a_difference = |seed: &u64| {
        let judgements = of_all_places(&of_builds(*seed, 24, 1.0));
        assert_eq!(
            judgements.len(),
            6,
            "speed and CPU time in each of three places"
        );
        let says = |one: &Judgement| one.sentence.contains("not told apart");
        assert!(judgements.iter().all(|one| says(one) == one.is_not_apart()));
        let apart = |one: &Judgement| !one.is_not_apart();
        judgements.iter().any(apart)
    };
    let apart = (0..runs).filter(names_a_difference).count() as u64;
    assert!(apart <= runs / 20, "{apart} of {runs}");
}

#[test]
fn a_build_that_is_faster_is_named_where_there_are_rounds_enough() {
    let said = |rounds: &[Round], words: [&str; 2]| {
        let judgements = of_all_places(rounds);
        for pair in judgements.chunks(2) {
            for (one, word) in pair.iter().zip(words) {
                assert!(one.sentence.ends_with(word), "{}", one.sentence);
            }
        }
        judgements.iter().all(|one| one.met == Some(true))
    };
    assert!(said(&of_builds(1, 24, 1.15), ["faster", "costs less"]));
    assert!(!said(&of_builds(1, 24, 0.85), ["slower", "costs more"]));
    let few = "not told apart, 6 rounds are too few";
    assert!(said(&of_builds(1, 6, 1.15), [few, few]));
}

#[test]
fn a_goal_of_a_build_that_was_not_measured_is_open() {
    let mut rounds = of_builds(1, 6, 1.0);
    rounds.retain(|round| round.cell.client == "gem@checkout");
    for judgement in of_all_places(&rounds) {
        assert_eq!((judgement.met, judgement.value), (None, None));
        let why = "not judged: gem@1a2b3c4 was not measured";
        assert!(judgement.sentence.ends_with(why), "{}", judgement.sentence);
    }
}

#[test]
fn the_page_of_two_builds_names_them_and_says_how_many_figures_are_worse() {
    let page = |times| {
        let rounds = of_builds(1, 24, times);
        let run = document(rounds, "10ms", json!({ "kind": "test_server" }));
        let part = report::Part {
            title: "A part",
            subject: "gem@checkout",
            run: &run,
        };
        report::bench(&[part], &[], &[]).html()
    };
    let worse = "Builds of the gem: checkout is worse than 1a2b3c4 in";
    assert!(page(0.85).contains(&format!("{worse} 6 of 6 figures")));
    assert!(page(1.15).contains(&format!("{worse} none of 6 figures")));
    assert!(
        page(0.85).contains(
            "gem@checkout ÷ gem@1a2b3c4 at concurrency 1, 133-byte bodies, requests/s: 0.8"
        )
    );
    assert!(page(0.85).contains(">checkout<br>÷ this</th>"));
    assert!(page(0.85).contains("<summary>Not told apart: 0 figures</summary>"));
    assert!(!page(0.85).contains("peers"));
}
