//! The delay of responses as text and as a distribution.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// 99 % of a standard normal distribution lie below this.
pub(crate) const Z99: f64 = 2.326_347_874_040_841;

/// Longest duration that may be written in a delay.
const LONGEST: Duration = Duration::from_secs(3600);

/// How long the test server waits between reading a request and responding to it.
///
/// Written as text: `0`, `15ms` or `fixed:15ms`, `1.5s`, `uniform:5ms..20ms`, `exponential:10ms`,
/// `lognormal:p50=5ms,p99=40ms`. Units are `ns`, `us`, `ms` and `s`; only 0 needs none.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub enum Delay {
    /// Respond at once. Text `0`.
    #[default]
    None,
    /// Always the same. A fixed delay of 0 is written `0` and so read as `None`.
    Fixed(Duration),
    /// Every duration between two, equally likely.
    Uniform {
        /// Shortest delay.
        from: Duration,
        /// Longest delay, at least `from`.
        to: Duration,
    },
    /// Exponential, as between independent arrivals.
    Exponential {
        /// Mean of the distribution, above 0.
        mean: Duration,
    },
    /// Log-normal, as service times with a long tail.
    LogNormal {
        /// Median, above 0.
        p50: Duration,
        /// 99th percentile, at least the median.
        p99: Duration,
    },
}

/// Why a text is not a valid delay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a delay: {reason}; write 0, 15ms, fixed:15ms, uniform:5ms..20ms, exponential:10ms or lognormal:p50=5ms,p99=40ms"
)]
pub struct DelayError {
    text: String,
    reason: String,
}

/// The sentence about a number above zero without a unit, in whatever is a time; none for other texts.
pub fn without_unit(text: &str) -> Option<String> {
    let text = text.trim();
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && number > 0.0)
        .then(|| format!("{text} has no unit: write {text}ms or {text}s"))
}

impl Delay {
    /// Mean of the delay; 0 for `None`.
    pub fn mean(&self) -> Duration {
        match *self {
            Delay::None => Duration::ZERO,
            Delay::Fixed(delay) => delay,
            Delay::Uniform { from, to } => from + to.saturating_sub(from) / 2,
            Delay::Exponential { mean } => mean,
            Delay::LogNormal { p50, p99 } => {
                let sigma = (p99.as_secs_f64() / p50.as_secs_f64()).ln() / Z99;
                Duration::try_from_secs_f64(p50.as_secs_f64() * (sigma * sigma / 2.0).exp())
                    .unwrap_or(Duration::MAX)
            }
        }
    }

    fn read(text: &str) -> Result<Delay, String> {
        match text.split_once(':') {
            None => Ok(fixed(duration(text)?)),
            Some(("fixed", delay)) => Ok(fixed(duration(delay)?)),
            Some(("uniform", range)) => uniform(range),
            Some(("exponential", mean)) => Ok(Delay::Exponential {
                mean: positive(mean)?,
            }),
            Some(("lognormal", percentiles)) => log_normal(percentiles),
            Some(_) => Err("the distribution is unknown".into()),
        }
    }
}

impl FromStr for Delay {
    type Err = DelayError;

    fn from_str(text: &str) -> Result<Delay, DelayError> {
        Delay::read(text).map_err(|reason| DelayError {
            text: text.to_owned(),
            reason,
        })
    }
}

impl TryFrom<String> for Delay {
    type Error = DelayError;

    fn try_from(text: String) -> Result<Delay, DelayError> {
        text.parse()
    }
}

impl From<Delay> for String {
    fn from(delay: Delay) -> String {
        delay.to_string()
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delay::None => f.write_str("0"),
            Delay::Fixed(delay) => f.write_str(&text(*delay)),
            Delay::Uniform { from, to } => write!(f, "uniform:{}..{}", text(*from), text(*to)),
            Delay::Exponential { mean } => write!(f, "exponential:{}", text(*mean)),
            Delay::LogNormal { p50, p99 } => {
                write!(f, "lognormal:p50={},p99={}", text(*p50), text(*p99))
            }
        }
    }
}

fn fixed(delay: Duration) -> Delay {
    if delay.is_zero() {
        Delay::None
    } else {
        Delay::Fixed(delay)
    }
}

fn uniform(range: &str) -> Result<Delay, String> {
    let (from, to) = range
        .split_once("..")
        .ok_or("a uniform delay needs FROM..TO")?;
    let (from, to) = (duration(from)?, duration(to)?);
    if from > to {
        return Err("the range ends before it begins".into());
    }
    Ok(Delay::Uniform { from, to })
}

fn log_normal(percentiles: &str) -> Result<Delay, String> {
    let parts = percentiles.split_once(',').and_then(|(low, high)| {
        Some((
            low.trim().strip_prefix("p50=")?,
            high.trim().strip_prefix("p99=")?,
        ))
    });
    let (p50, p99) = parts.ok_or("a log-normal delay needs p50=…,p99=…")?;
    let (p50, p99) = (positive(p50)?, positive(p99)?);
    if p50 > p99 {
        return Err("p99 is below p50".into());
    }
    Ok(Delay::LogNormal { p50, p99 })
}

fn positive(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("this duration must be above 0".into()),
        duration => Ok(duration),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    if let Some(says) = without_unit(text) {
        return Err(says);
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let nanoseconds = match unit.trim_start() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return Err("the unit is unknown (ns, us, ms, s)".into()),
    };
    let number: f64 = number.parse().map_err(|_| "the number cannot be read")?;
    let nanoseconds = number * nanoseconds;
    if nanoseconds > LONGEST.as_nanos() as f64 {
        return Err("a delay may last one hour at most".into());
    }
    Ok(Duration::from_nanos(nanoseconds.round() as u64))
}

/// The shortest text that is read as this duration.
fn text(duration: Duration) -> String {
    if duration.is_zero() {
        "0".to_owned()
    } else {
        format!("{duration:?}").replace('µ', "u")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Delay {
        text.parse().expect(text)
    }

    #[test]
    fn every_form_is_read_and_written_as_one_text() {
        let texts = [
            "0",
            "15ms",
            "1.5s",
            "250us",
            "7ns",
            "uniform:5ms..20ms",
            "uniform:0..1ms",
            "exponential:10ms",
            "lognormal:p50=5ms,p99=40ms",
        ];
        for text in texts {
            assert_eq!(read(text).to_string(), text);
            let json = serde_json::to_string(&read(text)).unwrap();
            assert_eq!(json, format!("{text:?}"));
            assert_eq!(serde_json::from_str::<Delay>(&json).unwrap(), read(text));
        }
    }

    #[test]
    fn a_fixed_delay_may_be_called_so() {
        for text in ["15ms", "15 ms", "fixed:15ms", "0.015s"] {
            assert_eq!(
                read(text),
                Delay::Fixed(Duration::from_millis(15)),
                "{text}"
            );
        }
        assert_eq!(read("fixed:0"), Delay::None);
    }

    #[test]
    fn a_number_needs_a_unit_wherever_it_stands() {
        for (text, number) in [
            ("15", "15"),
            ("1.5", "1.5"),
            ("fixed:15", "15"),
            ("uniform:5..20ms", "5"),
            ("uniform:0..20", "20"),
            ("exponential:10", "10"),
            ("lognormal:p50=5,p99=40ms", "5"),
            ("lognormal:p50=5ms,p99=40", "40"),
        ] {
            let error = text.parse::<Delay>().expect_err(text).to_string();
            let says = format!("{number} has no unit: write {number}ms or {number}s");
            assert!(error.contains(&says), "{error}");
        }
    }

    #[test]
    fn an_invalid_delay_is_refused_with_its_text() {
        let texts = [
            "",
            "ms",
            "fixed:",
            "15 minutes",
            "-1ms",
            "1m",
            "1..2ms",
            "uniform:5ms",
            "uniform:9ms..1ms",
            "normal:1ms",
            "exponential:0",
            "lognormal:p50=5ms",
            "lognormal:p50=5ms,p99=1ms",
            "2e3s",
            "3601s",
        ];
        for text in texts {
            let error = text.parse::<Delay>().expect_err(text).to_string();
            assert!(
                error.contains(&format!("{text:?} is not a delay")),
                "{error}"
            );
        }
    }

    #[test]
    fn the_mean_is_that_of_the_distribution() {
        assert_eq!(read("0").mean(), Duration::ZERO);
        assert_eq!(read("15ms").mean(), Duration::from_millis(15));
        assert_eq!(
            read("uniform:5ms..20ms").mean(),
            Duration::from_micros(12_500)
        );
        assert_eq!(read("exponential:10ms").mean(), Duration::from_millis(10));
        // sigma = ln(8) / 2.3263 = 0.8939; mean = 5 ms × e^(0.3995) = 7.455 ms
        let mean = read("lognormal:p50=5ms,p99=40ms").mean().as_secs_f64();
        assert!((mean - 0.007_455).abs() < 1e-5, "{mean}");
    }

    proptest! {
        #[test]
        fn any_duration_survives_its_text(nanoseconds in 1u64..3_600_000_000_000) {
            let delay = Delay::Fixed(Duration::from_nanos(nanoseconds));
            let back: Delay = delay.to_string().parse().unwrap();
            prop_assert_eq!(back, delay);
        }
    }
}
