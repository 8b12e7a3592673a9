//! The text of one test of a record → the test.

use super::logic::Parsed;
use super::scan::Scanner;
use super::value::{Comparison, Literal, Pattern};
use super::{ExpressionError, Field, Test};

struct Parser<'a, 's> {
    scanner: &'s mut Scanner<'a>,
}

/// Reads one test of a record.
pub(super) fn test(scanner: &mut Scanner<'_>) -> Parsed<Test> {
    Parser { scanner }.test()
}

impl Parser<'_, '_> {
    fn test(&mut self) -> Parsed<Test> {
        let field = self.field()?;
        self.scanner.skip_spaces();
        let begin = self.scanner.at;
        if self.scanner.keyword_and_spaces("matches") || self.scanner.keyword_and_spaces("contains")
        {
            if !field.is_text() {
                self.scanner.at = begin;
                return Err(self.expected("==, `and`, `or` or the end"));
            }
            self.scanner.skip_spaces();
            return match self.scanner.text[begin..].starts_with('m') {
                true => self.pattern().map(|pattern| Test::Matches(field, pattern)),
                false => self
                    .contained()
                    .map(|text| Test::Compare(field, Comparison::Contains, text)),
            };
        }
        let sign = Comparison::SIGNS
            .iter()
            .find(|(sign, _)| self.scanner.sign(sign));
        let Some((_, comparison)) = sign else {
            return match self.scanner.rest().starts_with('=') {
                true => Err(self.expected("== to compare")),
                false => Ok(Test::Is(field)),
            };
        };
        let literal = self.literal(&field, *comparison)?;
        Ok(Test::Compare(field, *comparison, literal))
    }

    fn field(&mut self) -> Parsed<Field> {
        let begin = self.scanner.at;
        let word = self.scanner.word();
        self.scanner.at += word.len();
        let field = match word {
            "header" => self
                .name()?
                .map(|name| Field::Header(name.to_ascii_lowercase())),
            "column" => self.name()?.map(Field::Column),
            "taken" => self.name()?.map(Field::Taken),
            "json" => {
                if !self.scanner.sign(":") {
                    return Err(self.expected("a colon and a JSON pointer, as in json:/data/price"));
                }
                Some(Field::Json(self.pointer()?))
            }
            word => self.plain(word)?,
        };
        field.ok_or_else(|| {
            self.scanner.at = begin;
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
        if inner.is_empty() || !self.scanner.sign(".") {
            return Ok(Field::plain(word));
        }
        let second = self.scanner.word();
        match Field::plain(&[&inside, second].concat()) {
            Some(field) => {
                self.scanner.at += second.len();
                Ok(Some(field))
            }
            None => Err(self.expected(&either(&inner))),
        }
    }

    /// `.name` or `['name']`.
    fn name(&mut self) -> Parsed<Option<String>> {
        if self.scanner.sign(".") {
            let name = self
                .scanner
                .run(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
            return match name {
                "" => Err(self.expected("a name")),
                name => Ok(Some(name.to_owned())),
            };
        }
        if !self.scanner.sign("[") {
            return Err(self.expected("a dot and a name, or a name in brackets such as ['a name']"));
        }
        match self.scanner.quoted()? {
            Some(name) if self.scanner.sign("]") => Ok(Some(name)),
            Some(_) => Err(self.expected("a closing ]")),
            None => Err(self.expected("a name in quotes")),
        }
    }

    /// A JSON pointer, in quotes if there are spaces or signs in it.
    fn pointer(&mut self) -> Parsed<String> {
        let begin = self.scanner.at;
        let pointer = match self.scanner.quoted()? {
            Some(pointer) => pointer,
            None => {
                let belongs = |c: char| !c.is_whitespace() && !"()=!<>'\"".contains(c);
                self.scanner.run(belongs).to_owned()
            }
        };
        if !pointer.is_empty() && !pointer.starts_with('/') {
            self.scanner.at = begin;
            return Err(self.expected("a JSON pointer, which begins with /"));
        }
        Ok(pointer)
    }

    fn pattern(&mut self) -> Parsed<Pattern> {
        let begin = self.scanner.at;
        let (source, ignores_case) = self.scanner.pattern()?;
        let pattern = Pattern::new(source, ignores_case).map_err(|error| {
            self.scanner.at = begin;
            let error = error.to_string();
            let why = error
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            self.expected(&format!("a regular expression that can be read ({why})"))
        })?;
        self.scanner.skip_spaces();
        Ok(pattern)
    }

    fn contained(&mut self) -> Parsed<Literal> {
        let text = self.scanner.quoted()?;
        let text = text.ok_or_else(|| self.expected("a text in quotes such as 'in stock'"))?;
        self.scanner.skip_spaces();
        Ok(Literal::Text(text))
    }

    fn literal(&mut self, field: &Field, comparison: Comparison) -> Parsed<Literal> {
        self.scanner.skip_spaces();
        let begin = self.scanner.at;
        let literal = if let Some(text) = self.scanner.quoted()? {
            Literal::Text(text)
        } else if self.scanner.keyword_and_spaces("true") {
            Literal::Bool(true)
        } else if self.scanner.keyword_and_spaces("false") {
            Literal::Bool(false)
        } else if self.scanner.keyword_and_spaces("null") {
            Literal::Null
        } else if let Some(number) = self.scanner.number() {
            Literal::Number(number)
        } else {
            return Err(
                self.expected("a number, a text in quotes such as 'timeout', true, false or null")
            );
        };
        if let Some(instead) = field.objection(comparison, &literal) {
            self.scanner.at = begin;
            return Err(self.expected(&instead));
        }
        self.scanner.skip_spaces();
        Ok(literal)
    }

    fn expected(&self, expected: &str) -> ExpressionError {
        self.scanner.expected(expected)
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
