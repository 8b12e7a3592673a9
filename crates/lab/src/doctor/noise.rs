//! Does the same small work again and again on the clients' core, and sees how much its time varies.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::Finding;
use crate::run::{choose_cores, on_core};

/// How long it is tried.
const SAMPLE: Duration = Duration::from_millis(1500);

/// How much longer than the median one in a hundred may take.
const CALM: f64 = 1.25;

/// The core's noise: the time of one in a hundred pieces of work against the median's.
pub fn noise() -> Finding {
    let core = choose_cores().map(|pinning| pinning.client_core);
    judge(on_core(core, || times(SAMPLE)))
}

fn times(sample: Duration) -> Vec<Duration> {
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.is_empty() || begun.elapsed() < sample {
        let piece = Instant::now();
        work();
        times.push(piece.elapsed());
    }
    times
}

/// About a millisecond of arithmetic.
fn work() {
    let mut state = black_box(88_172_645_463_325_252_u64);
    for _ in 0..400_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}

fn judge(mut times: Vec<Duration>) -> Finding {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64();
    let (middle, slow) = (at(0.5), at(0.99));
    let ratio = slow / middle;
    let seen = format!(
        "of equal pieces of work, the slowest 1 % took {ratio:.2} times the median or more"
    );
    let deed = "end or wait for other work; measure more rounds: `--rounds 24`";
    Finding::judged("noise", ratio > CALM, seen, deed)
}

#[cfg(test)]
mod tests {
    use super::super::Standing;
    use super::*;

    #[test]
    fn a_calm_core_is_distinguished_from_a_noisy_one() {
        let steady = vec![Duration::from_micros(1000); 500];
        assert_eq!(judge(steady.clone()).standing, Standing::Good);
        let mut noisy = steady;
        noisy.extend([Duration::from_micros(1900); 20]);
        assert_eq!(judge(noisy).standing, Standing::Mend);
    }

    #[test]
    fn a_trial_measures_at_least_once() {
        assert_eq!(times(Duration::ZERO).len(), 1);
    }
}
