//! Facts about a driver's processes that are offences, and warnings about rows that are ranked all the same.

use hecaton_lab::findings::{offence, warnings};
use hecaton_lab::run::{Fact, Isolation, LogEntries, Round, Seen};
use hecaton_test_server::{Delay, Interval};

use crate::synthetic::{Machine, rejection};

const MS: u64 = 1_000_000;

#[test]
fn each_fact_about_processes_is_an_offence_with_its_figures() {
    let happened = || "ended with status 1".to_owned();
    let cases: [(Seen, &str); 7] = [
        (
            Seen::OtherCores {
                cores: "0-1".into(),
                core: 0,
            },
            "may run on the cores 0-1, though all share core 0",
        ),
        (
            Seen::MoreThanOneCore {
                cpu_ns: 300 * MS,
                within_ns: 200 * MS,
            },
            "used 300 ms of CPU time within 200 ms, though all share one core",
        ),
        (
            Seen::Early { ns: MS },
            "its first request arrived 1.00 ms before `go`",
        ),
        (
            untrusted(false),
            "3 of 8 requests went to a server that it must not trust",
        ),
        (untrusted(true), "its certificate is for another host"),
        (
            Seen::Ended {
                happened: happened(),
            },
            "its driver ended with status 1",
        ),
        (
            Seen::Broke {
                happened: happened(),
            },
            "was left out of the rest: it ended with status 1",
        ),
    ];
    for (seen, words) in cases {
        let says = offence(&seen).unwrap_or_default();
        assert!(says.contains(words), "{seen:?}: {says}");
        let mut rounds = rounds();
        rounds[3].facts.push(seen.into());
        let rounds: Vec<&Round> = rounds.iter().collect();
        let says = rejection(&rounds, &Delay::None).expect("a reason");
        assert!(says.contains(words), "{says}");
    }
}

fn untrusted(of_another_host: bool) -> Seen {
    Seen::Untrusted {
        responded: 3,
        count: 8,
        of_another_host,
    }
}

/// Older documents have facts that no rule looks at any more.
#[test]
fn a_fact_of_an_older_document_is_no_offence() {
    for text in [
        r#"{"fact":"awake","cpu_ns":30000000}"#,
        r#"{"fact":"apart","processes":2,"cpu_ns":5,"held":true}"#,
        r#"{"fact":"ignores_children"}"#,
    ] {
        let fact: Fact = serde_json::from_str(text).unwrap();
        assert_eq!(fact, Fact::Seen(Seen::Other), "{text}");
        let mut rounds = rounds();
        rounds[3].facts.push(fact);
        let rounds: Vec<&Round> = rounds.iter().collect();
        assert_eq!(rejection(&rounds, &Delay::None), None);
    }
}

/// A clock with steps of a millisecond shows no shorter latencies, and such a row is ranked by what the lab measures.
#[test]
fn a_coarse_clock_is_mentioned_and_refutes_no_row() {
    let reported = |latencies: fn(u32) -> u32| {
        let mut rounds = rounds();
        for round in &mut rounds {
            round.lat_every = 1;
            round.claim.latencies_us = (0..round.count as u32).map(latencies).collect();
            seen(round).held.add(1_700, 40);
        }
        let all: Vec<&Round> = rounds.iter().collect();
        (rejection(&all, &Delay::None), warnings(&all).join("; "))
    };
    let (rejected, says) = reported(|n| (n % 10 / 9) * 1000);
    assert_eq!(rejected, None);
    assert!(says.contains("has steps of 1 ms or more"), "{says}");
    let (rejected, says) = reported(|n| 300 + n % 7);
    assert!(rejected.unwrap().contains("contradict the server's times"));
    assert!(!says.contains("steps"), "{says}");
}

/// Twelve honest rounds with ten requests in flight.
fn rounds() -> Vec<Round> {
    Machine::default().rounds("mri", 133, &[(10, (624.21, 34.81))])
}

fn seen(round: &mut Round) -> &mut Interval {
    round.seen.as_mut().unwrap()
}

/// What is to be warned of, its effect on a round, and words of the warning.
type Case = (&'static str, fn(&mut Round), &'static str);

const CASES: [Case; 14] = [
    (
        "runs as the lab's user",
        |r| r.trusted = true,
        "unverified: its driver ran as the lab's own user",
    ),
    (
        "has few in flight",
        |r| r.wall_ns *= 20,
        "of 10 requests were in flight on average",
    ),
    (
        "has more connections than requests",
        |r| seen(r).connections_used = 21,
        "up to 21 connections for 10 requests at once",
    ),
    (
        "opens connections again",
        |r| seen(r).connections_opened = 7_000,
        "connections are not kept alive: 7,000 were opened",
    ),
    (
        "gets failures of a service",
        |r| {
            (r.seen, r.probe) = (None, None);
            (r.claim.done, r.claim.errors) = (r.claim.done - 5, 5);
        },
        "requests failed; in the worst round 5 of",
    ),
    (
        "sends to a service again",
        |r| r.logged = logged(r, 1, 0),
        "reached the service more than once",
    ),
    (
        "is logged late",
        |r| r.logged = logged(r, 0, 2),
        "2 lines of the access log came when their round was over",
    ),
    (
        "sends late",
        |r| seen(r).behind.add(9_000, 600),
        "reached the server later than they were due",
    ),
    (
        "resumes sessions",
        |r| (seen(r).tls_handshakes, seen(r).tls_resumed) = (10, 4),
        "4 of 10 TLS handshakes resumed a session",
    ),
    (
        "reads no interim response",
        |r| r.no_interim = true,
        "it does not read interim responses (103)",
    ),
    (
        "closes later",
        |r| r.left_open = Some(500),
        "connections were still open when the round ended",
    ),
    (
        "is disturbed",
        |r| seen(r).stray = 1,
        "1 of 12 rounds disturbed by others",
    ),
    (
        "shares its user with whoever opens connections",
        |r| {
            r.isolation = Some(Isolation {
                own_user: false,
                one_core: false,
            });
            r.cell.load.keepalive = false;
            seen(r).peak_ahead = 29;
        },
        "disturbed by others: 29 connections were open at once",
    ),
    (
        "writes much error output",
        |r| {
            r.facts.push(Fact::Seen(Seen::Flooded {
                written_mib: 20,
                kept_mib: 8,
            }))
        },
        "its driver wrote 20 MiB of error output; 8 MiB are kept",
    ),
];

fn logged(round: &Round, again: u64, late: u64) -> Option<LogEntries> {
    Some(LogEntries {
        lines: round.count + again,
        distinct: round.count,
        late,
        ..LogEntries::default()
    })
}

#[test]
fn each_warning_is_about_its_row_and_honest_rounds_have_none() {
    let honest = rounds();
    let none = warnings(&honest.iter().collect::<Vec<_>>());
    assert!(none.is_empty(), "{none:?}");
    for (why, spoil, words) in CASES {
        let mut rounds = rounds();
        spoil(&mut rounds[3]);
        let rounds: Vec<&Round> = rounds.iter().collect();
        assert_eq!(rejection(&rounds, &Delay::None), None, "{why}");
        let says = warnings(&rounds).join("; ");
        assert!(says.contains(words), "{why}: {says}");
    }
}

/// A latency is nearly as long as the time from one request to the next on its connection.
#[test]
fn a_pause_between_requests_is_mentioned() {
    let reported = |cycle_us: u32| {
        let mut rounds = rounds();
        for round in &mut rounds {
            round.lat_every = 1;
            round.claim.latencies_us = (0..round.count).map(|_| 16_000).collect();
            let cycles = round.count - 10;
            seen(round).cycles.add(cycle_us, cycles);
        }
        let rounds: Vec<&Round> = rounds.iter().collect();
        assert_eq!(rejection(&rounds, &Delay::None), None);
        warnings(&rounds).join("; ")
    };
    assert_eq!(reported(30_000), "");
    let says = reported(40_000);
    assert!(
        says.contains("it pauses between them, or claims too little"),
        "{says}"
    );
}
