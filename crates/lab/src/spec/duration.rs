//! Durations and delays as people write them: `200ms`, `1.5s`, `fixed:10ms`.

use std::time::Duration;

use hecaton_test_server::{Delay, without_unit};

/// A delay given by one length is drawn from a log-normal distribution. The length is the
/// median, and the 99th percentile is this many times as long.
const TAIL: u32 = 2;

/// Reads a duration; a number without a unit is refused, and so is zero.
///
/// # Errors
/// A sentence that names the text and shows the accepted form.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    if let Some(says) = without_unit(text) {
        return Err(says);
    }
    let (number, scale) = if let Some(number) = text.strip_suffix("ms") {
        (number, 1e-3)
    } else if let Some(number) = text.strip_suffix("us") {
        (number, 1e-6)
    } else {
        (text.strip_suffix('s').unwrap_or(text), 1.0)
    };
    let seconds = number.trim().parse::<f64>().ok().map(|value| value * scale);
    match seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        Some(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(format!(
            "`{text}` cannot be a duration: write a number above zero with its unit, such as 200ms or 1.5s"
        )),
    }
}

/// Reads the delay of responses; only 0 needs no unit.
///
/// A length alone is the median of a log-normal distribution, for under a fixed delay clients march in step: all
/// requests of a wave get their responses at once. `fixed:10ms` is always the same.
///
/// # Errors
/// A sentence that names the text and shows the accepted forms.
pub fn parse_delay(text: &str) -> Result<Delay, String> {
    if let Some(says) = without_unit(text) {
        return Err(says);
    }
    let delay: Delay = text.parse().map_err(|error| format!("{error}"))?;
    Ok(match delay {
        Delay::Fixed(p50) if !text.contains(':') => Delay::LogNormal {
            p50,
            p99: TAIL * p50,
        },
        delay => delay,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units() {
        assert_eq!(parse_duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("250us"), Ok(Duration::from_micros(250)));
    }

    #[test]
    fn refuses_what_is_no_duration() {
        for text in ["", "fast", "0", "0s", "-1s", "1h", "nan", "inf", "2", "1.5"] {
            assert!(parse_duration(text).unwrap_err().contains(text), "{text}");
        }
    }

    #[test]
    fn a_length_alone_is_drawn_and_a_fixed_delay_says_so() {
        let ms = Duration::from_millis;
        let drawn = Delay::LogNormal {
            p50: ms(10),
            p99: ms(20),
        };
        for text in ["10ms", "lognormal:p50=10ms,p99=20ms"] {
            assert_eq!(parse_delay(text), Ok(drawn), "{text}");
        }
        assert_eq!(parse_delay("fixed:10ms"), Ok(Delay::Fixed(ms(10))));
        assert_eq!(parse_delay("0"), Ok(Delay::None));
        let error = parse_delay("soon").unwrap_err();
        assert!(
            error.contains("soon") && error.contains("fixed:15ms"),
            "{error}"
        );
    }
}
