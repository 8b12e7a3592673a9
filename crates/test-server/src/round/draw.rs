//! Draws the delay of an id: the same seed and id always give the same delay.

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Exp, LogNormal, Uniform};

use crate::round::delay::{Delay, Z99};

/// Longest delay in seconds. Longer draws from the tail of a distribution are cut to this.
const LONGEST_S: f64 = 3600.0;

/// A distribution ready to be drawn from.
pub(crate) struct Draw {
    seed: u64,
    law: Law,
}

enum Law {
    None,
    Fixed(Duration),
    Uniform(Uniform<f64>),
    Exponential(Exp<f64>),
    LogNormal(LogNormal<f64>),
}

impl Draw {
    pub(crate) fn new(delay: Delay, seed: u64) -> Draw {
        Draw {
            seed,
            law: Law::of(delay),
        }
    }

    /// The delay of one id; `None` means that the response goes out at once.
    pub(crate) fn of(&self, id: u64) -> Option<Duration> {
        let seconds = match &self.law {
            Law::None => return None,
            Law::Fixed(delay) => return Some(*delay),
            Law::Uniform(law) => law.sample(&mut self.generator(id)),
            Law::Exponential(law) => law.sample(&mut self.generator(id)),
            Law::LogNormal(law) => law.sample(&mut self.generator(id)),
        };
        Some(Duration::from_secs_f64(seconds.clamp(0.0, LONGEST_S)))
    }

    fn generator(&self, id: u64) -> SmallRng {
        // An odd factor spreads the seeds; the generator's own seeding mixes neighbouring ids.
        SmallRng::seed_from_u64(
            self.seed
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_add(id),
        )
    }
}

impl Law {
    /// Uses the mean if the parameters are invalid. The parameters of a delay that was read from text are always valid.
    fn of(delay: Delay) -> Law {
        let law = match delay {
            Delay::None | Delay::Fixed(Duration::ZERO) => Some(Law::None),
            Delay::Fixed(delay) => Some(Law::Fixed(delay)),
            Delay::Uniform { from, to } => {
                let bounds = (from.as_secs_f64(), to.as_secs_f64());
                Uniform::new_inclusive(bounds.0, bounds.1)
                    .ok()
                    .map(Law::Uniform)
            }
            Delay::Exponential { mean } if mean.is_zero() => Some(Law::None),
            Delay::Exponential { mean } => Exp::new(1.0 / mean.as_secs_f64())
                .ok()
                .map(Law::Exponential),
            Delay::LogNormal { p50, p99 } => {
                let (p50, p99) = (p50.as_secs_f64(), p99.as_secs_f64());
                LogNormal::new(p50.ln(), (p99 / p50).ln() / Z99)
                    .ok()
                    .map(Law::LogNormal)
            }
        };
        law.unwrap_or(Law::Fixed(delay.mean()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(text: &str, seed: u64) -> Vec<f64> {
        let draw = Draw::new(text.parse().unwrap(), seed);
        (0..20_000)
            .map(|id| draw.of(id).unwrap().as_secs_f64() * 1e3)
            .collect()
    }

    fn percentile(mut values: Vec<f64>, p: f64) -> f64 {
        values.sort_by(f64::total_cmp);
        values[((values.len() - 1) as f64 * p) as usize]
    }

    #[test]
    fn the_same_seed_and_id_give_the_same_delay() {
        for text in [
            "uniform:5ms..20ms",
            "exponential:10ms",
            "lognormal:p50=5ms,p99=40ms",
        ] {
            assert_eq!(draws(text, 7), draws(text, 7));
            assert_ne!(draws(text, 7), draws(text, 8));
        }
    }

    #[test]
    fn no_delay_draws_nothing_and_a_fixed_one_itself() {
        assert_eq!(Draw::new(Delay::None, 1).of(5), None);
        let fixed = Duration::from_millis(15);
        assert_eq!(Draw::new(Delay::Fixed(fixed), 1).of(5), Some(fixed));
    }

    #[test]
    fn uniform_draws_fill_their_range() {
        let values = draws("uniform:5ms..20ms", 1);
        assert!(values.iter().all(|ms| (5.0..=20.0).contains(ms)));
        assert!((percentile(values, 0.5) - 12.5).abs() < 0.3);
    }

    #[test]
    fn exponential_and_log_normal_draws_have_the_requested_percentiles() {
        let median = percentile(draws("exponential:10ms", 1), 0.5);
        assert!((median - 6.93).abs() < 0.25, "{median}");
        let values = draws("lognormal:p50=5ms,p99=40ms", 1);
        let (p50, p99) = (percentile(values.clone(), 0.5), percentile(values, 0.99));
        assert!((p50 - 5.0).abs() < 0.2, "{p50}");
        assert!((p99 - 40.0).abs() < 4.0, "{p99}");
    }
}
