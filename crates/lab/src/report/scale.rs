//! Axes: round numbers that span the data, and values turned into positions.

use super::geometry::{Span, span};
use crate::views::form::Across;

/// Round numbers from 0 to at least `most`. The steps are 1, 2, 2.5 or 5 times a power of ten that need `fewest` to
/// `fewest` + 3 ticks. The step with the least space above the data is taken.
pub(super) fn ticks(most: f64, fewest: usize) -> Vec<f64> {
    let is_usual = most.is_finite() && most > 0.0;
    let most = if is_usual { most } else { 1.0 };
    let power = 10f64.powf((most / fewest as f64).log10().floor());
    let steps_of = |step: f64| (most / step - 1e-9).ceil() as usize;
    let fitting = [0.25, 0.5, 1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .filter(|step| (fewest..=fewest + 3).contains(&steps_of(*step)))
        .min_by(|a, b| crowding(*a, most).total_cmp(&crowding(*b, most)));
    let step = fitting.unwrap_or(power);
    (0..=steps_of(step)).map(|n| n as f64 * step).collect()
}

/// How much of the axis lies above the data, and, as 6 % of the data each, how many steps there are.
fn crowding(step: f64, most: f64) -> f64 {
    let steps = (most / step - 1e-9).ceil();
    steps * step / most + 0.06 * steps
}

/// A number on an axis that ends at `top`, all in the same unit: `7.5k` and `12k`, or `2.5`.
pub(super) fn tick_label(value: f64, top: f64) -> String {
    let (scaled, unit) = match top {
        top if top >= 1e7 => (value / 1e6, "M"),
        top if top >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    if value == 0.0 {
        return "0".into();
    }
    let text = format!("{scaled:.2}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Maps 0…`most` to a range of the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linear {
    pub(super) most: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Linear {
    pub(super) fn at(&self, value: f64) -> f64 {
        self.from + (self.to - self.from) * (value / self.most).clamp(0.0, 1.0)
    }
}

/// An upright axis with its ticks: in proportion from 0, or logarithmic from the lowest tick.
#[derive(Clone, Debug)]
pub(super) struct Upright {
    pub(super) ticks: Vec<f64>,
    scale: Spread,
}

impl Upright {
    /// An axis that spans these values, which are above 0 with `log`, at these heights.
    pub(super) fn new(values: Span, steps: usize, log: bool, heights: Span) -> Upright {
        let log = log && values.from > 0.0;
        let ticks = match log {
            true => decades(values.from, values.to),
            false => ticks(values.to, steps),
        };
        let scale = Spread::over(&ticks, log, heights);
        Upright { ticks, scale }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        self.scale.at(value)
    }

    /// Where the axis begins.
    pub(super) fn bottom(&self) -> f64 {
        self.scale.from
    }

    /// The label of a tick: all in one unit, or each in its own on a logarithmic axis.
    pub(super) fn label(&self, tick: f64) -> String {
        let is_log = self.scale.log;
        tick_label(tick, if is_log { tick } else { self.scale.high })
    }
}

/// Ticks of a logarithmic axis: the powers of ten. At its ends stands the nearest of 1, 2 and 5 times a power that
/// spans the data. Over less than two decades all of these.
fn decades(least: f64, most: f64) -> Vec<f64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the logarithm of a finite number is small"
    )]
    let power = |value: f64| value.log10().floor() as i32;
    let all: Vec<(f64, bool)> = (power(least)..=power(most) + 1)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|factor| (factor * 10f64.powi(power), factor == 1.0)))
        .collect();
    let mut ticks = all.iter();
    let first = ticks.rposition(|(tick, _)| *tick <= least * (1.0 + 1e-9));
    let mut ticks = all.iter();
    let last = ticks.position(|(tick, _)| *tick >= most * (1.0 - 1e-9));
    let (first, last) = (first.unwrap_or(0), last.unwrap_or(all.len() - 1));
    let dense = (most / least).log10() < 2.0;
    let shown = |index: usize, is_power: bool| dense || is_power || index == first || index == last;
    let between = all.iter().enumerate().take(last + 1).skip(first);
    let chosen = between.filter(|(index, (_, is_power))| shown(*index, *is_power));
    chosen.map(|(_, (tick, _))| *tick).collect()
}

/// Round numbers from `low` to `high`: those of [`decades`], or equal steps where these are fewer than three.
pub(super) fn between(low: f64, high: f64) -> Vec<f64> {
    let inside = |tick: &f64| (low..=high).contains(tick);
    let powers: Vec<f64> = decades(low, high).into_iter().filter(inside).collect();
    if powers.len() >= 3 || low >= high {
        return powers;
    }
    let step = ticks(high - low, 3)[1];
    let first = (low / step).ceil();
    let steps = (0..=8).map(|n| (first + f64::from(n)) * step);
    steps.filter(inside).collect()
}

/// Maps what was measured to a range across: by its logarithm, or in proportion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Spread {
    pub(super) fn new(across: &Across, from: f64, to: f64) -> Spread {
        Spread::over(&across.grid, across.log, span(from, to))
    }

    /// The least and the greatest of these values at the ends, or 0 and the greatest in proportion.
    fn over(values: &[f64], log: bool, Span { from, to }: Span) -> Spread {
        let high = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let low = values.iter().copied().fold(high, f64::min);
        let log = log && low > 0.0;
        Spread {
            low: if log { low } else { 0.0 },
            high,
            log,
            from,
            to,
        }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let share = match self.log {
            true if self.low == self.high => 0.5,
            true => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => value / self.high,
        };
        self.from + (self.to - self.from) * share.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(1690.0, 4), [0.0, 500.0, 1000.0, 1500.0, 2000.0]);
        assert_eq!(ticks(100.0, 4), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(ticks(0.0, 4).last(), Some(&1.0));
        assert_eq!(tick_label(12_500.0, 15_000.0), "12.5k");
        assert_eq!(tick_label(7_500.0, 15_000.0), "7.5k");
        assert_eq!(tick_label(20_000_000.0, 2e7), "20M");
        assert_eq!(tick_label(1_500.0, 2_000.0), "1500");
        assert_eq!(tick_label(0.0, 15_000.0), "0");
    }

    #[test]
    fn a_logarithmic_axis_begins_and_ends_at_its_ticks() {
        assert_eq!(decades(97.0, 18_306.0), [50.0, 100.0, 1e3, 1e4, 2e4]);
        assert_eq!(decades(120.0, 1_800.0), [100.0, 200.0, 500.0, 1e3, 2e3]);
        let up = Upright::new(span(97.0, 18_306.0), 5, true, span(200.0, 0.0));
        assert_eq!(
            [10.0, 1e3, 1e5].map(|y| up.at(y).round()),
            [200.0, 100.0, 0.0]
        );
        let from_zero = Upright::new(span(0.0, 7.0), 4, true, span(0.0, 1.0));
        assert_eq!(from_zero.ticks[0], 0.0);
    }

    #[test]
    fn ticks_between_two_values_are_round() {
        assert_eq!(between(1_903.0, 2_318.0), [2e3, 2.1e3, 2.2e3, 2.3e3]);
        assert_eq!(between(830.0, 14_208.0), [1e3, 2e3, 5e3, 1e4]);
        assert_eq!(between(90.0, 14_208.0), [100.0, 1e3, 1e4]);
    }

    #[test]
    fn a_doubling_is_always_as_far() {
        let across = Across {
            title: "concurrency",
            grid: vec![1.0, 10.0, 100.0],
            log: true,
            labels: Vec::new(),
            round: false,
        };
        let spread = Spread::new(&across, 0.0, 200.0);
        assert_eq!(
            [1.0, 10.0, 100.0].map(|x| spread.at(x).round()),
            [0.0, 100.0, 200.0]
        );
    }

    proptest! {
        #[test]
        fn ticks_span_the_data(most in 1e-3..1e7f64, fewest in 2usize..6) {
            let ticks = ticks(most, fewest);
            let decades = decades(most / 50.0, most);
            prop_assert!(decades[0] <= most / 50.0 * 1.001 && *decades.last().unwrap() >= most * 0.999);
            prop_assert!(*ticks.last().unwrap() >= most * (1.0 - 1e-6));
            prop_assert!(ticks.len() > fewest && ticks.len() <= fewest + 4, "{:?}", ticks);
        }
    }
}
