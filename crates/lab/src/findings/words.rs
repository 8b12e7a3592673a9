//! How numbers are written for people: grouped, rounded to what they can bear, in the same way everywhere.

use super::stats::Estimate;
use crate::spec::Budget;

/// `1234567.8` → `1,234,568`; below 100 with one decimal, below 10 with two, so that about three digits remain.
pub fn figure(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "–".into();
    }
    if size >= 99.95 || size == 0.0 {
        return count(value.round() as i64);
    }
    // The limits are where rounding would otherwise add a digit: 9.996 is 10.0, not 10.00.
    let decimals = if size >= 9.995 { 1 } else { 2 };
    format!("{value:.decimals$}")
}

/// A whole number as a count, and any other as a figure: `4.0` → `4`, `4.5` → `4.50`.
pub fn short(value: f64) -> String {
    match value.fract() == 0.0 {
        true => count(value as i64),
        false => figure(value),
    }
}

/// `1234567` → `1,234,567`.
pub fn count(value: impl TryInto<i128>) -> String {
    let Ok(value) = value.try_into() else {
        return "–".into();
    };
    let digits = value.unsigned_abs().to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if value < 0 {
        format!("-{grouped}")
    } else {
        grouped
    }
}

/// The limits of a budget: `p99 under 50 ms and memory under 200 MB`; empty without any.
pub fn limit_words(budget: &Budget) -> String {
    let latency = budget
        .p99_ms
        .map(|ms| format!("p99 under {} ms", figure(ms)));
    let memory = budget
        .memory_mb
        .map(|mb| format!("memory under {} MB", figure(mb)));
    let limits: Vec<String> = latency.into_iter().chain(memory).collect();
    limits.join(" and ")
}

/// A ratio as `1.31×`.
pub fn times(ratio: f64) -> String {
    if ratio.is_finite() && ratio.abs() < 99.95 {
        let decimals = if ratio.abs() >= 9.995 { 1 } else { 2 };
        return format!("{ratio:.decimals$}×");
    }
    format!("{}×", figure(ratio))
}

/// The interval of a ratio as `[1.27–1.36]`; a range that cannot claim 95 % is marked as one.
pub fn interval(ratio: &Estimate) -> String {
    let (low, high) = (times(ratio.low), times(ratio.high));
    let (low, high) = (low.trim_end_matches('×'), high.trim_end_matches('×'));
    match ratio.confidence {
        Some(_) => format!("[{low}–{high}]"),
        None => format!(
            "[range {low}–{high}, {}]",
            plural(ratio.samples as u64, "round")
        ),
    }
}

/// A share as a percentage without decimals, with a space that never becomes a line break: `0.613` → `61 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0}\u{a0}%", share * 100.0)
}

/// A date as one reads it: `2026-11-22T15:20:14Z` → `2026-11-22 15:20 UTC`; what is none stays as it is.
pub fn moment(date: &str) -> String {
    match date.split_once('T') {
        Some((day, time)) if time.len() == 9 && time.is_ascii() && time.ends_with('Z') => {
            format!("{day} {} UTC", &time[..5])
        }
        _ => date.to_owned(),
    }
}

/// `1 round`, `2 rounds`.
pub fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_about_three_digits() {
        assert_eq!(figure(1_234_567.8), "1,234,568");
        assert_eq!(figure(99.96), "100");
        assert_eq!(figure(12.34), "12.3");
        assert_eq!(figure(9.996), "10.0");
        assert_eq!(figure(0.123), "0.12");
        assert_eq!(figure(0.0), "0");
        assert_eq!(figure(f64::NAN), "–");
        assert_eq!(count(-1_000_i64), "-1,000");
    }

    #[test]
    fn dates_are_for_people() {
        assert_eq!(moment("2026-11-22T15:20:14Z"), "2026-11-22 15:20 UTC");
        assert_eq!(moment("Tuesday"), "Tuesday");
    }

    #[test]
    fn a_range_is_not_sold_as_an_interval() {
        let mut ratio = Estimate {
            value: 1.3,
            low: 1.2,
            high: 10.04,
            samples: 3,
            confidence: None,
        };
        assert_eq!(interval(&ratio), "[range 1.20–10.0, 3 rounds]");
        ratio.confidence = Some(0.96);
        assert_eq!(interval(&ratio), "[1.20–10.0]");
        assert_eq!(times(123.4), "123×");
    }
}
