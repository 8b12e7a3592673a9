//! Figures and foreign text as a page shows them.

pub(super) use crate::record::count;

/// Foreign text without what is invisible. The page escapes the rest.
pub(super) fn visible(text: &str) -> String {
    text.replace(is_invisible, "\u{fffd}")
}

/// Control characters, and those that turn the direction of what stands behind them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A noun behind a number.
pub(super) fn noun(one: &str, number: u64) -> String {
    match number {
        1 => one.to_owned(),
        _ => format!("{one}s"),
    }
}

/// The beginning of a long text.
pub(super) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A part of a whole in per cent; never 0 % of something, nor 100 % of less than all.
pub(super) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    let percent = part as f64 / whole as f64 * 100.0;
    match percent {
        _ if part == 0 => "0 %".to_owned(),
        _ if part == whole => "100 %".to_owned(),
        percent if percent < 0.1 => "< 0.1 %".to_owned(),
        percent if percent > 99.9 => "> 99.9 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// A number a second: whole from 100 on.
pub(super) fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate < 100.0 => format!("{rate:.1}"),
        rate => count(rate.round() as u64),
    }
}

/// A time as it is read best.
pub(super) fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms < 1.0 => format!("{:.0} µs", ms * 1000.0),
        ms if ms < 10.0 => format!("{ms:.1} ms"),
        ms if ms < 1000.0 => format!("{ms:.0} ms"),
        ms if ms < 60_000.0 => format!("{:.1} s", ms / 1000.0),
        ms => format!("{:.1} min", ms / 60_000.0),
    }
}

/// A length as it is read best.
pub(super) fn bytes(number: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{number} B"),
        unit => format!("{value:.1} {}", units[unit]),
    }
}
