//! The table of fates: every end of an attempt, for every purpose.

use Then::{Again, Apart, Fewer, Later, Now, Once, OtherProxy, Reconnect, Record};

use super::*;

const STATUSES: [u16; 4] = [404, 429, 502, 503];

const PAUSE: Option<Duration> = Some(Duration::from_secs(7));

const WELL: Option<HostSign> = Some(HostSign::Well);
const BADLY: Option<HostSign> = Some(HostSign::Badly);
const REFUSED: Option<HostSign> = Some(HostSign::Refused);
const OVERRUN: Option<HostSign> = Some(HostSign::Overrun(PAUSE));
const UNAVAILABLE: Option<HostSign> = Some(HostSign::Unavailable(PAUSE));
const UNKNOWN: Option<HostSign> = None;

/// A status, how it counts for its host, and what becomes of an input (also of a further page, and of where a redirect
/// led) and of a side request (a robots.txt, a sitemap, a list).
///
/// The statuses that are tried again are 404, 429, 502 and 503.
const OF_STATUSES: [(u16, Option<HostSign>, [Then; 2]); 26] = [
    (200, WELL, [Record, Record]),
    (204, WELL, [Record, Record]),
    (206, WELL, [Record, Record]),
    (301, WELL, [Record, Record]),
    (304, WELL, [Record, Record]),
    (400, WELL, [Record, Record]),
    (401, WELL, [Record, Record]),
    (403, WELL, [Record, Record]),
    (404, WELL, [Again, Record]),
    (408, WELL, [Record, Record]),
    (410, WELL, [Record, Record]),
    (416, WELL, [Record, Record]),
    (429, OVERRUN, [Later, Later]),
    (499, WELL, [Record, Record]),
    (500, WELL, [Record, Again]),
    (501, WELL, [Record, Again]),
    (502, BADLY, [Again, Again]),
    (503, UNAVAILABLE, [Later, Later]),
    (504, BADLY, [Record, Again]),
    (505, WELL, [Record, Again]),
    (519, WELL, [Record, Again]),
    (520, BADLY, [Record, Again]),
    (527, BADLY, [Record, Again]),
    (528, WELL, [Record, Again]),
    (599, WELL, [Record, Again]),
    (600, WELL, [Record, Record]),
];

const KINDS: [Kind; 8] = [
    Kind::Timeout,
    Kind::Resolve,
    Kind::Connect,
    Kind::Tls,
    Kind::Protocol,
    Kind::Body,
    Kind::Redirect,
    Kind::Cancelled,
];

/// What follows a failure that may pass, and one that every try would repeat, by kind, for all purposes. Some phases
/// differ, as `expected` says.
fn of_kind(kind: Kind) -> [(Option<HostSign>, Then); 2] {
    match kind {
        Kind::Timeout | Kind::Resolve => [(BADLY, Again), (BADLY, Record)],
        Kind::Connect | Kind::Protocol => [(REFUSED, Apart), (BADLY, Record)],
        Kind::Body => [(BADLY, Again), (WELL, Record)],
        Kind::Tls => [(BADLY, Record), (BADLY, Record)],
        Kind::Redirect => [(WELL, Record), (WELL, Record)],
        Kind::Cancelled => [(UNKNOWN, Record), (UNKNOWN, Record)],
    }
}

fn failures() -> impl Iterator<Item = Failure> {
    let flags = || [false, true].into_iter();
    KINDS.into_iter().flat_map(move |kind| {
        Phase::ALL.into_iter().flat_map(move |phase| {
            flags().flat_map(move |is_passing| {
                flags().map(move |is_reused| Failure {
                    kind,
                    phase,
                    is_passing,
                    is_reused,
                })
            })
        })
    })
}

fn expected(failure: Failure) -> (Option<HostSign>, Then) {
    let Failure {
        kind,
        phase,
        is_passing,
        is_reused,
    } = failure;
    let is_stale = is_reused && [Phase::Send, Phase::FirstByte].contains(&phase);
    if phase == Phase::Queue {
        return (UNKNOWN, Record);
    }
    if kind == Kind::Protocol && is_passing && is_stale {
        return (UNKNOWN, Reconnect);
    }
    if kind == Kind::Timeout && phase == Phase::Connect && is_passing {
        return (REFUSED, Apart);
    }
    of_kind(kind)[usize::from(!is_passing)]
}

/// Every end with what follows it, for an input and for a side request.
fn table() -> Vec<(AttemptEnd, Option<HostSign>, [Then; 2])> {
    let statuses = OF_STATUSES.into_iter();
    let statuses =
        statuses.map(|(status, host, then)| (AttemptEnd::Status(status, PAUSE), host, then));
    let failures = failures().map(|failure| {
        let (host, then) = expected(failure);
        (AttemptEnd::Failed(failure), host, [then; 2])
    });
    let others = [
        (AttemptEnd::Crowded, WELL, [Fewer; 2]),
        (AttemptEnd::TooLarge, WELL, [Record; 2]),
        (AttemptEnd::Differs, WELL, [Once; 2]),
        (AttemptEnd::NotModified, WELL, [Again; 2]),
        (AttemptEnd::TooSlow, BADLY, [Again; 2]),
        (AttemptEnd::Continued, WELL, [Now; 2]),
        (AttemptEnd::LostByProxy, UNKNOWN, [OtherProxy; 2]),
    ];
    statuses.chain(failures).chain(others).collect()
}

#[test]
fn every_end_has_its_fate() {
    let table = table();
    assert!(table.len() > 250);
    for (end, host, thens) in table {
        for (purpose, then) in [Purpose::Input, Purpose::Side].into_iter().zip(thens) {
            let found = fate(end, purpose, true, &STATUSES);
            assert_eq!(found, Fate { host, then }, "{end:?} {purpose:?}");
            // What must not be repeated is sent again only if its host never had it. It never ends in `Continued`.
            let once = fate(end, purpose, false, &STATUSES);
            let then = match then {
                Now | OtherProxy => then,
                _ => Record,
            };
            assert_eq!(once, Fate { host, then }, "{end:?} {purpose:?}, once");
        }
    }
}

#[test]
fn the_usual_statuses_are_those_that_say_that_a_host_has_no_answer() {
    let usual = crate::job::Pace::default().retry_statuses;
    for status in 100..=999 {
        let found = fate(
            AttemptEnd::Status(status, None),
            Purpose::Input,
            true,
            &usual,
        );
        assert_eq!(found.then == Record, found.host == WELL, "{status}");
    }
}

#[test]
fn what_is_left_decides_whether_a_request_is_sent_again() {
    let all = Budget {
        is_down: false,
        has_tries: true,
        has_time: true,
        has_host: false,
        is_crowded: true,
        has_reconnected: false,
        has_differed: false,
    };
    let down = Budget {
        is_down: true,
        ..all
    };
    let tried = Budget {
        has_tries: false,
        ..all
    };
    let late = Budget {
        has_time: false,
        ..all
    };
    let alone = Budget {
        has_host: true,
        ..all
    };
    let spent = Budget {
        has_tries: false,
        ..alone
    };
    let single = Budget {
        is_crowded: false,
        ..all
    };
    let reconnected = Budget {
        has_reconnected: true,
        ..all
    };
    let both = Budget {
        has_tries: false,
        ..reconnected
    };
    let differed = Budget {
        has_differed: true,
        ..all
    };
    for then in [
        Record, Again, Once, Apart, Later, Now, Reconnect, Fewer, OtherProxy,
    ] {
        assert_eq!(then.within(all), then);
    }
    for (then, left, expected) in [
        (Again, down, Then::Wait),
        (Later, down, Then::Wait),
        (
            Again,
            Budget {
                has_tries: false,
                ..down
            },
            Then::Wait,
        ),
        (
            Later,
            Budget {
                has_time: false,
                ..down
            },
            Then::Wait,
        ),
        (Again, tried, Record),
        (Again, late, Again),
        (Once, down, Then::Wait),
        (Once, tried, Record),
        (Once, differed, Record),
        (Again, differed, Again),
        (Later, tried, Later),
        (Later, late, Record),
        (Later, alone, Again),
        (Later, spent, Record),
        (
            Later,
            Budget {
                has_time: false,
                ..alone
            },
            Record,
        ),
        (
            Later,
            Budget {
                is_down: true,
                ..alone
            },
            Then::Wait,
        ),
        (Again, alone, Again),
        (Apart, down, Then::Wait),
        (Apart, tried, Apart),
        (Apart, single, Again),
        (
            Apart,
            Budget {
                has_tries: false,
                ..single
            },
            Record,
        ),
        (Reconnect, tried, Reconnect),
        (Reconnect, reconnected, Apart),
        (Reconnect, both, Apart),
        (
            Reconnect,
            Budget {
                is_crowded: false,
                ..both
            },
            Record,
        ),
        (Now, both, Now),
        (Record, down, Record),
    ] {
        assert_eq!(then.within(left), expected, "{then:?} {left:?}");
    }
}

#[test]
fn what_decides_about_many_is_tried_as_long_as_they_would_wait() {
    for (then, has_time, expected) in [
        (Record, true, Later),
        (Record, false, Record),
        (Then::Wait, true, Then::Wait),
        (Then::Wait, false, Record),
        (Again, true, Again),
    ] {
        let left = Budget {
            is_down: false,
            has_tries: false,
            has_time,
            has_host: false,
            is_crowded: false,
            has_reconnected: false,
            has_differed: false,
        };
        assert_eq!(then.of_many(left), expected, "{then:?} {has_time}");
    }
}

#[test]
fn a_pause_is_seconds_or_a_date() {
    let now = httpdate::parse_http_date("Fri, 01 Jan 2027 00:00:00 GMT").unwrap();
    for (value, seconds) in [
        (&b"7"[..], Some(7)),
        (b" 0 ", Some(0)),
        (b"99999999999999999999999", Some(u64::MAX)),
        (b"Fri, 01 Jan 2027 00:00:09 GMT", Some(9)),
        (b"Thu, 31 Dec 2026 23:59:59 GMT", Some(0)),
        (b"soon", None),
        (b"-1", None),
        (b"\xff", None),
        (b"", None),
    ] {
        let end = AttemptEnd::of_status(503, Some(value), || now);
        assert_eq!(
            end,
            AttemptEnd::Status(503, seconds.map(Duration::from_secs))
        );
    }
}

#[test]
fn a_pause_without_a_length_grows_from_a_second_to_a_minute() {
    for status in [429, 503] {
        let of = |requested| {
            fate(
                AttemptEnd::Status(status, requested),
                Purpose::Side,
                true,
                &[],
            )
        };
        let pauses = [0, 1, 2, 5, 6, 100].map(|before| of(None).pause(before).unwrap().as_secs());
        assert_eq!(pauses, [1, 2, 4, 32, 60, 60]);
        let seven = Duration::from_secs(7);
        assert_eq!(of(Some(seven)).pause(3), Some(seven));
    }
    let down = fate(AttemptEnd::Status(502, None), Purpose::Side, true, &[]);
    assert_eq!(down.pause(3), None);
}
