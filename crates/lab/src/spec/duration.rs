//! Durations as people write them: `200ms`, `1.5s`, `2`.

use std::time::Duration;

/// Reads a duration; a number without a unit is seconds, and zero is refused.
///
/// # Errors
/// A sentence that names the text and shows the accepted form.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
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
            "`{text}` is not a duration above zero; write 200ms or 1.5s"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units_and_bare_seconds() {
        assert_eq!(parse_duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_duration("250us"), Ok(Duration::from_micros(250)));
    }

    #[test]
    fn refuses_what_is_no_duration() {
        for text in ["", "fast", "0", "0s", "-1s", "1h", "nan", "inf"] {
            assert!(parse_duration(text).unwrap_err().contains(text), "{text}");
        }
    }
}
