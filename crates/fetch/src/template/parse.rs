//! The text of a template → its parts.

/// How the value of a column goes into a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Escaped: `{name}`.
    Escaped,
    /// Escaped, and it may be empty: `{name?}`.
    Optional,
    /// As it is: `{+name}`.
    Raw,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fragment {
    Text(String),
    /// A column, and how it goes in.
    Column(String, Manner),
}

/// Texts and columns in order; no text is empty, and none follows another.
pub(super) fn parts(template: &str) -> Vec<Fragment> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((literal, length)) = escaped(rest) {
            text.push_str(literal);
            rest = &rest[length..];
        } else if let Some((column, length)) = column(rest) {
            if !text.is_empty() {
                parts.push(Fragment::Text(std::mem::take(&mut text)));
            }
            parts.push(column);
            rest = &rest[length..];
        } else {
            text.push('{');
            rest = &rest[1..];
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        parts.push(Fragment::Text(text));
    }
    parts
}

/// `{{name}}` at the beginning: the text it stands for, and its length.
fn escaped(text: &str) -> Option<(&str, usize)> {
    let (_, inner) = column(text.strip_prefix('{')?)?;
    let length = inner + 2;
    text[1 + inner..]
        .starts_with('}')
        .then(|| (&text[1..1 + inner], length))
}

/// `{name}`, `{name?}` or `{+name}` at the beginning, and its length.
fn column(text: &str) -> Option<(Fragment, usize)> {
    let inside = text.strip_prefix('{')?;
    let inside = &inside[..inside.find(['}', '{'])?];
    if !text[1 + inside.len()..].starts_with('}') {
        return None;
    }
    let (name, manner) = match (inside.strip_prefix('+'), inside.strip_suffix('?')) {
        (Some(name), _) => (name, Manner::Raw),
        (None, Some(name)) => (name, Manner::Optional),
        (None, None) => (inside, Manner::Escaped),
    };
    is_name(name).then(|| (Fragment::Column(name.to_owned(), manner), inside.len() + 2))
}

/// Letters, digits, `_`, and between them also spaces, dots and hyphens.
fn is_name(text: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | ' ' | '.' | '-');
    let outer = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.chars().all(inner) && outer(text.chars().next()) && outer(text.chars().next_back())
}
