//! The first sentence of a Markdown text, in plain words.

/// The first sentence of the first paragraph, without the marks of Markdown. Lines of a paragraph are joined.
pub fn first_sentence(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.trim().is_empty());
    let paragraph: Vec<_> = lines
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let words = plain(&paragraph.join(" "));
    // A sentence ends where another begins; a colon before a list or a table ends it too.
    let end = words.find(". ").map_or(words.len(), |at| at + 1);
    words[..end].trim_end_matches(':').to_owned()
}

/// Text without backticks, and with the words of a link instead of the link.
fn plain(text: &str) -> String {
    let mut words = String::new();
    let mut rest = text;
    while let Some((before, link, after)) = next_link(rest) {
        words += before;
        words += link;
        rest = after;
    }
    (words + rest).replace('`', "")
}

/// The text before the first link, the words of the link, and the text after it.
fn next_link(text: &str) -> Option<(&str, &str, &str)> {
    let middle = text.find("](")?;
    let begin = text[..middle].rfind('[')?;
    let end = middle + text[middle..].find(')')?;
    Some((&text[..begin], &text[begin + 1..middle], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn the_first_sentence_of_a_page_has_no_marks() {
        for (text, expected) in [
            (
                "\n`bin/x`, 2026: two,\nthree. Four [d](d.json).\n\nFive.",
                "bin/x, 2026: two, three.",
            ),
            (
                "See [the document](a.json), 90 s:\n\n| a |",
                "See the document, 90 s",
            ),
            ("[a](b) and [c](d). E", "a and c."),
            ("odd [a](b and ](c", "odd [a](b and ](c"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text), expected, "{text}");
        }
    }
}
