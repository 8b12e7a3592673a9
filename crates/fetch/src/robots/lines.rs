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
        let seconds: f64 = value.parse().ok()?;
        (seconds.is_finite() && seconds >= 0.0).then_some(Line::Delay(seconds))
    } else {
        None
    }
}
