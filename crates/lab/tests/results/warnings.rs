//! Facts about a driver's processes that are offences, and warnings about rows that are ranked all the same.

use hecaton_lab::findings::{offence, warnings};
use hecaton_lab::run::{Isolation, LogEntries, Round, Seen};
use hecaton_test_server::{Delay, Interval};

use crate::synthetic::{Machine, rejection};

const MS: u64 = 1_000_000;

#[test]
fn each_fact_about_processes_is_an_offence_with_its_figures() {
    let happened = || "ended with status 1".to_owned();
    let cases: [(Seen, &str); 15] = [
        (
            Seen::OtherCores {
                cores: "0-1".into(),
                core: 0,
            },
            "may run on the cores 0-1, though all share core 0",
        ),
        (
            Seen::Priority { nice: -5 },
            "gave itself priority (nice -5)",
        ),
        (
            Seen::RealTime { policy: 1 },
            "took a policy of real time (policy 1)",
        ),
        (
            Seen::Migrated { times: 2, core: 0 },
            "went to another core 2 times during the round",
        ),
        (
            Seen::Flooded {
                written_mib: 20,
                kept_mib: 16,
            },
            "20 MiB until now, of which 16 are kept",
        ),
        (Seen::IgnoresChildren, "ignores the ends of its children"),
        (apart(true, 50 * MS), "used 50 ms of CPU time in the round"),
        (apart(false, 0), "is in no account once a process has ended"),
        (
            Seen::Awake { cpu_ns: 30 * MS },
            "used 30 ms of CPU time while it was stopped",
        ),
        (
            Seen::Outlived { processes: 2 },
            "2 processes of the driver outlived its end",
        ),
        (
            Seen::Early { ns: MS },
            "its first request came 1.00 ms before `go`",
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

fn apart(held: bool, cpu_ns: u64) -> Seen {
    Seen::Apart {
        processes: 1,
        cpu_ns,
        held,
    }
}

fn untrusted(of_another_host: bool) -> Seen {
    Seen::Untrusted {
        responded: 3,
        count: 8,
        of_another_host,
    }
}

/// A driver is stopped a moment after the command, and a process that left its tree may have done next to nothing.
#[test]
fn a_little_work_is_no_offence() {
    assert_eq!(offence(&Seen::Awake { cpu_ns: 19 * MS }), None);
    let reported = |cpu_ns: u64| {
        let mut rounds = rounds();
        let own = &mut rounds[3];
        (own.cpu_user_ns, own.cpu_system_ns) = (200 * MS, 100 * MS);
        own.facts.push(apart(true, cpu_ns).into());
        rejection(&rounds.iter().collect::<Vec<_>>(), &Delay::None)
    };
    assert_eq!(reported(29 * MS), None);
    assert!(reported(31 * MS).is_some());
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
        "has few in flight at checks",
        |r| seen(r).checks = vec![8, 8],
        "8.00 of 10 requests were in flight on average at 2 moments",
    ),
    (
        "has more connections than requests",
        |r| seen(r).connections_used = 12,
        "up to 12 connections for 10 requests at once",
    ),
    (
        "opens connections again",
        |r| seen(r).connections_opened = 30,
        "up to 30 connections were opened anew",
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
            seen(r).peak_ahead = 29;
        },
        "disturbed by others: 29 connections were open at once",
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
