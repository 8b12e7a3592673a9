//! A shootout's judgement: the order, the groups, the winner, the ratios, noise, and what a process does once.

use hecaton_lab::findings::{Ranking, ranking};
use hecaton_lab::run::{Noise, Round, Start};
use hecaton_test_server::Delay;

use crate::synthetic::{Machine, judge};

/// Clients at one concurrency whose true speeds are given.
fn rounds(blocks: u32, speeds: &[(&str, f64)]) -> Vec<Round> {
    let machine = Machine {
        blocks,
        noise: 0.01,
        ..Machine::default()
    };
    let all = speeds
        .iter()
        .flat_map(|(name, speed)| machine.rounds(name, 16_384, &[(1, (*speed, 50.0))]));
    all.collect()
}

fn rank(rounds: &[Round], starts: &[Start]) -> Ranking {
    let findings = judge(rounds, &Delay::None);
    ranking(rounds, starts, &findings.rows, "net-http", 2)
}

fn names(ranking: &Ranking) -> Vec<&str> {
    ranking
        .ranked
        .iter()
        .map(|entry| entry.row.client.as_str())
        .collect()
}

fn letters(ranking: &Ranking) -> Vec<&str> {
    let entries = ranking.ranked.iter();
    entries.map(|entry| entry.letters.as_str()).collect()
}

#[test]
fn the_fastest_stands_first_and_the_baseline_loader_outside() {
    let ranking = rank(
        &rounds(
            12,
            &[
                ("net-http", 1000.0),
                ("curb", 2000.0),
                ("baseline-loader", 9000.0),
                ("excon", 500.0),
            ],
        ),
        &[],
    );
    assert_eq!(names(&ranking), ["curb", "net-http", "excon"]);
    assert_eq!(ranking.outside[0].row.client, "baseline-loader");
    assert_eq!(letters(&ranking), ["a", "b", "c"]);
    assert!(
        ranking
            .verdict
            .contains("curb is the fastest of 3 clients: 2.0"),
        "{}",
        ranking.verdict
    );
    assert!(
        ranking.verdict.contains("faster than each of the others"),
        "{}",
        ranking.verdict
    );
}

#[test]
fn ratios_are_to_the_baseline_with_an_interval_that_holds_the_truth() {
    let ranking = rank(&rounds(12, &[("net-http", 1000.0), ("curb", 2000.0)]), &[]);
    let ratio = ranking.ranked[0].ratio.unwrap();
    assert!(
        ratio.low <= 2.0 && 2.0 <= ratio.high && ratio.high - ratio.low < 0.1,
        "{ratio:?}"
    );
    assert_eq!(
        ranking.ranked[1].ratio, None,
        "the baseline has no ratio to itself"
    );
}

#[test]
fn clients_without_a_clear_difference_share_a_letter_and_nobody_wins() {
    let ranking = rank(
        &rounds(
            12,
            &[("net-http", 1000.0), ("curb", 1003.0), ("excon", 700.0)],
        ),
        &[],
    );
    assert_eq!(letters(&ranking), ["a", "a", "b"]);
    assert!(
        ranking.verdict.contains("cannot be told apart"),
        "{}",
        ranking.verdict
    );
}

#[test]
fn five_rounds_give_no_letters() {
    let ranking = rank(&rounds(5, &[("net-http", 1000.0), ("curb", 3000.0)]), &[]);
    assert_eq!(letters(&ranking), ["", ""]);
    assert!(
        ranking.verdict.contains("too few rounds"),
        "{}",
        ranking.verdict
    );
}

#[test]
fn a_rejected_client_is_not_ranked_and_keeps_its_reason() {
    let mut rounds = rounds(12, &[("net-http", 1000.0), ("cheat", 9000.0)]);
    for round in rounds
        .iter_mut()
        .filter(|round| round.cell.client == "cheat")
    {
        round.claim.sum ^= 1;
    }
    let ranking = rank(&rounds, &[]);
    assert_eq!(names(&ranking), ["net-http"]);
    assert!(
        ranking.rejected[0]
            .row
            .rejected
            .as_deref()
            .unwrap()
            .contains("checksum"),
        "{:?}",
        ranking.rejected[0].row.rejected
    );
    assert_eq!(ranking.rejected[0].ratio, None);
}

#[test]
fn noise_is_counted_by_round_and_a_tick_is_none() {
    let mut rounds = rounds(10, &[("net-http", 1000.0)]);
    assert_eq!(
        rank(&rounds, &[]).noisy,
        None,
        "what was not looked at is not called calm"
    );
    for (position, round) in rounds.iter_mut().enumerate() {
        let foreign_ns = if position < 3 {
            round.wall_ns
        } else {
            10_000_000
        };
        round.noise = Some(Noise {
            foreign_ns,
            stolen_ns: 0,
        });
    }
    let noisy = rank(&rounds, &[]).noisy.unwrap();
    assert!((noisy - 0.3).abs() < 1e-9, "{noisy}");
    for round in &mut rounds[..5] {
        round.noise = Some(Noise {
            foreign_ns: 0,
            stolen_ns: round.wall_ns,
        });
    }
    let stolen = rank(&rounds, &[]).noisy.unwrap();
    assert!(
        (stolen - 0.5).abs() < 1e-9,
        "time that the host takes is noise too: {stolen}"
    );
}

#[test]
fn first_requests_are_the_median_of_the_processes() {
    let start = |invocation: u32, first_ms: u64| Start {
        client: "net-http".into(),
        invocation,
        boot_ns: 100_000_000,
        first_request_ns: first_ms * 1_000_000,
        user: None,
        held: true,
    };
    let starts = [start(0, 9), start(1, 3), start(2, 4)];
    let ranking = rank(&rounds(12, &[("net-http", 1000.0)]), &starts);
    let entry = &ranking.ranked[0];
    assert_eq!((entry.first_ms, entry.boot_ms), (Some(4.0), Some(100.0)));
}
