//! Parameters of a header, such as `; rel="next"; title=x` (RFC 9110 §5.6.6).

/// The parameters at the start of a text, with names in lower case, and what follows them. A value without quotes, and a
/// name without a value, go up to one of `ends`, which has `;`.
pub fn parameters<'a>(text: &'a str, ends: &[char]) -> (Vec<(String, String)>, &'a str) {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(behind) = rest.strip_prefix(';') {
        let is_end = |c: char| c == '=' || ends.contains(&c);
        let end = behind.find(is_end).unwrap_or(behind.len());
        let name = behind[..end].trim().to_ascii_lowercase();
        rest = &behind[end..];
        let mut text = String::new();
        if let Some(behind) = rest.strip_prefix('=') {
            (text, rest) = value(behind.trim_start(), ends);
        }
        found.push((name, text));
        rest = rest.trim_start();
    }
    (found, rest)
}

/// A value, in quotes or not, and what follows it.
fn value<'a>(text: &'a str, ends: &[char]) -> (String, &'a str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(ends).unwrap_or(text.len());
        return (text[..end].trim().to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}
