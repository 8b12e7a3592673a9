//! The name by which robots.txt knows a robot: the product token of its User-Agent (RFC 9309 §2.2.1).

/// The sign before the name of a robot that calls itself a browser.
const COMPATIBLE: &str = "compatible;";

/// The name that a User-Agent gives: its first product, or the one after `compatible;`, as in
/// `Mozilla/5.0 (compatible; ExampleBot/1.2; +https://example.com/bot)`. None if there is no such token.
pub fn name_of(user_agent: &str) -> Option<&str> {
    let lower = user_agent.to_ascii_lowercase();
    let behind = lower
        .find(COMPATIBLE)
        .map(|at| &user_agent[at + COMPATIBLE.len()..]);
    let name = token(behind.unwrap_or(user_agent).trim_start());
    (!name.is_empty()).then_some(name)
}

/// Whether a group for `named` is one for this robot: the name without its version, whatever the case of letters.
pub(super) fn is_same(named: &str, robot: &str) -> bool {
    let named = token(named);
    !named.is_empty() && named.eq_ignore_ascii_case(token(robot))
}

/// The beginning of a text, as far as it may be a name.
fn token(text: &str) -> &str {
    let end = text.find(|c: char| !is_of_name(c));
    &text[..end.unwrap_or(text.len())]
}

/// Whether a text is such a name and nothing else.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_of_name)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_token_is_the_name() {
        for (user_agent, name) in [
            ("hecaton/0.1.0", Some("hecaton")),
            ("My-Bot_x", Some("My-Bot_x")),
            (" spaced/1", Some("spaced")),
            (
                "Mozilla/5.0 (compatible; ExampleBot/1.2; +https://e.example)",
                Some("ExampleBot"),
            ),
            (
                "Mozilla/5.0 (X11; Linux) Chrome/1 (Compatible;GoodBot; +x)",
                Some("GoodBot"),
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
                Some("Mozilla"),
            ),
            ("(nothing)", None),
            ("", None),
        ] {
            assert_eq!(name_of(user_agent), name, "{user_agent}");
        }
        assert!(is_name("Bot-1") && !is_name("Bot/1") && !is_name(""));
    }
}
