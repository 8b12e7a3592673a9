use super::*;

const FREELY: Limits = Limits {
    local: 2,
    foreign: 1,
    local_interval: Duration::ZERO,
    foreign_interval: Duration::ZERO,
    breaker: 3,
    cooldown: Duration::from_secs(10),
    probes: Some(2),
    adapts: false,
    shards: 1,
    turn: 0.0,
    wait_out: Duration::from_secs(3600),
    retry_budget: 0.5,
    max_retry_after: Duration::from_secs(100),
};

/// The request that opens the gate of its host.
const OPENER: u32 = u32::MAX;

impl Waiting for u32 {
    fn opens_gate(&self) -> bool {
        *self == OPENER
    }
}

fn filled(limits: Limits, count: u32) -> Hosts<u32> {
    let mut hosts = Hosts::new(limits, None);
    let (number, _) = hosts.number("a", false);
    (0..count).for_each(|item| hosts.push(number, item));
    hosts
}

/// Starts all that may start.
fn starts(hosts: &mut Hosts<u32>, now: Instant) -> Vec<u32> {
    let mut started = Vec::new();
    while let Next::Start(_, item) = hosts.next(now) {
        started.push(item);
    }
    started
}

/// A request that began and ended now.
fn at(now: Instant) -> Span {
    Span {
        begun: now,
        ended: now,
    }
}

/// Of a request that began and ended now.
fn end(hosts: &mut Hosts<u32>, ended: HostSign, now: Instant) -> Option<Change> {
    end_of(hosts, ended, (now, now))
}

fn end_of(
    hosts: &mut Hosts<u32>,
    ended: HostSign,
    (begun, now): (Instant, Instant),
) -> Option<Change> {
    let span = Span { begun, ended: now };
    hosts.ended(0, ended, span, Duration::ZERO)
}

/// How a host of others is limited unless the job says otherwise.
const RATED: Limits = Limits {
    local_interval: Duration::from_millis(100),
    ..FREELY
};

/// Each limit without a rate and with one.
fn with_and_without_a_rate(limits: Limits) -> [Limits; 2] {
    let local_interval = RATED.local_interval;
    [
        limits,
        Limits {
            local_interval,
            ..limits
        },
    ]
}

#[test]
fn each_host_has_its_own_limit_and_they_take_turns() {
    let now = Instant::now();
    let mut hosts = filled(FREELY, 5);
    let (other, _) = hosts.number("b", true);
    (10..15).for_each(|item| hosts.push(other, item));
    assert_eq!(starts(&mut hosts, now), [0, 10, 1]);
    end(&mut hosts, HostSign::Well, now);
    assert_eq!(starts(&mut hosts, now), [2]);
}

#[test]
fn the_shards_of_a_host_take_turns() {
    let now = Instant::now();
    let mut times = Vec::new();
    for index in 0..4 {
        let limits = Limits {
            local: 100,
            local_interval: Duration::from_millis(400),
            turn: f64::from(index) / 4.0,
            ..FREELY
        };
        let mut hosts = filled(limits, 3);
        for ms in 0..1000 {
            let at = now + Duration::from_millis(ms);
            times.extend(starts(&mut hosts, at).iter().map(|_| ms));
        }
    }
    times.sort_unstable();
    assert_eq!(times, [0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
}

#[test]
fn a_probe_waits_as_long_as_retry_after_says() {
    let now = Instant::now();
    let limits = Limits {
        local: 1,
        breaker: 1,
        cooldown: Duration::from_secs(1),
        ..FREELY
    };
    for limits in with_and_without_a_rate(limits) {
        let mut hosts = filled(limits, 5);
        starts(&mut hosts, now);
        let thirty = Duration::from_secs(30);
        let change = end(&mut hosts, HostSign::Unavailable(Some(thirty)), now);
        assert_eq!(change, Some(Change::Rests(1, thirty)));
        assert!(starts(&mut hosts, now + Duration::from_secs(29)).is_empty());
        assert_eq!(starts(&mut hosts, now + thirty).len(), 1);
    }
}

#[test]
fn a_rate_spaces_starts_and_saves_nothing_up() {
    let mut now = Instant::now();
    let limits = Limits {
        local: 100,
        local_interval: Duration::from_millis(100),
        ..FREELY
    };
    let mut hosts = filled(limits, 100);
    let mut started = 0;
    for _ in 0..1000 {
        started += starts(&mut hosts, now).len();
        now += Duration::from_millis(1);
    }
    assert_eq!(started, 10);
    now += Duration::from_secs(5);
    assert_eq!(starts(&mut hosts, now).len(), 1);
}

#[test]
fn a_pause_holds_for_the_host_alone() {
    let now = Instant::now();
    let after = |seconds| now + Duration::from_secs(seconds);
    for limits in with_and_without_a_rate(FREELY) {
        for overrun in [HostSign::Overrun, HostSign::Unavailable] {
            let mut hosts = filled(limits, 5);
            let (other, _) = hosts.number("b", false);
            hosts.push(other, 10);
            let started = starts(&mut hosts, now);
            assert!(started.contains(&0) && started.contains(&10));
            let change = end(&mut hosts, overrun(Some(Duration::from_secs(7))), now);
            let seven = Duration::from_secs(7);
            assert_eq!(change, Some(Change::Paused(seven, Some(seven))));
            hosts.push(other, 11);
            assert_eq!(starts(&mut hosts, after(1)), [11]);
            assert_eq!(starts(&mut hosts, after(6)), [0; 0]);
            assert_eq!(starts(&mut hosts, after(7)).len(), 1);
        }
    }
}

#[test]
fn the_pause_that_a_host_sets_has_a_limit() {
    let now = Instant::now();
    for limits in with_and_without_a_rate(FREELY) {
        let mut hosts = filled(limits, 5);
        starts(&mut hosts, now);
        let long = Duration::from_secs(1_000_000);
        end(&mut hosts, HostSign::Overrun(Some(long)), now);
        assert_eq!(starts(&mut hosts, now + Duration::from_secs(99)), [0; 0]);
        assert_eq!(starts(&mut hosts, now + Duration::from_secs(100)).len(), 1);
    }
}

#[test]
fn a_run_of_failures_opens_the_breaker_one_tries_again_and_then_the_host_is_given_up() {
    let seconds = Duration::from_secs;
    for limits in with_and_without_a_rate(FREELY) {
        let mut now = Instant::now();
        let mut hosts = filled(limits, 10);
        let mut changes = Vec::new();
        let slot = Duration::from_millis(100);
        let begun = now;
        starts(&mut hosts, now);
        now += slot;
        starts(&mut hosts, now);
        for _ in 0..3 {
            changes.extend(end_of(&mut hosts, HostSign::Badly, (begun, now)));
            now += slot;
            starts(&mut hosts, now);
        }
        assert_eq!(changes, [Change::Rests(3, seconds(10))]);
        // The one that was still on its way changes nothing, however late it ends.
        let late = now + seconds(9);
        assert_eq!(end_of(&mut hosts, HostSign::Badly, (begun, late)), None);
        assert_eq!(starts(&mut hosts, now), [0; 0]);
        now += seconds(10);
        assert_eq!(starts(&mut hosts, now), [7], "one alone");
        // It fails at once, before its rate would allow another.
        let change = end(&mut hosts, HostSign::Badly, now);
        assert_eq!(change, Some(Change::Rests(5, seconds(20))));
        assert_eq!(starts(&mut hosts, now + seconds(19)), [0; 0]);
        now += seconds(20);
        assert_eq!(starts(&mut hosts, now), [6]);
        let gone = end(&mut hosts, HostSign::Badly, now);
        assert!(matches!(gone, Some(Change::GivenUp(after)) if after >= seconds(30)));
        let mut skipped = Vec::new();
        while let Next::Skip(_, item) = hosts.next(now) {
            skipped.push(item);
        }
        assert_eq!(skipped, [5, 4, 8, 9]);
        hosts.push(0, 99);
        assert!(matches!(hosts.next(now), Next::Skip(0, 99)));
    }
}

#[test]
fn a_host_that_is_down_is_tried_until_its_time_is_over() {
    let limits = Limits {
        probes: None,
        wait_out: Duration::from_secs(1000),
        ..FREELY
    };
    for limits in with_and_without_a_rate(limits) {
        let (mut now, mut opened) = (Instant::now(), None);
        let mut hosts = filled(limits, 100);
        let mut rests = Vec::new();
        let gone = loop {
            starts(&mut hosts, now);
            match end(&mut hosts, HostSign::Badly, now) {
                Some(Change::Rests(_, rest)) => {
                    assert!(hosts.is_down(0));
                    opened.get_or_insert(now);
                    rests.push(rest.as_secs());
                    now += rest;
                }
                Some(Change::GivenUp(after)) => break after,
                _ => now += Duration::from_millis(100),
            }
        };
        assert_eq!(rests, [10, 20, 40, 80, 160, 300, 300, 90]);
        assert_eq!(
            (gone, now - opened.unwrap()),
            (limits.wait_out, limits.wait_out)
        );
        assert!(!hosts.is_down(0));
        assert!(matches!(hosts.next(now), Next::Skip(..)));
    }
}

#[test]
fn a_host_that_is_only_overrun_is_paused_until_its_time_is_over_and_never_rests() {
    let limits = Limits {
        wait_out: Duration::from_secs(15),
        ..FREELY
    };
    let two = Duration::from_secs(2);
    for limits in with_and_without_a_rate(limits) {
        let (begun, mut sent) = (Instant::now(), 0);
        let mut hosts = filled(limits, 100);
        let mut now = begun;
        let gone = loop {
            let started = starts(&mut hosts, now).len();
            let ends =
                (0..started).filter_map(|_| end(&mut hosts, HostSign::Overrun(Some(two)), now));
            let changes: Vec<Change> = ends.collect();
            sent += started;
            let is_rest = |change: &Change| matches!(change, Change::Rests(..));
            assert!(!changes.iter().any(is_rest), "{changes:?}");
            match changes.first() {
                Some(Change::GivenUp(after)) => break *after,
                _ => now += Duration::from_millis(100),
            }
        };
        assert!(gone >= limits.wait_out && now - begun < limits.wait_out + 2 * two);
        assert!((3..20).contains(&sent), "{sent}");
    }
}

#[test]
fn a_host_that_was_overrun_is_slowed_until_its_former_rate_is_reached() {
    let limits = Limits {
        local: 100,
        ..FREELY
    };
    let second = Duration::from_secs(1);
    for limits in with_and_without_a_rate(limits) {
        let mut now = Instant::now();
        let mut hosts = filled(limits, 10_000);
        // As many as its limits allow in a second.
        let (begun, mut first) = (now, 0);
        for _ in 0..10 {
            first += starts(&mut hosts, now).len();
            now += second / 10;
        }
        for _ in 0..first {
            end_of(&mut hosts, HostSign::Overrun(Some(second)), (begun, now));
        }
        let a_second = |hosts: &mut Hosts<u32>, now: &mut Instant| {
            let mut count = 0;
            for _ in 0..100 {
                *now += second / 100;
                let started = starts(hosts, *now).len();
                for _ in 0..started {
                    end(hosts, HostSign::Well, *now);
                }
                count += started;
            }
            count
        };
        assert_eq!(a_second(&mut hosts, &mut now).min(1), 1, "the pause ends");
        let next = a_second(&mut hosts, &mut now);
        assert!(
            (first / 4..first).contains(&next),
            "{first} and then {next}"
        );
        assert!((0..2 * first).any(|_| a_second(&mut hosts, &mut now) >= first));
    }
}

#[test]
fn a_host_whose_first_request_was_one_too_many_gets_one_more_a_second_in_each_second() {
    let second = Duration::from_secs(1);
    let most = Limits {
        local: 100,
        local_interval: second / 20,
        ..FREELY
    };
    for limits in [
        Limits {
            local: 100,
            ..FREELY
        },
        most,
    ] {
        let mut now = Instant::now();
        let mut hosts = filled(limits, 1000);
        let Next::Start(..) = hosts.next(now) else {
            panic!("the first request starts");
        };
        end(&mut hosts, HostSign::Overrun(Some(second)), now);
        let mut counts = vec![1];
        for _ in 0..40 {
            let mut count = 0;
            for _ in 0..100 {
                now += second / 100;
                for _ in starts(&mut hosts, now) {
                    end(&mut hosts, HostSign::Well, now);
                    count += 1_usize;
                }
            }
            counts.push(count);
        }
        // At half a request a second in the beginning, and one more in each second.
        let is_steady = |(second, count): (usize, &usize)| *count <= second + 1;
        assert!(counts.iter().enumerate().all(is_steady), "{counts:?}");
        let grows = counts.iter().any(|count| *count >= 20);
        assert!(grows, "{counts:?}");
        assert_eq!(
            counts.iter().any(|count| *count > 21),
            limits.local_interval.is_zero()
        );
    }
}

#[test]
fn a_host_whose_pages_come_one_after_another_gets_faster_again() {
    for limits in with_and_without_a_rate(FREELY) {
        let mut now = Instant::now();
        let mut hosts = filled(limits, 1);
        assert_eq!(starts(&mut hosts, now), [0]);
        end(&mut hosts, HostSign::Overrun(None), now);
        hosts.push(0, 0);
        let a_second = |hosts: &mut Hosts<u32>, now: &mut Instant| {
            let mut count = 0;
            for _ in 0..100 {
                *now += Duration::from_millis(10);
                // The next page is known when this one has come.
                for page in starts(hosts, *now) {
                    end(hosts, HostSign::Well, *now);
                    hosts.push(0, page + 1);
                    count += 1;
                }
            }
            count
        };
        let counts: Vec<u32> = (0..40).map(|_| a_second(&mut hosts, &mut now)).collect();
        assert!(counts[0] <= 1, "{counts:?}");
        assert!(counts.iter().any(|count| *count >= 10), "{counts:?}");
    }
}

#[test]
fn behind_a_gate_nothing_starts_while_what_opens_it_waits_for_another_try() {
    for limits in with_and_without_a_rate(FREELY) {
        let now = Instant::now();
        let mut hosts = filled(limits, 5);
        hosts.close_gate(0, Gate::Fetching);
        hosts.push(0, OPENER);
        assert_eq!(starts(&mut hosts, now), [OPENER]);
        let later = now + Duration::from_secs(3);
        hosts.later(0, OPENER, later);
        end(&mut hosts, HostSign::Well, now);
        assert_eq!(starts(&mut hosts, now + Duration::from_secs(2)), [0; 0]);
        assert_eq!(starts(&mut hosts, later), [OPENER]);
    }
}

#[test]
fn what_opens_a_gate_starts_first_wherever_it_and_the_others_are_queued() {
    let now = Instant::now();
    type Queueing = fn(&mut Hosts<u32>, u32, Instant);
    let ways: [Queueing; 4] = [
        |hosts, item, _| hosts.push(0, item),
        |hosts, item, _| hosts.push_front(0, item),
        |hosts, item, _| hosts.put_back(0, item),
        |hosts, item, now| hosts.later(0, item, now),
    ];
    for of_opener in ways {
        for of_other in ways {
            let mut hosts = filled(FREELY, 2);
            hosts.close_gate(0, Gate::Fetching);
            of_opener(&mut hosts, OPENER, now);
            of_other(&mut hosts, 7, now);
            assert_eq!(starts(&mut hosts, now), [OPENER]);
            end(&mut hosts, HostSign::Well, now);
            assert_eq!(starts(&mut hosts, now), [0; 0]);
        }
    }
}

#[test]
fn a_host_that_came_back_has_all_of_its_time_again() {
    let limits = Limits {
        probes: None,
        wait_out: Duration::from_secs(15),
        ..FREELY
    };
    for limits in with_and_without_a_rate(limits) {
        let mut now = Instant::now();
        let mut hosts = filled(limits, 100);
        for _ in 0..5 {
            for _ in 0..3 {
                now += Duration::from_millis(100);
                starts(&mut hosts, now);
                end(&mut hosts, HostSign::Badly, now);
            }
            assert!(hosts.is_down(0));
            now += Duration::from_secs(14);
            starts(&mut hosts, now);
            end(&mut hosts, HostSign::Well, now);
            assert!(!hosts.is_down(0));
        }
    }
}

#[test]
fn a_host_that_responds_again_gets_its_limit_back() {
    for limits in with_and_without_a_rate(FREELY) {
        let mut now = Instant::now();
        let slot = Duration::from_millis(100);
        let mut hosts = filled(limits, 10);
        for _ in 0..3 {
            now += slot;
            starts(&mut hosts, now);
            end(&mut hosts, HostSign::Badly, now);
        }
        assert!(hosts.is_down(0));
        now += Duration::from_secs(10);
        starts(&mut hosts, now);
        while hosts.hosts[0].in_flight > 0 {
            end(&mut hosts, HostSign::Well, now);
        }
        let started = [now + slot, now + 2 * slot].map(|now| starts(&mut hosts, now).len());
        assert_eq!(started.iter().sum::<usize>(), 2);
    }
}

#[test]
fn tries_again_have_a_budget_and_their_time() {
    for limits in with_and_without_a_rate(FREELY) {
        let mut now = Instant::now();
        let later = now + Duration::from_secs(3600);
        let mut hosts = filled(limits, 40);
        let mut retried = 0;
        for _ in 0..40 {
            now += Duration::from_millis(100);
            starts(&mut hosts, now);
            if hosts.may_retry(0) {
                retried += 1;
                hosts.again(0, 100 + retried, later);
            }
            end(&mut hosts, HostSign::Well, now);
        }
        assert!((10..=30).contains(&retried), "{retried}");
        let started = starts(&mut hosts, later);
        assert!(!started.is_empty() && started.iter().all(|item| *item > 100));
    }
}

#[test]
fn hosts_that_nothing_is_known_of_are_forgotten() {
    let now = Instant::now();
    let mut hosts = Hosts::new(FREELY, None);
    for host in 0..3 * MOST_REMEMBERED as u32 {
        let (number, _) = hosts.number(&host.to_string(), false);
        hosts.push(number, host);
        assert_eq!(starts(&mut hosts, now), [host]);
        hosts.ended(number, HostSign::Well, at(now), Duration::ZERO);
    }
    assert!(hosts.hosts.len() <= MOST_REMEMBERED + 2);
}

#[test]
fn hosts_that_are_dead_or_rested_are_forgotten_too_and_those_that_are_tried_again_are_not() {
    let mut now = Instant::now();
    let limits = Limits {
        local_interval: Duration::from_secs(1),
        ..FREELY
    };
    let mut hosts = Hosts::new(limits, None);
    for host in 0..9 * MOST_REMEMBERED as u32 {
        let (number, is_new) = hosts.number(&host.to_string(), false);
        assert!(is_new);
        hosts.push(number, host);
        assert_eq!(starts(&mut hosts, now), [host]);
        hosts.ended(number, HostSign::Badly, at(now), Duration::ZERO);
        now += Duration::from_millis(1);
    }
    let resting = 1000;
    assert!(hosts.hosts.len() <= MOST_REMEMBERED + resting + 2);
    // It waits to be tried again: whoever was forgotten could not be.
    let (number, _) = hosts.number("again", false);
    hosts.push(number, 1);
    assert_eq!(starts(&mut hosts, now), [1]);
    hosts.ended(number, HostSign::Badly, at(now), Duration::ZERO);
    hosts.again(number, 2, now + Duration::from_secs(2));
    for _ in 0..3000 {
        assert_eq!(hosts.number("again", false), (number, false));
        now += Duration::from_millis(1);
        if starts(&mut hosts, now) == [2] {
            return;
        }
    }
    panic!("it was not tried again");
}

#[test]
fn behind_a_gate_one_starts_and_the_others_wait_for_what_it_brings() {
    let mut now = Instant::now();
    let mut hosts = filled(FREELY, 4);
    hosts.close_gate(0, Gate::Fetching);
    hosts.push(0, OPENER);
    assert_eq!(starts(&mut hosts, now), [OPENER]);
    let waited = hosts.open_gate(0);
    hosts.delay(0, Duration::from_secs(2));
    assert_eq!(waited, [0, 1, 2, 3]);
    waited.into_iter().for_each(|item| hosts.push(0, item));
    end(&mut hosts, HostSign::Well, now);
    assert_eq!(starts(&mut hosts, now), [0]);
    now += Duration::from_secs(2);
    assert_eq!(starts(&mut hosts, now), [1]);
}

#[test]
fn behind_a_shut_gate_nothing_starts() {
    let now = Instant::now();
    let mut hosts = filled(FREELY, 5);
    hosts.close_gate(0, Gate::Shut);
    hosts.push_front(0, 5);
    assert_eq!(starts(&mut hosts, now), [0; 0]);
    for item in hosts.open_gate(0) {
        hosts.push(0, item);
    }
    assert_eq!(starts(&mut hosts, now)[0], 5);
}

/// So many shards of one host, each with inputs of its own.
fn shards(limits: Limits, count: u32) -> Vec<Hosts<u32>> {
    let healths = Arc::new(Healths::default());
    let shard = |index: u32| {
        let limits = Limits {
            shards: count,
            turn: f64::from(index) / f64::from(count),
            ..limits
        };
        let mut hosts = Hosts::new(limits, Some(healths.clone()));
        let (number, _) = hosts.number("a", false);
        (0..100).for_each(|item| hosts.push(number, item));
        hosts
    };
    (0..count).map(shard).collect()
}

#[test]
fn the_shards_of_a_host_rest_together_and_one_of_them_tries_it() {
    for limits in with_and_without_a_rate(FREELY) {
        let mut now = Instant::now();
        let mut shards = shards(limits, 4);
        let mut sent = 0;
        // A dead host: what each shard starts fails at once.
        let mut changes = Vec::new();
        for _ in 0..30 {
            now += Duration::from_millis(100);
            for hosts in &mut shards {
                let started = starts(hosts, now).len();
                sent += started;
                for _ in 0..started {
                    changes.extend(end(hosts, HostSign::Badly, now));
                }
            }
        }
        assert_eq!(changes, [Change::Rests(3, Duration::from_secs(10))]);
        assert!(sent <= 4, "{sent}");
        now += Duration::from_secs(8);
        let probes: usize = shards
            .iter_mut()
            .map(|hosts| starts(hosts, now).len())
            .sum();
        assert_eq!(probes, 1);
        // It is back, and after a rest all send again.
        let prober = shards.iter_mut().find(|hosts| hosts.hosts[0].in_flight > 0);
        end(prober.unwrap(), HostSign::Well, now);
        now += Duration::from_secs(10);
        assert!(shards.iter_mut().all(|hosts| {
            now += Duration::from_secs(1);
            starts(hosts, now);
            hosts.hosts[0].in_flight > 0
        }));
    }
}

#[test]
fn a_pause_holds_for_all_shards_of_a_host_and_so_does_its_end() {
    let limits = Limits {
        wait_out: Duration::from_secs(5),
        ..FREELY
    };
    for limits in with_and_without_a_rate(limits) {
        let now = Instant::now();
        let mut shards = shards(limits, 4);
        assert_eq!(starts(&mut shards[0], now).len().min(1), 1);
        let thirty = Duration::from_secs(30);
        end(&mut shards[0], HostSign::Overrun(Some(thirty)), now);
        for hosts in &mut shards {
            assert!(starts(hosts, now + Duration::from_secs(29)).is_empty());
        }
        let later = now + thirty;
        assert!(!starts(&mut shards[0], later).is_empty());
        let gone = end(&mut shards[0], HostSign::Overrun(None), later);
        assert_eq!(gone, Some(Change::GivenUp(thirty)));
        for hosts in &mut shards {
            starts(hosts, later);
            assert!(matches!(hosts.next(later), Next::Skip(..)));
        }
    }
}

#[test]
fn the_time_between_two_requests_to_a_host_holds_for_its_shards_together() {
    let begun = Instant::now();
    let each = Duration::from_millis(400);
    let rated = Limits {
        local: 100,
        local_interval: each,
        ..FREELY
    };
    let delayed = Limits {
        local_interval: Duration::ZERO,
        ..rated
    };
    // Only a crawl delay is the least time.
    for (limits, delay, least) in [(rated, Duration::ZERO, 95), (delayed, each, 100)] {
        let mut shards = shards(limits, 4);
        shards.iter_mut().for_each(|hosts| hosts.delay(0, delay));
        let mut times: Vec<u64> = Vec::new();
        for ms in 0..10_000 {
            let now = begun + Duration::from_millis(ms);
            // Each thread is late in its own way.
            let mut late = [7, 20, 33, 46].into_iter();
            for hosts in &mut shards {
                if late.next().is_some_and(|late| ms % late == 0) {
                    for _ in starts(hosts, now) {
                        end(hosts, HostSign::Well, now);
                        times.push(ms);
                    }
                }
            }
        }
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| *gap >= least), "{gaps:?}");
        assert!(times.len() > 60, "{gaps:?}");
    }
}

#[test]
fn a_new_crawl_delay_holds_for_all_shards_of_a_host() {
    let begun = Instant::now();
    let mut shards = shards(FREELY, 4);
    for hosts in &mut shards {
        hosts.delay(0, Duration::from_millis(400));
    }
    // One part fetches the file again.
    shards[0].delay(0, Duration::from_millis(4000));
    let mut times: Vec<u64> = Vec::new();
    for ms in 0..20_000 {
        let now = begun + Duration::from_millis(ms);
        for hosts in &mut shards {
            for _ in starts(hosts, now) {
                end(hosts, HostSign::Well, now);
                times.push(ms);
            }
        }
    }
    let are_apart = times.windows(2).all(|pair| pair[1] - pair[0] >= 1000);
    assert!(times.len() > 12 && are_apart, "{times:?}");
}

#[test]
fn a_host_that_refuses_connections_gets_fewer_requests_from_all_its_shards_together() {
    let limits = Limits {
        breaker: 0,
        ..FREELY
    };
    let mut now = Instant::now();
    let mut shards = shards(limits, 4);
    let mut counts = Vec::new();
    for _ in 0..600 {
        now += Duration::from_millis(20);
        let started: Vec<Vec<u32>> = shards.iter_mut().map(|it| starts(it, now)).collect();
        let mut count = 0;
        for (hosts, started) in shards.iter_mut().zip(started) {
            for item in started {
                count += 1;
                match count <= 2 {
                    true => drop(end(hosts, HostSign::Well, now)),
                    false => {
                        end(hosts, HostSign::Refused, now);
                        hosts.later(0, item, now);
                    }
                }
            }
        }
        counts.push(count);
    }
    assert!(counts[0] > 3, "{counts:?}");
    assert!(counts[50..].iter().all(|count| *count <= 4), "{counts:?}");
    // All were sent, and nothing waits for room that nobody makes.
    assert_eq!(counts.last(), Some(&0), "{counts:?}");
}

#[test]
fn hosts_can_be_shown_while_others_look_at_them() {
    let now = Instant::now();
    let healths = Arc::new(Healths::default());
    let mut hosts = Hosts::new(FREELY, Some(healths));
    for (item, name) in (0..).zip(["a", "b", "c"]) {
        let (number, _) = hosts.number(name, false);
        hosts.push(number, item);
    }
    assert_eq!(hosts.slowest(2, now).len(), 2);
    assert!(hosts.holding_up(now).is_some());
}

/// Sends to a host that is up, at most one request at once, until nothing waits: what has a good answer, in order.
/// Inputs of `bad` never have one, and are sent again without end until all others were answered.
fn answered(limits: Limits, count: u32, bad: std::ops::Range<u32>, ended: HostSign) -> Vec<u32> {
    let mut now = Instant::now();
    let mut hosts = filled(limits, count);
    let mut good = Vec::new();
    for _ in 0..100_000 {
        if good.len() as u32 == count - bad.len() as u32 {
            break;
        }
        match hosts.next(now) {
            Next::Start(number, item) if bad.contains(&item) => {
                end(&mut hosts, ended, now);
                match hosts.is_down(number) {
                    true => hosts.put_back(number, item),
                    false => hosts.later(number, item, now),
                }
            }
            Next::Start(_, item) => {
                end(&mut hosts, HostSign::Well, now);
                good.push(item);
            }
            Next::Skip(..) => break,
            Next::Wait(until) => now = until.unwrap_or(now).max(now + Duration::from_millis(1)),
        }
    }
    good
}

#[test]
fn a_url_without_an_answer_keeps_none_of_its_host_from_being_sent() {
    let limits = Limits {
        local: 1,
        breaker: 20,
        probes: None,
        wait_out: Duration::from_secs(600),
        ..FREELY
    };
    for limits in with_and_without_a_rate(limits) {
        for ended in [
            HostSign::Badly,
            HostSign::Overrun(None),
            HostSign::Overrun(Some(Duration::from_secs(60))),
            HostSign::Unavailable(None),
            HostSign::Unavailable(Some(Duration::from_secs(60))),
        ] {
            for bad in [20..21, 0..1, 5..21, 5..65, 0..30] {
                let good = answered(limits, 201, bad.clone(), ended);
                assert_eq!(good.len(), 201 - bad.len(), "{bad:?} {ended:?}");
            }
        }
    }
}
