//! A driver whose responses the server holds until enough requests are in flight: when it is clear that no more come.

use std::time::{Duration, Instant};

use super::Account;

/// A request may be on its way for this long although nobody is awake. The system sends a lost SYN once more after 1 s (RFC 6298 §2). It
/// waits at most 200 ms until it acknowledges a part of a request.
const ON_ITS_WAY: Duration = Duration::from_secs(2);

/// How the gate is opened, and whether the driver still has something to do.
#[derive(Default)]
pub struct Held<'a> {
    /// None where nothing is held, and once the gate is open. It says whether it opened.
    open: Option<&'a mut dyn FnMut() -> bool>,
    asleep: Asleep,
}

impl<'a> Held<'a> {
    pub fn by(open: &'a mut dyn FnMut() -> bool) -> Held<'a> {
        Held {
            open: Some(open),
            asleep: Asleep::default(),
        }
    }

    /// Whether the server may hold responses. Otherwise nobody needs to look at the driver.
    pub fn is_closed(&self) -> bool {
        self.open.is_some()
    }

    /// Opens the gate if the driver has slept all the time in which a request could be on its way.
    pub fn look(&mut self, used: Account, is_awake: bool) {
        if self.asleep.long_enough(Instant::now(), used, is_awake) {
            self.open();
            self.asleep = Asleep::default();
        }
    }

    /// Opens the gate; returns whether something was held.
    pub fn open(&mut self) -> bool {
        let opened = self.open.as_mut().is_some_and(|open| open());
        if opened {
            self.open = None;
        }
        opened
    }
}

/// Since when a driver sleeps, and its CPU time then.
#[derive(Default)]
struct Asleep(Option<(Instant, Account)>);

impl Asleep {
    /// A driver that waits for its core is awake, so a busy machine does not count against it.
    fn long_enough(&mut self, now: Instant, used: Account, is_awake: bool) -> bool {
        match self.0 {
            Some((since, before)) if !is_awake && before == used => now - since >= ON_ITS_WAY,
            _ => {
                self.0 = (!is_awake).then_some((now, used));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cgroup::Used;
    use super::*;

    fn used(ms: u64) -> Account {
        Account::of_group(Used {
            user: Duration::from_millis(ms),
            system: Duration::ZERO,
        })
    }

    /// Looks, half of the needed time apart each: the CPU time, whether it is awake, and whether it has slept long enough.
    #[test]
    fn only_a_driver_that_sleeps_all_the_time_can_send_nothing_more() {
        let table: [&[(u64, bool, bool)]; 4] = [
            &[(1, false, false), (1, false, false), (1, false, true)],
            &[
                (1, false, false),
                (1, false, false),
                (2, false, false),
                (2, false, false),
                (2, false, true),
            ],
            &[
                (1, false, false),
                (1, false, false),
                (1, true, false),
                (1, false, false),
                (1, false, false),
                (1, false, true),
            ],
            &[
                (1, true, false),
                (1, true, false),
                (1, true, false),
                (1, true, false),
            ],
        ];
        for looks in table {
            let (mut asleep, mut now) = (Asleep::default(), Instant::now());
            for (place, (ms, is_awake, enough)) in looks.iter().enumerate() {
                assert_eq!(
                    asleep.long_enough(now, used(*ms), *is_awake),
                    *enough,
                    "{looks:?} at {place}"
                );
                now += ON_ITS_WAY / 2;
            }
        }
    }

    #[test]
    fn a_gate_that_stays_closed_is_tried_again() {
        let mut tries = 0;
        let mut open = || {
            tries += 1;
            tries == 2
        };
        let mut held = Held::by(&mut open);
        assert!(!held.open() && held.open() && !held.open());
        assert_eq!(tries, 2);
        assert!(!Held::default().open());
    }
}
