//! The text of one test of a record → the test.

use super::logic::Parsed;
use super::scan::Scanner;
use super::value::{Comparison, Literal, Pattern};
use super::{Field, Test};

impl Scanner<'_> {
    /// Reads one test of a record.
    pub(super) fn test(&mut self) -> Parsed<Test> {
        let field = self.field()?;
        self.skip_spaces();
        let begin = self.at;
        if self.keyword_and_spaces("matches") || self.keyword_and_spaces("contains") {
            if !field.is_text() {
                self.at = begin;
                return Err(self.expected("==, `and`, `or` or the end"));
            }
            self.skip_spaces();
            return match self.text[begin..].starts_with('m') {
                true => self.regex().map(|pattern| Test::Matches(field, pattern)),
                false => self
                    .contained()
                    .map(|text| Test::Compare(field, Comparison::Contains, text)),
            };
        }
        let Some(comparison) = self.comparison() else {
            return match self.rest().starts_with('=') {
                true => Err(self.expected("== to compare")),
                false => Ok(Test::Is(field)),
            };
        };
        let literal = self.literal(&field, comparison)?;
        Ok(Test::Compare(field, comparison, literal))
    }

    fn field(&mut self) -> Parsed<Field> {
        let begin = self.at;
        let word = self.word();
        self.at += word.len();
        let field = match word {
            "header" => self
                .name()?
                .map(|name| Field::Header(name.to_ascii_lowercase())),
            "column" => self.name()?.map(Field::Column),
            "taken" => self.name()?.map(Field::Taken),
            "json" => {
                if !self.sign(":") {
                    return Err(self.expected("a colon and a JSON pointer, as in json:/data/price"));
                }
                Some(Field::Json(self.pointer()?))
            }
            word => self.plain(word)?,
        };
        field.ok_or_else(|| {
            self.at = begin;
            let words: Vec<&str> = Field::words().collect();
            let words = words.join(", ");
            self.expected(&format!(
                "{words}, header.NAME, column.NAME, taken.NAME, json:/POINTER, `not` or a bracket"
            ))
        })
    }

    /// A field without a parameter, such as `status` or `ms.wait`.
    fn plain(&mut self, word: &str) -> Parsed<Option<Field>> {
        let inside = format!("{word}.");
        let inner: Vec<&str> = Field::words()
            .filter_map(|it| it.strip_prefix(&*inside))
            .collect();
        if inner.is_empty() || !self.sign(".") {
            return Ok(Field::plain(word));
        }
        let second = self.word();
        match Field::plain(&[&inside, second].concat()) {
            Some(field) => {
                self.at += second.len();
                Ok(Some(field))
            }
            None => Err(self.expected(&either(&inner))),
        }
    }

    /// `.name` or `['name']`.
    fn name(&mut self) -> Parsed<Option<String>> {
        if self.sign(".") {
            let name = self.run(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
            return match name {
                "" => Err(self.expected("a name")),
                name => Ok(Some(name.to_owned())),
            };
        }
        if !self.sign("[") {
            return Err(self.expected("a dot and a name, or a name in brackets such as ['a name']"));
        }
        match self.quoted()? {
            Some(name) if self.sign("]") => Ok(Some(name)),
            Some(_) => Err(self.expected("a closing ]")),
            None => Err(self.expected("a name in quotes")),
        }
    }

    /// A JSON pointer, in quotes if there are spaces or signs in it.
    fn pointer(&mut self) -> Parsed<String> {
        let begin = self.at;
        let pointer = match self.quoted()? {
            Some(pointer) => pointer,
            None => {
                let belongs = |c: char| !c.is_whitespace() && !"()=!<>'\"".contains(c);
                self.run(belongs).to_owned()
            }
        };
        if !pointer.is_empty() && !pointer.starts_with('/') {
            self.at = begin;
            return Err(self.expected("a JSON pointer, which begins with /"));
        }
        Ok(pointer)
    }

    fn regex(&mut self) -> Parsed<Pattern> {
        let begin = self.at;
        let (source, ignores_case) = self.pattern()?;
        let pattern = Pattern::new(source, ignores_case).map_err(|error| {
            self.at = begin;
            let error = error.to_string();
            let why = error
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            self.expected(&format!("a regular expression that can be read ({why})"))
        })?;
        self.skip_spaces();
        Ok(pattern)
    }

    fn contained(&mut self) -> Parsed<Literal> {
        let text = self.quoted()?;
        let text = text.ok_or_else(|| self.expected("a text in quotes such as 'in stock'"))?;
        self.skip_spaces();
        Ok(Literal::Text(text))
    }

    fn literal(&mut self, field: &Field, comparison: Comparison) -> Parsed<Literal> {
        self.skip_spaces();
        let begin = self.at;
        let literal = if let Some(text) = self.quoted()? {
            Literal::Text(text)
        } else if self.keyword_and_spaces("true") {
            Literal::Bool(true)
        } else if self.keyword_and_spaces("false") {
            Literal::Bool(false)
        } else if self.keyword_and_spaces("null") {
            Literal::Null
        } else if let Some(number) = self.number() {
            Literal::Number(number)
        } else {
            return Err(
                self.expected("a number, a text in quotes such as 'timeout', true, false or null")
            );
        };
        if let Some(instead) = field.objection(comparison, &literal) {
            self.at = begin;
            return Err(self.expected(&instead));
        }
        self.skip_spaces();
        Ok(literal)
    }
}

/// `a, b or c`.
fn either(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, first)) => format!("{} or {last}", first.join(", ")),
        None => String::new(),
    }
}
