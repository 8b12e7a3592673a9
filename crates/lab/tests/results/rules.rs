//! Each rule rejects its cheat, and no rule rejects an honest client.

use hecaton_lab::findings::{Follows, consequences, warnings};
use hecaton_lab::run::{BesideRound, Fact, Isolation, LogEntries, Proof, Round};
use hecaton_test_server::{Delay, Interval, Times};

use crate::synthetic::{Machine, judge, rejection, ten_ms};

/// Spoils the measured and the probe page of one round of concurrency 10 and returns the reason.
fn reason(spoil: impl Fn(&mut Round)) -> String {
    let mut rounds = Machine::default().rounds("mri", 133, &[(10, (624.21, 34.81))]);
    assert_eq!(
        rejection(&rounds.iter().collect::<Vec<_>>(), &ten_ms()),
        None,
        "honest rounds are not rejected"
    );
    spoil(&mut rounds[3]);
    rejection(&rounds.iter().collect::<Vec<_>>(), &ten_ms()).expect("a reason")
}

/// A cheat, its effect on a round, and words of the reason.
type Case = (&'static str, fn(&mut Round), &'static [&'static str]);

fn seen(round: &mut Round) -> &mut Interval {
    round.seen.as_mut().unwrap()
}

fn probe(round: &mut Round) -> &mut Interval {
    round.probe.as_mut().unwrap()
}

#[test]
fn every_rule_names_what_was_expected_and_what_was_seen() {
    let cases: [Case; 28] = [
        (
            "a load generator, which verifies nothing",
            |r| {
                r.reference = true;
                seen(r).distinct = 0;
            },
            &["shown for reference", "nothing of it can be verified"],
        ),
        (
            "counts without sending",
            |r| seen(r).distinct = 0,
            &["never arrived", "claims", "test server saw 0"],
        ),
        (
            "drops one",
            |r| seen(r).distinct -= 1,
            &["1 of ", "never arrived"],
        ),
        ("miscounts", |r| r.claim.done -= 5, &["accounts for"]),
        (
            "gives the kinds of failures that there were not",
            |r| {
                r.claim.errors_by.insert("timeout".into(), u64::MAX);
                r.claim.errors_by.insert("timed out".into(), 1);
            },
            &[
                "claims 0 requests failed",
                "kinds of 18,446,744,073,709,551,616",
            ],
        ),
        (
            "sends another request",
            |r| seen(r).otherwise = 3,
            &[
                "3 of ",
                "were for something else",
                "Accept: application/json",
            ],
        ),
        (
            "keeps what it should not",
            |r| {
                r.cell.load.keepalive = false;
                seen(r).reused = 5;
            },
            &["connections are kept alive", "should have had its own"],
        ),
        (
            "fails",
            |r| {
                r.claim.done -= 2;
                r.claim.errors = 2;
                r.claim.errors_by.insert("timeout".into(), 2);
            },
            &["2 of ", "failed (timeout: 2)"],
        ),
        (
            "sends twice",
            |r| seen(r).duplicates = 1,
            &["1 request was sent more than once"],
        ),
        (
            "retries in the probe",
            |r| probe(r).duplicates = 3,
            &["3 requests were sent more than once in the probe"],
        ),
        (
            "warms up in secret",
            |r| seen(r).foreign = 7,
            &["7 requests not planned"],
        ),
        (
            "leaves early",
            |r| seen(r).aborted = 4,
            &["went away from 4 responses"],
        ),
        (
            "does not read",
            |r| r.claim.sum = 0,
            &["checksum", "24301 expected, 0 claimed"],
        ),
        (
            "miscounts bytes",
            |r| r.claim.bytes = 1,
            &["claims 1 byte of bodies"],
        ),
        (
            "half the pool",
            |r| probe(r).peak_in_flight = 5,
            &["only 5 of 10 requests were in flight"],
        ),
        (
            "floods",
            |r| seen(r).peak_in_flight = 11,
            &["11 requests were in flight at once, 10 allowed"],
        ),
        (
            "pipelines",
            |r| seen(r).pipelined = 3,
            &["were pipelined: 3 of "],
        ),
        (
            "pipelines in the probe",
            |r| probe(r).pipelined = 3,
            &["were pipelined in the probe before the round: 3 of "],
        ),
        (
            "opens ahead",
            |r| {
                (r.cell.load.keepalive, r.lat_every) = (false, 2);
                seen(r).connections_opened = 100;
            },
            &["opened ahead of the round", "only 100 were opened"],
        ),
        (
            "is seen at a trick by the lab",
            |r| {
                r.facts
                    .push(Fact::Said("it left 2 processes behind".into()))
            },
            &["it left 2 processes behind"],
        ),
        (
            "times one",
            |r| r.lat_every = 1,
            &["were to be timed, but the driver claims 200 latencies"],
        ),
        (
            "uses HTTP/1.0",
            |r| seen(r).over_http1_0 = 4,
            &[
                "4 of ",
                "arrived over HTTP/1.0, though HTTP/1.1 was required",
            ],
        ),
        (
            "takes a 503 for a response",
            |r| seen(r).turned_away = 2,
            &["2 requests with status 503", "counts 0 as failed"],
        ),
        (
            "opens many connections",
            |r| {
                r.isolation = isolated(true, false);
                r.cell.load.keepalive = false;
                seen(r).peak_ahead = 17;
            },
            &[
                "17 connections were open at once that carried nothing",
                "at most 16",
            ],
        ),
        (
            "looks at none of the failures of a service",
            |r| r.logged = logged(r, |entries| entries.successes = Some(entries.distinct - 3)),
            &[
                "as done, and the access log has ",
                "with a status that counts",
            ],
        ),
        (
            "claims what a service never got",
            |r| r.logged = logged(r, |entries| entries.distinct -= 3),
            &[
                "3 of ",
                "requests that the driver claims",
                "not in the access log",
            ],
        ),
        (
            "sends a service something cheaper",
            |r| r.logged = logged(r, |entries| entries.otherwise = 3),
            &["3 of ", "another method or path in the access log"],
        ),
        (
            "sends before requests are due",
            |r| {
                r.per_second = Some(500.0);
                seen(r).early = 3;
            },
            &["3 of ", "before they were due", "rate of 500 a second"],
        ),
    ];
    for (cheat, spoil, words) in cases {
        let reason = reason(spoil);
        assert!(
            words.iter().all(|word| reason.contains(word)),
            "{cheat}: {reason}"
        );
        assert!(reason.ends_with("(in 1 of 12 rounds)"), "{cheat}: {reason}");
    }
}

/// Why twelve rounds with ten in flight and all latencies timed, of 16 ms each, are rejected after this was done to each.
fn reason_of_all(spoil: impl Fn(&mut Interval)) -> Option<String> {
    let mut rounds = Machine::default().rounds("mri", 133, &[(10, (624.21, 34.81))]);
    for round in &mut rounds {
        round.lat_every = 1;
        round.claim.latencies_us = (0..round.count).map(|_| 16_000).collect();
        spoil(seen(round));
    }
    rejection(&rounds.iter().collect::<Vec<_>>(), &Delay::None)
}

fn times(us: u32, count: u64) -> Times {
    let mut times = Times::new();
    times.add(us, count);
    times
}

/// What is wrong in a proof, and the words for it.
type Spoiled = (fn(&mut Proof), &'static str);

/// The rules hold in the proof beside a round, too, and say the same there.
#[test]
fn a_proof_is_looked_at_like_a_round() {
    let reason = |spoil: fn(&mut Proof)| {
        let mut rounds = Machine::default().rounds("mri", 133, &[(10, (624.21, 34.81))]);
        let round = &mut rounds[5];
        let mut proof = Proof {
            wall_ns: 2 * round.wall_ns,
            claim: round.claim.clone(),
            seen: round.seen.clone().unwrap(),
        };
        spoil(&mut proof);
        round.proof = Some(Box::new(proof));
        rejection(&rounds.iter().collect::<Vec<_>>(), &Delay::None)
    };
    assert_eq!(reason(|_| {}), None);
    let cases: [Spoiled; 4] = [
        (
            |proof| proof.seen.peak_in_flight = 4,
            "only 4 of 10 requests were in flight at once, with every response held",
        ),
        (|proof| proof.seen.pipelined = 2, "were pipelined"),
        (|proof| proof.claim.sum = 1, "the checksum is wrong"),
        (
            |proof| proof.seen.turned_away = 3,
            "3 requests with status 503, but the driver counts 0 as failed",
        ),
    ];
    for (spoil, words) in cases {
        let says = reason(spoil).expect(words);
        assert!(
            says.contains(words) && says.ends_with("(in 1 of 13 rounds)"),
            "{says}"
        );
    }
}

#[test]
fn no_latency_is_shorter_than_the_server_held_its_response() {
    let held = |us| reason_of_all(|seen| seen.held = times(us, 300));
    assert_eq!(held(16_000), None);
    let turned_away = |seen: &mut Interval| {
        seen.held = times(16_000, 300 + 40);
        seen.held.add(90_000, 40);
        seen.turned_away = 40;
    };
    let says = reason_of_all(turned_away).unwrap_or_default();
    assert!(!says.contains("contradict"), "{says}");
    let says = held(30_000).expect("a reason");
    assert!(
        says.contains("it held 3,600 responses for 30.0 ms") && says.contains("only 0 of"),
        "{says}"
    );
}

fn isolated(own_user: bool, one_core: bool) -> Option<Isolation> {
    Some(Isolation { own_user, one_core })
}

/// What the access log has of a round, after a change.
fn logged(round: &Round, change: impl Fn(&mut LogEntries)) -> Option<LogEntries> {
    let mut entries = LogEntries {
        lines: round.count,
        distinct: round.count,
        ..LogEntries::default()
    };
    change(&mut entries);
    Some(entries)
}

/// An honest client that opens 50 connections over TLS between rounds, each with a bundle of authorities of its own, uses
/// more than ten times the CPU time of the rounds there: it is ranked, and all of it is in its figure.
#[test]
fn work_between_rounds_is_in_the_cpu_time_of_a_request_and_rejects_no_row() {
    let found = |beside: Option<BesideRound>| {
        let still = Machine {
            noise: 0.0,
            drift: 0.0,
            ..Machine::default()
        };
        let mut rounds = still.rounds("mri", 133, &[(10, (624.21, 34.81))]);
        for round in &mut rounds {
            round.cell.load.tls = true;
            (round.cpu_user_ns, round.cpu_system_ns) = (70_000_000, 30_000_000);
            round.beside = beside;
        }
        let requests = rounds[0].count as f64;
        let found = judge(&rounds, &Delay::None).rows.remove(0);
        (found, requests)
    };
    let (within, requests) = found(None);
    assert_eq!(within.cpu_ms_per_request, Some(100.0 / requests));
    assert_eq!(within.cpu_outside_percentage, None);
    let (cpu_ns, asked) = (1_500_000_000, 100);
    let (all, requests) = found(Some(BesideRound {
        cpu_ns,
        requests: asked,
    }));
    assert_eq!(all.rejected, None);
    let expected = 1600.0 / (requests + 100.0);
    assert!((all.cpu_ms_per_request.unwrap() - expected).abs() < 1e-9);
    assert_eq!(all.cpu_outside_percentage, Some(93.8));
}

#[test]
fn an_unfinished_probe_is_rejected() {
    assert!(reason(|round| probe(round).distinct = 19).contains("1 of 20 requests of the probe"));
}

/// A client that opens connections where it should keep them does more work than planned, in its own time: it is ranked
/// with a figure and a sign. A short round with a few too many is chance.
#[test]
fn connections_opened_again_are_a_figure_with_a_sign() {
    let found = |opened: u64, change: fn(&mut Round)| {
        let mut rounds = Machine::default().rounds("mri", 133, &[(10, (624.21, 34.81))]);
        seen(&mut rounds[3]).connections_opened = opened;
        rounds.iter_mut().for_each(change);
        let row = judge(&rounds, &Delay::None).rows.remove(0);
        assert_eq!(row.rejected, None);
        row
    };
    let kept = found(60, |_| {});
    assert_eq!((kept.reopened, kept.warnings.len()), (None, 0));
    let row = found(7_000, |_| {});
    let says = row.reopened.unwrap();
    assert!(
        says.starts_with("connections are not kept alive: 7,000 were opened for 7,2"),
        "{says}"
    );
    assert!(
        says.ends_with("requests; that is in its time and CPU time"),
        "{says}"
    );
    assert_eq!(row.warnings, [says]);
    let share = row.opened_per_request.unwrap();
    assert!((0.95..1.0).contains(&share), "{share}");
    let secure = found(7_000, |round| round.cell.load.tls = true);
    assert!(
        secure
            .reopened
            .unwrap()
            .contains("each with a TLS handshake")
    );
    assert_eq!(
        found(7_000, |round| round.cell.load.keepalive = false).reopened,
        None
    );
}

/// The methodology has each rule, and says what follows from it.
#[test]
fn the_methodology_lists_every_rule_with_what_follows() {
    let text = include_str!("../../../../docs/methodology.md");
    let (_, table) = text.split_once("### All rules").unwrap();
    let lines = table.lines().filter(|line| line.starts_with("| `"));
    let listed = lines.map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        (cells[1].trim_matches('`'), cells[3])
    });
    let own = consequences().map(|(name, follows)| match follows {
        Follows::Rejected => (name, "rejected"),
        Follows::Warning => (name, "warning"),
    });
    assert_eq!(listed.collect::<Vec<_>>(), own.collect::<Vec<_>>());
}

/// Threads of a core take turns as its scheduler likes: a round is not long enough for all.
#[test]
fn uneven_turns_are_no_cheat() {
    let mut rounds = Machine::default().rounds("mri", 133, &[(10, (624.21, 34.81))]);
    seen(&mut rounds[3]).connections_used = 1;
    let rounds: Vec<_> = rounds.iter().collect();
    assert_eq!(rejection(&rounds, &ten_ms()), None);
}

fn with_latencies(change: impl Fn(u32) -> u32) -> Option<String> {
    let mut rounds = Machine::default().rounds("mri", 133, &[(10, (624.21, 34.81))]);
    for round in &mut rounds {
        let changed = |(us, count)| (change(us), count);
        let mut latencies = Times::new();
        let those = round.claim.latencies_us.iter().map(changed);
        those.for_each(|(us, count)| latencies.add(us, count));
        round.claim.latencies_us = latencies;
    }
    rejection(&rounds.iter().collect::<Vec<_>>(), &Delay::None)
}

#[test]
fn false_latencies_contradict_the_speed() {
    assert_eq!(with_latencies(|us| us), None);
    let double = with_latencies(|us| us * 2).expect("a reason");
    assert!(
        double.contains("Little's law")
            && double.contains("19.")
            && double.contains("concurrency 10"),
        "{double}"
    );
}

/// In a short round with long tails the last responses come alone; that is no lack of concurrency.
#[test]
fn the_end_of_a_round_is_not_held_against_the_client() {
    let mut rounds = Machine::default().rounds("mri", 133, &[(100, (1500.0, 50.0))]);
    for round in &mut rounds {
        round.claim.latencies_us = (0..300)
            .map(|n| if n % 10 == 0 { 250_000 } else { 6_000 })
            .collect();
        (round.count, round.claim.done, round.wall_ns) = (300, 300, 320_000_000);
        (seen(round).count, seen(round).distinct, round.claim.bytes) = (300, 300, 300 * 133);
        seen(round).body_bytes_out = 300 * 133;
    }
    assert_eq!(
        rejection(&rounds.iter().collect::<Vec<_>>(), &Delay::None),
        None
    );
}

/// A thread that waits for its turn to run claims that time too, while others use the connection that its response came
/// on.
#[test]
fn who_waits_in_the_client_is_ranked_with_a_warning() {
    let reported = |cycle_us: u32| {
        let mut rounds = Machine::default().rounds("mri", 133, &[(10, (1500.0, 50.0))]);
        for round in &mut rounds {
            round.lat_every = 1;
            round.claim.latencies_us = (0..round.count).map(|_| 6_100).collect();
            round.wall_ns = round.count * 600_000;
            let mut cycles = Times::new();
            cycles.add(cycle_us, round.count - 10);
            seen(round).cycles = cycles;
        }
        let rounds: Vec<&Round> = rounds.iter().collect();
        assert_eq!(rejection(&rounds, &Delay::None), None);
        warnings(&rounds).join("; ")
    };
    assert_eq!(reported(6_000), "");
    assert_eq!(reported(3_100), "");
    let warnings = reported(700);
    assert!(
        warnings.contains("ms or longer, but only 0 requests")
            && warnings.contains("wait in the client"),
        "{warnings}"
    );
}
