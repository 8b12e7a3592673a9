//! How long the rest of a run takes, judged by its rounds so far.

use std::time::Duration;

use super::ROUNDS_OF_A_PROOF;

/// Times that were seen, each with how often.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Starting all drivers of an invocation, and warming them up.
    pub starts: Seen,
    /// Trials, without what follows.
    pub trials: Seen,
    /// Proofs beside their rounds.
    pub proofs: Seen,
    /// Finding out how many requests of a cell fill a round, which happens once.
    pub calibrations: Seen,
}

/// So many times of one kind, and how long they took together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    count: u32,
    time: Duration,
}

/// The part of a run that is still to be done.
#[derive(Clone, Copy, Debug)]
pub struct ToDo {
    /// Invocations that have not begun.
    pub invocations: u32,
    /// Trials that have not begun.
    pub trials: u32,
    /// Those of them whose cell has had none.
    pub new_cells: u32,
    /// The time of the work after the last round.
    pub later: Duration,
}

impl Seen {
    /// One more.
    pub fn add(&mut self, time: Duration) {
        self.count += 1;
        self.time += time;
    }

    /// How long so many more will take.
    fn of(self, count: f64) -> Duration {
        self.time.mul_f64(count / f64::from(self.count.max(1)))
    }
}

impl Shown {
    /// Adds a trial, from which the proofs and calibrations in it are taken: they were `before` it began.
    pub fn add_trial(&mut self, time: Duration, before: Shown) {
        let aside = |own: Seen, before: Seen| own.time - before.time;
        let proofs = aside(self.proofs, before.proofs);
        let calibrations = aside(self.calibrations, before.calibrations);
        self.trials.add(time.saturating_sub(proofs + calibrations));
    }

    /// How long the rest takes if it is like what was seen.
    pub fn left(&self, to_do: ToDo) -> Duration {
        let trials = f64::from(to_do.trials);
        let new = f64::from(to_do.new_cells);
        let seen = f64::from(self.trials.count.max(1));
        let proofs = match self.proofs.count {
            0 => 0.0,
            _ => new + (trials - new) / ROUNDS_OF_A_PROOF,
        };
        // Not all cells are calibrated.
        let calibrations = new * f64::from(self.calibrations.count) / seen;
        self.starts.of(f64::from(to_do.invocations))
            + self.trials.of(trials)
            + self.proofs.of(proofs)
            + self.calibrations.of(calibrations)
            + to_do.later
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_rest_is_like_what_was_seen() {
        let mut shown = Shown::default();
        shown.starts.add(MS(30_000));
        for _ in 0..10 {
            let before = shown;
            shown.proofs.add(MS(400));
            shown.calibrations.add(MS(600));
            shown.add_trial(MS(2000), before);
        }
        let nothing = ToDo {
            invocations: 0,
            trials: 0,
            new_cells: 0,
            later: Duration::ZERO,
        };
        let table = [
            (nothing, 0),
            (
                ToDo {
                    later: MS(5),
                    ..nothing
                },
                5,
            ),
            // A trial takes 1 s without what is done once or now and then, and one in six has a proof.
            (
                ToDo {
                    trials: 6,
                    ..nothing
                },
                6 * 1000 + 400,
            ),
            (
                ToDo {
                    trials: 1,
                    new_cells: 1,
                    ..nothing
                },
                2000,
            ),
            (
                ToDo {
                    invocations: 5,
                    ..nothing
                },
                150_000,
            ),
        ];
        for (to_do, ms) in table {
            assert_eq!(shown.left(to_do).as_millis(), ms, "{to_do:?}");
        }
        assert_eq!(Shown::default().left(nothing), Duration::ZERO);
    }

    /// At a service of the user's own there are no proofs.
    #[test]
    fn what_was_never_seen_takes_no_time() {
        let mut shown = Shown::default();
        shown.add_trial(MS(10), Shown::default());
        let to_do = ToDo {
            invocations: 1,
            trials: 100,
            new_cells: 3,
            later: Duration::ZERO,
        };
        assert_eq!(shown.left(to_do), MS(1000));
    }
}
