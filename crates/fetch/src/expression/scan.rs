//! Words, numbers, texts and patterns at a position in an expression.

use super::ExpressionError;
use super::number::Number;
use super::value::Comparison;
use crate::error::excerpt;

/// A text and how far it was read.
pub(super) struct Scanner<'a> {
    pub text: &'a str,
    pub at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Takes this sign if it stands here.
    pub(super) fn sign(&mut self, sign: &str) -> bool {
        let is = self.rest().starts_with(sign);
        if is {
            self.at += sign.len();
        }
        is
    }

    /// The word that stands here, which is not taken.
    pub(super) fn word(&self) -> &'a str {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        &rest[..end]
    }

    /// Takes this word if it stands here, whole.
    pub(super) fn keyword(&mut self, word: &str) -> bool {
        let is = self.word() == word;
        if is {
            self.at += word.len();
        }
        is
    }

    /// Takes a keyword and the spaces behind it.
    pub(super) fn keyword_and_spaces(&mut self, word: &str) -> bool {
        let is = self.keyword(word);
        if is {
            self.skip_spaces();
        }
        is
    }

    /// Takes a sign that compares.
    pub(super) fn comparison(&mut self) -> Option<Comparison> {
        let mut signs = Comparison::SIGNS.iter();
        signs.find(|(sign, _)| self.sign(sign)).map(|(_, it)| *it)
    }

    /// Takes characters as long as they are some.
    pub(super) fn run(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Takes a text in quotes.
    pub(super) fn quoted(&mut self) -> Result<Option<String>, ExpressionError> {
        let Some(quote) = self
            .rest()
            .chars()
            .next()
            .filter(|c| matches!(c, '\'' | '"'))
        else {
            return Ok(None);
        };
        let begin = self.at;
        let mut text = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((index, character)) = characters.next() {
            match character {
                c if c == quote => {
                    self.at = begin + index + 1;
                    return Ok(Some(text));
                }
                '\\' => match characters.next().map(|(_, c)| c) {
                    Some('n') => text.push('\n'),
                    Some('r') => text.push('\r'),
                    Some('t') => text.push('\t'),
                    Some(c @ ('\\' | '\'' | '"')) => text.push(c),
                    _ => {
                        self.at = begin + index;
                        return Err(self.expected("\\\\, \\', \\\", \\n, \\r or \\t"));
                    }
                },
                c => text.push(c),
            }
        }
        self.at = self.text.len();
        Err(self.expected(&format!("the closing {quote} of the text")))
    }

    /// Takes a pattern between slashes; its source, and whether an `i` is behind it.
    pub(super) fn pattern(&mut self) -> Result<(&'a str, bool), ExpressionError> {
        if !self.sign("/") {
            return Err(self.expected("a pattern such as /in stock/"));
        }
        let rest = self.rest();
        let mut escaped = false;
        for (index, character) in rest.char_indices() {
            match character {
                '/' if !escaped => {
                    self.at += index + 1;
                    return Ok((&rest[..index], self.sign("i")));
                }
                '\\' => escaped = !escaped,
                _ => escaped = false,
            }
        }
        self.at = self.text.len();
        Err(self.expected("the closing / of the pattern"))
    }

    /// Takes a number.
    pub(super) fn number(&mut self) -> Option<Number> {
        let rest = self.rest();
        let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
        let begin = usize::from(rest.starts_with('-'));
        let whole = begin + digits(begin);
        if whole == begin {
            return None;
        }
        let end = match rest[whole..].starts_with('.') {
            true if digits(whole + 1) > 0 => whole + 1 + digits(whole + 1),
            _ => whole,
        };
        let behind = rest[end..].chars().next();
        if behind.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_')) {
            return None;
        }
        let number = rest[..end]
            .parse()
            .ok()
            .filter(|number: &Number| number.as_float().is_finite())?;
        self.at += end;
        Some(number)
    }

    /// That something else was expected here.
    pub(super) fn expected(&self, expected: &str) -> ExpressionError {
        let rest = self.rest();
        let found = match rest.chars().next() {
            None => "the end".to_owned(),
            Some(_) => {
                let end = rest
                    .char_indices()
                    .skip(1)
                    .find(|(_, c)| c.is_whitespace() || matches!(c, '(' | ')'));
                let end = end.map_or(rest.len(), |(index, _)| index);
                format!("{:?}", excerpt(&rest[..end], 30))
            }
        };
        ExpressionError {
            text: self.text.to_owned(),
            column: self.text[..self.at].chars().count() + 1,
            expected: expected.to_owned(),
            found,
        }
    }
}
