//! The budget of a sweep: what a client may need at most, and how much of the best speed is enough.

use serde::{Deserialize, Serialize};

/// A concurrency is fast enough if it has this share of the best speed, by the estimate of their ratio.
///
/// The fastest row of a plateau is chance; 95 % of it costs little and halves the latency of going higher.
pub const ENOUGH: f64 = 0.95;

/// The limits that a recommendation must keep. A limit that nobody gave is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Budget {
    /// The p99 that a client may have, in milliseconds; absent if nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// The peak of resident memory that a client may have, in megabytes (10⁶ bytes); absent if nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<f64>,
    /// The share of the best speed that is enough; absent for the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

impl Budget {
    /// The share of the best speed that is enough.
    pub fn enough(&self) -> f64 {
        self.share.unwrap_or(ENOUGH)
    }

    /// Whether a limit was given.
    pub fn limits(&self) -> bool {
        self.p99_ms.is_some() || self.memory_mb.is_some()
    }

    /// Whether a p99 and a peak of memory are within it. A p99 that is not known is not.
    pub fn holds(&self, p99_ms: Option<f64>, memory_mb: f64) -> bool {
        let latency = |most: f64| p99_ms.is_some_and(|p99| p99 <= most);
        self.p99_ms.is_none_or(latency) && self.memory_mb.is_none_or(|most| memory_mb <= most)
    }
}

/// Reads a size of memory, in megabytes (10⁶ bytes).
///
/// # Errors
/// A sentence that shows the accepted forms.
pub fn parse_memory(text: &str) -> Result<f64, String> {
    let units = [("KiB", 1024e-6), ("MiB", 1.048_576), ("GiB", 1_073.741_824)];
    let short = [
        ("KB", 1e-3),
        ("MB", 1.0),
        ("GB", 1e3),
        ("K", 1e-3),
        ("M", 1.0),
        ("G", 1e3),
    ];
    let split = |(unit, scale)| Some((text.strip_suffix(unit)?, scale));
    let found = units.into_iter().chain(short).find_map(split);
    let (number, scale) = found.unwrap_or((text, f64::NAN));
    let number = number.trim().parse::<f64>().ok();
    let number = number.filter(|number| number.is_finite() && *number > 0.0);
    match number {
        Some(number) if scale.is_finite() => Ok(number * scale),
        Some(_) => Err(format!("{text} has no unit: write {text}M or {text}G")),
        None => Err(format!(
            "`{text}` cannot be a size: write a number above zero with its unit, such as 200M, 1.5G or 200MiB"
        )),
    }
}

/// Reads a share: 0.95 or 95%.
///
/// # Errors
/// A sentence that shows the accepted forms.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    share
        .ok()
        .filter(|share| *share > 0.0 && *share <= 1.0)
        .ok_or_else(|| format!("`{text}` is not a share of the best speed; write 0.95 or 95%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_and_shares_are_of_one() {
        assert_eq!(parse_memory("200M"), Ok(200.0));
        assert_eq!(parse_memory("1.5GB"), Ok(1500.0));
        assert_eq!(parse_memory("1MiB"), Ok(1.048_576));
        assert_eq!(
            parse_memory("200").unwrap_err(),
            "200 has no unit: write 200M or 200G"
        );
        for wrong in ["", "200B", "M", "-1M", "0M", "infM", "nanM", "much"] {
            assert!(
                parse_memory(wrong).unwrap_err().contains("200MiB"),
                "{wrong}"
            );
        }
        assert_eq!((parse_share("0.9"), parse_share("90%")), (Ok(0.9), Ok(0.9)));
        for wrong in ["", "0", "1.1", "95", "101%", "nan", "-1"] {
            assert!(parse_share(wrong).unwrap_err().contains("95%"), "{wrong}");
        }
    }

    #[test]
    fn a_latency_that_is_not_known_is_within_no_limit() {
        let budget = Budget {
            p99_ms: Some(50.0),
            ..Budget::default()
        };
        assert!(budget.holds(Some(50.0), 1e9) && !budget.holds(Some(50.1), 1.0));
        assert!(!budget.holds(None, 1.0) && Budget::default().holds(None, 1e9));
        let budget = Budget {
            memory_mb: Some(200.0),
            ..Budget::default()
        };
        assert!(budget.holds(None, 200.0) && !budget.holds(None, 200.1));
    }
}
