use super::*;

const FREELY: Limits = Limits {
    own: 2,
    foreign: 1,
    own_interval: Duration::ZERO,
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

fn filled(limits: Limits, count: u32) -> Hosts<u32> {
    let mut hosts = Hosts::new(limits);
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

fn end(hosts: &mut Hosts<u32>, ended: Ended, now: Instant) -> Option<Change> {
    hosts.ended(0, ended, Duration::ZERO, now)
}

#[test]
fn each_host_has_its_own_limit_and_they_take_turns() {
    let now = Instant::now();
    let mut hosts = filled(FREELY, 5);
    let (other, _) = hosts.number("b", true);
    (10..15).for_each(|item| hosts.push(other, item));
    assert_eq!(starts(&mut hosts, now), [0, 10, 1]);
    end(&mut hosts, Ended::Well, now);
    assert_eq!(starts(&mut hosts, now), [2]);
}

#[test]
fn the_shards_of_a_host_take_turns() {
    let now = Instant::now();
    let mut times = Vec::new();
    for index in 0..4 {
        let limits = Limits {
            own: 100,
            own_interval: Duration::from_millis(400),
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
        own: 1,
        breaker: 1,
        cooldown: Duration::from_secs(1),
        ..FREELY
    };
    let mut hosts = filled(limits, 5);
    starts(&mut hosts, now);
    let thirty = Duration::from_secs(30);
    let change = end(&mut hosts, Ended::Pause(Some(thirty)), now);
    assert_eq!(change, Some(Change::Rests(1, thirty)));
    assert!(starts(&mut hosts, now + Duration::from_secs(29)).is_empty());
    assert_eq!(starts(&mut hosts, now + thirty).len(), 1);
}

#[test]
fn a_rate_spaces_starts_and_saves_nothing_up() {
    let mut now = Instant::now();
    let limits = Limits {
        own: 100,
        own_interval: Duration::from_millis(100),
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
    let mut hosts = filled(FREELY, 5);
    let (other, _) = hosts.number("b", false);
    hosts.push(other, 10);
    assert_eq!(starts(&mut hosts, now), [0, 10, 1]);
    let change = end(&mut hosts, Ended::Pause(Some(Duration::from_secs(7))), now);
    assert_eq!(change, Some(Change::Paused(Duration::from_secs(7))));
    hosts.push(other, 11);
    assert_eq!(starts(&mut hosts, now), [11]);
    assert_eq!(starts(&mut hosts, now + Duration::from_secs(6)), [0; 0]);
    assert_eq!(starts(&mut hosts, now + Duration::from_secs(7)), [2]);
}

#[test]
fn the_pause_that_a_host_sets_has_a_limit() {
    let now = Instant::now();
    let mut hosts = filled(FREELY, 5);
    starts(&mut hosts, now);
    end(
        &mut hosts,
        Ended::Pause(Some(Duration::from_secs(1_000_000))),
        now,
    );
    assert_eq!(starts(&mut hosts, now + Duration::from_secs(100)), [2]);
}

#[test]
fn a_run_of_failures_opens_the_breaker_one_tries_again_and_then_the_host_is_given_up() {
    let mut now = Instant::now();
    let mut hosts = filled(FREELY, 10);
    let mut changes = Vec::new();
    for _ in 0..3 {
        starts(&mut hosts, now);
        changes.extend(end(&mut hosts, Ended::Badly, now));
    }
    assert_eq!(changes, [Change::Rests(3, Duration::from_secs(10))]);
    // The one that was still on its way changes nothing.
    assert_eq!(end(&mut hosts, Ended::Badly, now), None);
    assert_eq!(starts(&mut hosts, now), [0; 0]);
    now += Duration::from_secs(10);
    assert_eq!(starts(&mut hosts, now), [4], "one alone");
    let change = end(&mut hosts, Ended::Badly, now);
    assert_eq!(change, Some(Change::Rests(5, Duration::from_secs(20))));
    now += Duration::from_secs(20);
    assert_eq!(starts(&mut hosts, now), [5]);
    assert_eq!(
        end(&mut hosts, Ended::Badly, now),
        Some(Change::GivenUp(Duration::from_secs(30)))
    );
    let mut skipped = Vec::new();
    while let Next::Skip(item) = hosts.next(now) {
        skipped.push(item);
    }
    assert_eq!(skipped, [6, 7, 8, 9]);
    hosts.push(0, 99);
    assert!(matches!(hosts.next(now), Next::Skip(99)));
}

#[test]
fn a_host_that_is_down_is_tried_until_its_time_is_over() {
    let begun = Instant::now();
    let mut now = begun;
    let limits = Limits {
        probes: None,
        wait_out: Duration::from_secs(1000),
        ..FREELY
    };
    let mut hosts = filled(limits, 100);
    let mut rests = Vec::new();
    let gone = loop {
        starts(&mut hosts, now);
        match end(&mut hosts, Ended::Badly, now) {
            Some(Change::Rests(_, rest)) => {
                assert!(hosts.is_down(0));
                rests.push(rest.as_secs());
                now += rest;
            }
            Some(Change::GivenUp(after)) => break after,
            _ => {}
        }
    };
    assert_eq!(rests, [10, 20, 40, 80, 160, 300, 300, 90]);
    assert_eq!((gone, now - begun), (limits.wait_out, limits.wait_out));
    assert!(!hosts.is_down(0));
    assert!(matches!(hosts.next(now), Next::Skip(_)));
}

#[test]
fn a_host_that_came_back_has_all_of_its_time_again() {
    let mut now = Instant::now();
    let limits = Limits {
        probes: None,
        wait_out: Duration::from_secs(15),
        ..FREELY
    };
    let mut hosts = filled(limits, 100);
    for _ in 0..5 {
        for _ in 0..3 {
            starts(&mut hosts, now);
            end(&mut hosts, Ended::Badly, now);
        }
        assert!(hosts.is_down(0));
        now += Duration::from_secs(14);
        end(&mut hosts, Ended::Well, now);
        assert!(!hosts.is_down(0));
    }
}

#[test]
fn a_host_that_responds_again_gets_its_limit_back() {
    let mut now = Instant::now();
    let mut hosts = filled(FREELY, 10);
    for _ in 0..3 {
        starts(&mut hosts, now);
        end(&mut hosts, Ended::Badly, now);
    }
    end(&mut hosts, Ended::Badly, now);
    now += Duration::from_secs(10);
    starts(&mut hosts, now);
    end(&mut hosts, Ended::Well, now);
    assert_eq!(starts(&mut hosts, now).len(), 2);
}

#[test]
fn tries_again_have_a_budget_and_their_time() {
    let now = Instant::now();
    let mut hosts = filled(FREELY, 40);
    let mut retried = 0;
    for _ in 0..40 {
        starts(&mut hosts, now);
        if hosts.may_retry(0) {
            retried += 1;
            hosts.again(0, 100 + retried, now + Duration::from_secs(1));
        }
        end(&mut hosts, Ended::Well, now);
    }
    assert!((10..=25).contains(&retried), "{retried}");
    let later = now + Duration::from_secs(1);
    assert!(starts(&mut hosts, later).iter().all(|item| *item > 100));
}

#[test]
fn hosts_that_nothing_is_known_of_are_forgotten() {
    let now = Instant::now();
    let mut hosts = Hosts::new(FREELY);
    for host in 0..3 * MOST_REMEMBERED as u32 {
        let (number, _) = hosts.number(&host.to_string(), false);
        hosts.push(number, host);
        assert_eq!(starts(&mut hosts, now), [host]);
        hosts.ended(number, Ended::Well, Duration::ZERO, now);
    }
    assert!(hosts.hosts.len() <= MOST_REMEMBERED + 2);
}

#[test]
fn hosts_that_are_dead_or_rested_are_forgotten_too_and_those_that_are_tried_again_are_not() {
    let mut now = Instant::now();
    let limits = Limits {
        own_interval: Duration::from_secs(1),
        ..FREELY
    };
    let mut hosts = Hosts::new(limits);
    for host in 0..9 * MOST_REMEMBERED as u32 {
        let (number, is_new) = hosts.number(&host.to_string(), false);
        assert!(is_new);
        hosts.push(number, host);
        assert_eq!(starts(&mut hosts, now), [host]);
        hosts.ended(number, Ended::Badly, Duration::ZERO, now);
        now += Duration::from_millis(1);
    }
    let resting = 1000;
    assert!(hosts.hosts.len() <= MOST_REMEMBERED + resting + 2);
    // It waits to be tried again: whoever was forgotten could not be.
    let (number, _) = hosts.number("again", false);
    hosts.push(number, 1);
    assert_eq!(starts(&mut hosts, now), [1]);
    hosts.ended(number, Ended::Badly, Duration::ZERO, now);
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
    let mut hosts = filled(FREELY, 5);
    hosts.close_gate(0);
    assert_eq!(starts(&mut hosts, now), [0]);
    let waited = hosts.open_gate(0, Duration::from_secs(2));
    assert_eq!(waited, [1, 2, 3, 4]);
    waited.into_iter().for_each(|item| hosts.push(0, item));
    end(&mut hosts, Ended::Well, now);
    assert_eq!(starts(&mut hosts, now), [1]);
    now += Duration::from_secs(2);
    assert_eq!(starts(&mut hosts, now), [2]);
}
