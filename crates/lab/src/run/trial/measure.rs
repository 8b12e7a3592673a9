//! The measured round: what was read before it, what the driver claims, and what was read after it.

use std::time::{Duration, Instant};

use anyhow::Result;
use hecaton_test_server::Interval;

use super::length::Length;
use super::requests::LAT_EVERY;
use super::{Cell, Driver, Fact, Isolation, Noise, Round, Runner, Seen};
use crate::plan::Trial;
use crate::run::Account;
use crate::run::noise::{Moment, nanoseconds};
use crate::run::pace::{LEAD, Paced};

/// A driver with this number of connections that carry nothing is ended, because none may be left for others.
const MOST_HELD_OPEN: u64 = 2000;

/// What is read before a round, and again after it.
struct Before {
    of_service: Option<Account>,
    /// Descriptors, where each request has a connection of its own.
    open: Option<usize>,
    at: Instant,
    account: Account,
    moment: Option<Moment>,
}

/// What the round took.
struct Used {
    user: Duration,
    system: Duration,
    /// The time between both readings.
    within: Duration,
    of_service: Option<Duration>,
    noise: Option<Noise>,
    left_open: Option<u64>,
    /// The peak of its memory, in KiB.
    peak_kib: u64,
}

impl Runner<'_> {
    pub(super) fn measure(
        &mut self,
        driver: &mut Driver,
        trial: &Trial,
        length: &Length,
        probe: Option<Interval>,
    ) -> Result<Round> {
        let (cell, count) = (&trial.cell, length.count);
        *self.sent.entry(driver.client().to_string()).or_default() += count;
        let (go, round) = self.begin(trial, length);
        self.servers.open(cell, round);
        let before = self.before(driver, cell)?;
        let (mut claim, wall) = driver.go(go.clone(), length.expected)?;
        claim
            .first_error
            .take_if(|_| !self.sweep.target.is_test_server());
        let used = self.used(driver, before);
        let logged = self.service.entries(&go, &claim, length.paced.as_ref())?;
        self.service.judge(cell, trial.block, &go);
        let seen = self.servers.close(cell);
        self.servers.check()?;
        not_too_many_held(driver, cell, seen.as_ref())?;
        let stirred = driver.stirred();
        let stirred = stirred.then(|| "another program stopped or resumed it".to_string());
        let round = self.planned(driver, trial, length);
        Ok(Round {
            wall_ns: nanoseconds(of_round(wall, length.paced.as_ref())),
            cpu_user_ns: nanoseconds(used.user),
            cpu_system_ns: nanoseconds(used.system),
            left_open: used.left_open,
            peak_rss_kib: used.peak_kib,
            claim,
            facts: facts(driver, &used, seen.as_ref()),
            seen,
            probe,
            logged,
            server_cpu_ns: used.of_service.map(nanoseconds),
            noise: used.noise,
            disturbed: stirred.into_iter().collect(),
            ..round
        })
    }

    /// A round of which nothing is known but what was planned, and how its driver was started.
    fn planned(&self, driver: &Driver, trial: &Trial, length: &Length) -> Round {
        let cell = &trial.cell;
        let isolation = Isolation {
            own_user: driver.user().is_some(),
            one_core: driver.is_pinned(),
        };
        Round {
            cell: cell.clone(),
            invocation: trial.invocation,
            block: trial.block,
            order: trial.order,
            count: length.count,
            lat_every: LAT_EVERY,
            per_second: length.paced.as_ref().map(Paced::per_second),
            reference: self.sweep.is_reference(&cell.client),
            no_interim: self.reads_no_interim(cell),
            trusted: driver.is_trusted(),
            isolation: Some(isolation),
            ..Round::default()
        }
    }

    fn before(&mut self, driver: &mut Driver, cell: &Cell) -> Result<Before> {
        driver.begin_round();
        driver.stirred(); // drops what happened before the round
        Ok(Before {
            of_service: self.service.begin()?,
            open: (!cell.load.keepalive).then(|| driver.descriptors()),
            at: Instant::now(),
            account: driver.account(),
            moment: Moment::now(),
        })
    }

    fn used(&self, driver: &Driver, before: Before) -> Used {
        let (after, within) = (driver.account(), before.at.elapsed());
        let of_service = self.service.used_since(before.of_service);
        let ours = after.total_since(&before.account) + of_service.unwrap_or_default();
        let noise = before.moment.and_then(|moment| moment.noise_since(ours));
        let now_open = |open| driver.descriptors().saturating_sub(open) as u64;
        let (user, system) = after.since(&before.account);
        Used {
            user,
            system,
            within,
            of_service,
            noise: noise.filter(|_| self.sweep.target.is_known_from_others()),
            left_open: before.open.map(now_open),
            peak_kib: driver.peak_memory_kib(),
        }
    }
}

/// At a rate there is nothing to do until the first request is due. The round lasts until one more would be due.
fn of_round(wall: Duration, paced: Option<&Paced>) -> Duration {
    match paced {
        Some(paced) => wall.saturating_sub(LEAD).max(paced.lasting()),
        None => wall,
    }
}

fn not_too_many_held(driver: &Driver, cell: &Cell, seen: Option<&Interval>) -> Result<()> {
    let most = MOST_HELD_OPEN.max(10 * cell.load.concurrency as u64);
    match seen.filter(|seen| seen.peak_ahead > most) {
        Some(seen) => Err(driver.holds_too_many(seen.peak_ahead)),
        None => Ok(()),
    }
}

/// What was seen of the driver's processes, and when its first request came.
fn facts(driver: &mut Driver, used: &Used, seen: Option<&Interval>) -> Vec<Fact> {
    let all = [
        driver.fact(),
        more_than_one_core(driver, used.user + used.system, used.within),
        began_early(seen, driver.sent_at()),
    ];
    all.into_iter().flatten().map(Fact::Seen).collect()
}

/// A driver that had one core and used more. The kernel counts what runs at each tick of its clock, which is 10 ms at most, so
/// either reading may be off by one.
fn more_than_one_core(driver: &Driver, used: Duration, within: Duration) -> Option<Seen> {
    const TICK: Duration = Duration::from_millis(10);
    (driver.is_pinned() && used > within + 2 * TICK).then(|| Seen::MoreThanOneCore {
        cpu_ns: nanoseconds(used),
        within_ns: nanoseconds(within),
    })
}

/// By how much the first request of a round arrived before `go`.
fn began_early(seen: Option<&Interval>, requested: Instant) -> Option<Seen> {
    let first = seen.and_then(|seen| seen.first_read)?;
    let early = requested.checked_duration_since(first)?;
    (!early.is_zero()).then_some(Seen::Early {
        ns: nanoseconds(early),
    })
}
