//! The lines of a file that say something.

/// A line of the file.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    Agent(&'a str),
    /// Whether it allows, and what.
    Rule(bool, &'a str),
    /// Seconds.
    Delay(f64),
}

/// Lines without comments; what is not known or no UTF-8 is passed over.
pub(super) fn lines(file: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    file.split(|byte| matches!(byte, b'\r' | b'\n'))
        .filter_map(line)
}

fn line(bytes: &[u8]) -> Option<Line<'_>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (key, rest) = text.split_once(':')?;
    let value = rest.split('#').next()?.trim();
    let is = |name: &str| key.trim().eq_ignore_ascii_case(name);
    if is("user-agent") {
        Some(Line::Agent(value))
    } else if is("allow") || is("disallow") {
        Some(Line::Rule(is("allow"), value))
    } else if is("crawl-delay") {
        seconds(value).map(Line::Delay)
    } else {
        None
    }
}

/// The number that a text begins with, as people write delays: `10`, `0.5`, `0,5` or `1s`. The rest is ignored, because
/// a delay that is read in part is better than none.
fn seconds(text: &str) -> Option<f64> {
    let is_delay = |seconds: &f64| seconds.is_finite() && *seconds >= 0.0;
    let whole = text.parse().ok().filter(is_delay);
    whole.or_else(|| {
        let is_digit = |c: char| c.is_ascii_digit();
        let behind = text.trim_start_matches(is_digit);
        let fraction = behind.strip_prefix(['.', ',']).unwrap_or_default();
        let digits = |text: &str, rest: &str| text[..text.len() - rest.len()].to_owned();
        let (before, after) = (
            digits(text, behind),
            digits(fraction, fraction.trim_start_matches(is_digit)),
        );
        let has_digits = !before.is_empty() || !after.is_empty();
        let number = format!("{before}.{after}");
        has_digits.then(|| number.parse().ok())?.filter(is_delay)
    })
}
