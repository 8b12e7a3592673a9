//! Rules of the work itself: it was done by the driver, on its core, in its time.

use crate::findings::stats::median;
use crate::findings::words::{figure, percent};
use crate::plan::Cell;
use crate::run::{Fact, Round, Seen};

/// CPU time that a request takes at least, in nanoseconds: it cannot be sent and its response cannot be read for less
/// than two system calls.
const LEAST_CPU_NS: f64 = 500.0;

/// If unknown programs use more of a core while a row is measured than while others are, by more than this share, the
/// work counts as the row's.
const ELSEWHERE: f64 = 0.3;

/// The shortest round, in nanoseconds, that can show a share of other programs. The kernel counts their time in steps
/// of 10 ms, so a single step would be most of a round of 12 ms. In a round of this length, two steps are less than
/// `ELSEWHERE`.
const RESOLVED_NS: u64 = 70_000_000;

/// The machine is quiet enough for this rule if other programs use less than this share of a core otherwise.
const QUIET: f64 = 0.1;

/// Fewest rounds that show it.
const FEWEST_ROUNDS: usize = 3;

/// CPU time of other programs in each round, as a share of a core, in the order of measurement. Rounds without the
/// figure are left out.
pub struct Foreign<'a> {
    rounds: Vec<Share<'a>>,
}

/// The figure of one round.
#[derive(Clone)]
struct Share<'a> {
    cell: &'a Cell,
    /// The share of a core.
    share: f64,
    /// Length of the round.
    wall_ns: u64,
}

impl<'a> Foreign<'a> {
    /// The figures of all rounds of a run.
    pub fn new(rounds: impl Iterator<Item = &'a Round>) -> Foreign<'a> {
        let mut rounds: Vec<&Round> = rounds.collect();
        rounds.sort_by_key(|round| (round.block, round.order));
        let share = |round: &'a Round| {
            let foreign = round.noise?.foreign_ns as f64;
            Some(Share {
                cell: &round.cell,
                share: foreign / round.wall_ns.max(1) as f64,
                wall_ns: round.wall_ns,
            })
        };
        Foreign {
            rounds: rounds.into_iter().filter_map(share).collect(),
        }
    }

    /// Rejects a row if unknown programs work whenever it is measured, and neither right before nor right after. Other
    /// programs that work for seconds, or all the time, do so in the neighbours' rounds too.
    pub fn done_elsewhere(&self, cell: &Cell) -> Option<String> {
        let is_own = |at: &usize| {
            let round = &self.rounds[*at];
            round.cell == cell && round.wall_ns >= RESOLVED_NS
        };
        let rounds = (0..self.rounds.len()).filter(is_own);
        let more: Vec<f64> = rounds.filter_map(|place| self.more(place)).collect();
        let of = |keep: &dyn Fn(&Cell) -> bool| {
            let kept = self.rounds.iter().filter(|round| keep(round.cell));
            median(&kept.map(|round| round.share).collect::<Vec<_>>())
        };
        let usual = of(&|other| other.client != cell.client)?;
        let own = of(&|other| other == cell)?;
        (more.len() >= FEWEST_ROUNDS && usual < QUIET && median(&more)? > ELSEWHERE).then(|| {
            format!(
                "work was done elsewhere: while it was measured, other programs used {} of a core, else {}",
                percent(own),
                percent(usual)
            )
        })
    }

    /// How much more other programs did in a round than beside it: in the rounds of other clients before and after it.
    /// The busier of these two counts. None if there is neither.
    fn more(&self, place: usize) -> Option<f64> {
        let own = &self.rounds[place];
        let other = |round: &&Share<'_>| round.cell.client != own.cell.client;
        let before = self.rounds[..place].iter().rfind(other);
        let after = self.rounds[place..].iter().find(other);
        let beside = before.into_iter().chain(after).map(|round| round.share);
        Some(own.share - beside.max_by(f64::total_cmp)?)
    }
}

/// CPU time in nanoseconds that a driver may use while it should be stopped, because it stops a moment after the
/// command.
const AT_REST_NS: u64 = 20_000_000;

/// Less than a tenth of a round's CPU time is little.
const LITTLE: u64 = 10;

/// The first fact about the driver's processes and requests that is an offence.
pub(super) fn offended(round: &Round) -> Option<String> {
    round.facts.iter().find_map(|fact| match fact {
        Fact::Said(says) => Some(says.clone()),
        Fact::Seen(seen) if is_little(seen, round) => None,
        Fact::Seen(seen) => offence(seen),
    })
}

/// Whether processes outside of the driver's tree did so little of the round's work that it does not matter where they
/// are. How much that is in milliseconds depends on how busy the machine is.
fn is_little(seen: &Seen, round: &Round) -> bool {
    let used = round.cpu_user_ns + round.cpu_system_ns;
    matches!(seen, Seen::Apart { held: true, cpu_ns, .. } if cpu_ns * LITTLE < used)
}

/// A fact in words, if it is an offence.
pub fn offence(seen: &Seen) -> Option<String> {
    let ms = |ns: u64| ns / 1_000_000;
    let processes = |count: usize| match count {
        1 => "1 process".to_owned(),
        _ => format!("{count} processes"),
    };
    Some(match seen {
        Seen::OtherCores { cores, core } => format!(
            "a thread of the driver may run on the cores {cores}, though all share core {core}"
        ),
        Seen::Priority { nice } => {
            format!("a thread of the driver gave itself priority (nice {nice})")
        }
        Seen::RealTime { policy } => {
            format!("a thread of the driver took a policy of real time (policy {policy})")
        }
        Seen::Migrated { times, core } => {
            let times = if *times == 1 { "once".into() } else { format!("{times} times") };
            format!(
                "a thread of the driver went to another core {times} during the round, though all share core {core}"
            )
        }
        Seen::Flooded {
            written_mib,
            kept_mib,
        } => format!(
            "it wrote too much error output: {written_mib} MiB until now, of which {kept_mib} are kept"
        ),
        Seen::IgnoresChildren => "a process of the driver ignores the ends of its children (SIGCHLD), so that their CPU time is in no account".into(),
        Seen::Apart { held: true, processes: count, cpu_ns } => format!(
            "the work was done elsewhere: {} that had left the driver's tree used {} ms of CPU time in the round",
            processes(*count),
            ms(*cpu_ns)
        ),
        Seen::Apart { processes: count, .. } => format!(
            "{} left the driver's tree, where CPU time is in no account once a process has ended",
            processes(*count)
        ),
        Seen::Awake { cpu_ns } if *cpu_ns < AT_REST_NS => return None,
        Seen::Awake { cpu_ns } => format!(
            "its processes used {} ms of CPU time while it was stopped and others were measured",
            ms(*cpu_ns)
        ),
        Seen::Outlived { processes: count } => {
            format!("{} of the driver outlived its end", processes(*count))
        }
        Seen::Early { ns } => {
            let ms = *ns as f64 / 1e6;
            format!("its first request came {ms:.2} ms before `go`")
        }
        Seen::Untrusted { responded, count, of_another_host } => {
            let whose = match of_another_host {
                true => ": its certificate is for another host",
                false => "",
            };
            format!(
                "certificates are not verified: {responded} of {count} requests went to a server that it must not trust{whose}"
            )
        }
        Seen::Ended { happened } => format!("its driver {happened}"),
        Seen::Broke { happened } => {
            format!("its driver broke, and was left out of the rest: it {happened}")
        }
    })
}

/// A driver that used more CPU time than its one core has, with a margin because the clocks are read a moment apart.
pub(super) fn more_than_its_core(round: &Round) -> Option<String> {
    let used = (round.cpu_user_ns + round.cpu_system_ns) as f64;
    let wall = round.wall_ns as f64;
    let over = used > 1.05 * wall + AT_REST_NS as f64;
    (over && round.isolation?.one_core).then(|| {
        format!(
            "the driver's processes used {:.1} cores, though all share one",
            used / wall
        )
    })
}

pub(super) fn nothing_used(round: &Round) -> Option<String> {
    let used = (round.cpu_user_ns + round.cpu_system_ns) as f64 / round.claim.done.max(1) as f64;
    if round.claim.done > 0 && used < LEAST_CPU_NS {
        return Some(format!(
            "the work was done elsewhere: the driver's processes used {} µs of CPU time for each request",
            figure(used / 1e3)
        ));
    }
    (round.peak_rss_kib == 0)
        .then(|| "nothing is known of the memory of the driver's processes".to_string())
}

/// CPU time beside the rounds of a row and in them, in nanoseconds; none in documents of before. Requests beside the rounds
/// are taken away at the price of those in them. It is a figure and no rule: getting ready costs honest clients so
/// differently that no limit tells it from work that was put off.
pub(in crate::findings) fn beside(rounds: &[&Round]) -> Option<(f64, f64)> {
    let (mut beside, mut within) = (0.0, 0.0);
    for round in rounds {
        let of_round = (round.cpu_user_ns + round.cpu_system_ns) as f64;
        let own = round.beside?;
        let each = of_round / round.count.max(1) as f64;
        beside += (own.cpu_ns as f64 - each * own.requests as f64).max(0.0);
        within += of_round;
    }
    (within > 0.0).then_some((beside, within))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reason, if any, of rounds of `own` that each follow a round of `other`; pairs of (`other`, `own`).
    fn said(pairs: &[(f64, f64)]) -> Option<String> {
        said_of(pairs, 100_000_000)
    }

    /// The same for rounds of this length.
    fn said_of(pairs: &[(f64, f64)], wall_ns: u64) -> Option<String> {
        let cells = ["other", "own"].map(Cell::plain);
        let round = |cell, share| Share {
            cell,
            share,
            wall_ns,
        };
        let one = |(other, own): &(f64, f64)| [round(&cells[0], *other), round(&cells[1], *own)];
        let rounds = pairs.iter().flat_map(one).collect();
        Foreign { rounds }.done_elsewhere(&cells[1])
    }

    #[test]
    fn work_that_shows_only_as_that_of_others_is_reported_where_it_is_quiet_otherwise() {
        let says = said(&[(0.02, 0.6), (0.05, 0.6), (0.03, 0.7)]).unwrap();
        assert!(says.contains("60") && says.contains("else 3"), "{says}");
        for (why, pairs) in [
            (
                "little more than others",
                [(0.02, 0.3), (0.05, 0.3), (0.03, 0.3)],
            ),
            ("a machine under load", [(0.4, 0.9), (0.5, 0.9), (0.6, 0.9)]),
            (
                "others worked for two rounds",
                [(0.0, 0.6), (0.6, 0.6), (0.0, 0.0)],
            ),
        ] {
            assert_eq!(said(&pairs), None, "{why}");
        }
        assert_eq!(said(&[(0.0, 0.9), (0.0, 0.9)]), None, "two rounds");
    }

    /// A service whose rounds take 12 ms uses one step of the kernel's clock in each, and the next client's 3 ms see
    /// none.
    #[test]
    fn a_step_of_the_kernels_clock_is_no_work_of_others() {
        let pairs = [(0.0, 0.85); 3];
        assert_eq!(said_of(&pairs, 12_000_000), None);
        assert!(said_of(&pairs, 100_000_000).is_some());
    }

    #[test]
    fn alone_there_is_nobody_to_compare_with() {
        let cell = Cell::plain("own");
        let round = Share {
            cell: &cell,
            share: 0.9,
            wall_ns: 100_000_000,
        };
        let rounds = vec![round; 5];
        assert_eq!(Foreign { rounds }.done_elsewhere(&cell), None);
    }
}
