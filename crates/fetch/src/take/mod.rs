//! Values from bodies: `price=/data/price`, `next=css:a.next@href`, `id=re:sku-(\d+)`.
//!
//! There are three forms: a JSON pointer, a CSS selector (the text or an attribute of the element), and a regular
//! expression (its first group, or the whole match). `name[]=` takes a list of all matches. A missing value is null, and
//! a value that cannot be read, or is too large or too deep for a record, is an error.
//! `page` reads bodies as text and as HTML. `tree` limits the memory of a page, and `alone` that of all bodies that are
//! searched.

use regex::{Regex, RegexBuilder};
use scraper::Selector;
use serde_json::{Map, Value};

use crate::expression::pointer;

mod alone;
mod matches;
mod next;
mod page;
mod parameters;
mod tree;

pub use self::alone::{Alone, LARGE};
pub use self::matches::Matches;
pub use self::next::{Found, Next};
pub use self::parameters::parameters;
use self::tree::Page;

/// Most matches of a list.
const MOST: usize = 10_000;

/// Most text of a value, in bytes. The text of an element is also in the texts of the elements around it.
const MOST_TEXT: usize = 4 << 20;

/// Most text of all values of a body. With it, a record is far shorter than what readers of records accept.
const MOST_TAKEN: usize = 8 << 20;

/// The sentence about what is missing of a page or a text.
const TOO_LARGE: &str = "the body is too large to be searched to its end";

/// How the element begins that says where the relative URLs of a page begin.
const BASE: &[u8] = b"<base";

/// A value to take from every body.
#[derive(Clone, Debug)]
pub struct Take {
    name: String,
    all: bool,
    from: From,
}

#[derive(Clone, Debug)]
enum From {
    Pointer(String),
    Css(Selector, Option<String>),
    Pattern(Regex),
}

/// A `--take` that cannot be used, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TakeError(String);

impl Take {
    /// Reads `name=/json/pointer`, `name=css:selector`, `name=css:selector@attribute` or `name=re:pattern`.
    pub fn parse(text: &str) -> Result<Take, TakeError> {
        let wrong = |why: &str| TakeError(format!("the take {text:?} {why}"));
        let forms = "write NAME=/json/pointer, NAME=css:SELECTOR or NAME=re:PATTERN";
        let (name, from) = text
            .split_once('=')
            .ok_or_else(|| wrong(&format!("has no name: {forms}")))?;
        let (name, all) = match name.trim().strip_suffix("[]") {
            Some(name) => (name, true),
            None => (name.trim(), false),
        };
        if name.is_empty() {
            return Err(wrong(&format!("has no name: {forms}")));
        }
        let from = if let Some(selector) = from.strip_prefix("css:") {
            css(selector).map_err(|why| wrong(&why))?
        } else if let Some(pattern) = from.strip_prefix("re:") {
            let regex = RegexBuilder::new(pattern).size_limit(1 << 20).build();
            From::Pattern(regex.map_err(|error| {
                wrong(&format!(
                    "has a regular expression that cannot be read: {}",
                    last_line(&error)
                ))
            })?)
        } else if from.is_empty() || from.starts_with('/') {
            From::Pointer(from.to_owned())
        } else {
            return Err(wrong(&format!("does not say from where: {forms}")));
        };
        Ok(Take {
            name: name.to_owned(),
            all,
            from,
        })
    }

    /// Its name in the results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value in a body of this type; null if there is none.
    ///
    /// # Errors
    /// Why nobody knows, or why it cannot be recorded.
    pub fn take(&self, body: &[u8], content_type: Option<&str>) -> Result<Value, String> {
        self.of(&mut Read::new(body, content_type))
    }

    /// As [`of`](Take::of), but a number of JSON is a text, as it is written.
    fn written(&self, read: &mut Read<'_>) -> Result<Value, String> {
        match &self.from {
            From::Pointer(pointer) => {
                Ok(pointer::written_at(read.body, pointer)?.unwrap_or_default())
            }
            From::Css(..) | From::Pattern(_) => self.of(read),
        }
    }

    /// Where the relative URLs of a page begin that this is taken from, if the page says that.
    fn base(&self, read: &mut Read<'_>) -> Option<String> {
        let is_page = match &self.from {
            From::Pointer(_) => false,
            From::Css(..) => true,
            From::Pattern(_) => {
                let (text, _) = read.text();
                let mut places = text.as_bytes().windows(BASE.len());
                places.any(|place| place.eq_ignore_ascii_case(BASE))
            }
        };
        is_page.then(|| page::base(read.page()))?
    }

    fn of(&self, read: &mut Read<'_>) -> Result<Value, String> {
        Ok(self.find(read)?.unwrap_or_else(|| self.nothing()))
    }

    /// The value of a body without one.
    fn nothing(&self) -> Value {
        match self.all {
            true => Value::Array(Vec::new()),
            false => Value::Null,
        }
    }

    /// The value, if the body has its place. A place may hold null or an empty list.
    fn find(&self, read: &mut Read<'_>) -> Result<Option<Value>, String> {
        match &self.from {
            From::Pointer(pointer) => {
                let found = pointer::found_at(read.body, pointer)?;
                Ok(found.map(|found| match (found, self.all) {
                    (Value::Null, true) => self.nothing(),
                    (one @ Value::Array(_), true) | (one, false) => one,
                    (one, true) => Value::Array(vec![one]),
                }))
            }
            From::Css(selector, attribute) => {
                let page = read.page();
                let elements = page.html.select(selector);
                let texts = elements.filter_map(|element| match attribute {
                    Some(name) => element.attr(name).map(str::to_owned),
                    None => Some(page::text_of(element)),
                });
                self.first_or_all(texts, page.is_cut)
            }
            From::Pattern(pattern) => {
                let (text, is_cut) = read.text();
                let texts = pattern.captures_iter(text).filter_map(|found| {
                    let group = if found.len() > 1 { 1 } else { 0 };
                    found.get(group).map(|part| part.as_str().to_owned())
                });
                self.first_or_all(texts, *is_cut)
            }
        }
    }

    fn first_or_all(
        &self,
        texts: impl Iterator<Item = String>,
        is_cut: bool,
    ) -> Result<Option<Value>, String> {
        let most = if self.all { MOST } else { 1 };
        let (mut found, mut length) = (Vec::new(), 0);
        for text in texts {
            if found.len() == most {
                match self.all {
                    true => return Err(format!("there are more than {MOST} matches")),
                    false => break,
                }
            }
            length += text.len();
            if length > MOST_TEXT {
                return Err("the matches have more than 4 MiB".to_owned());
            }
            found.push(Value::String(text));
        }
        if is_cut && (self.all || found.is_empty()) {
            return Err(TOO_LARGE.to_owned());
        }
        Ok(match self.all {
            true => (!found.is_empty()).then_some(Value::Array(found)),
            false => found.pop(),
        })
    }
}

/// The values of a body by name.
#[derive(Debug, Default)]
pub struct Taken {
    /// The values. One that could not be taken is null, or an empty list.
    pub values: Map<String, Value>,
    /// The names of those whose place the body does not have.
    pub missing: Vec<String>,
    /// Which could not be taken, and why.
    pub why: Option<String>,
}

/// Takes all of these from one body, which is parsed once.
pub fn take_all(takes: &[Take], body: &[u8], content_type: Option<&str>) -> Taken {
    let mut read = Read::new(body, content_type);
    let (mut taken, mut length) = (Taken::default(), 0);
    for take in takes {
        let found = take.find(&mut read).and_then(|found| {
            length += found.as_ref().map_or(0, text_in);
            match length > MOST_TAKEN {
                true => Err("the values of this body have more than 8 MiB".to_owned()),
                false => Ok(found),
            }
        });
        let found = found.unwrap_or_else(|why| {
            let list = if take.all { "[]" } else { "" };
            let why = format!("--take {}{list} takes nothing: {why}", take.name);
            taken.why.get_or_insert(why);
            None
        });
        let value = found.unwrap_or_else(|| {
            taken.missing.push(take.name.clone());
            take.nothing()
        });
        taken.values.insert(take.name.clone(), value);
    }
    taken
}

/// How many bytes of text are in a value.
fn text_in(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_in).sum(),
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(name, value)| name.len() + text_in(value))
                .sum()
        }
        _ => 0,
    }
}

/// A selector, and the attribute behind the last `@`, if it is a plain name.
fn css(text: &str) -> Result<From, String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'))
    };
    let (selector, attribute) = match text.rsplit_once('@') {
        Some((selector, name)) if is_name(name) => (selector, Some(name.to_ascii_lowercase())),
        _ => (text, None),
    };
    if selector.trim().is_empty() {
        return Err("has an empty CSS selector".to_owned());
    }
    match Selector::parse(selector) {
        Ok(selector) => Ok(From::Css(selector, attribute)),
        Err(error) => {
            let error = error.to_string();
            // The parser asks for a report where it has no words for an error.
            let why = match first_line(&error) {
                why if why.contains("report this") => "write it as in a stylesheet",
                why => why,
            };
            Err(format!("has a CSS selector that cannot be read: {why}"))
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn last_line(error: &regex::Error) -> String {
    let error = error.to_string();
    error
        .lines()
        .last()
        .unwrap_or_default()
        .trim_start_matches("error: ")
        .to_owned()
}

/// A body, parsed once in each way that is needed.
struct Read<'a> {
    body: &'a [u8],
    content_type: Option<&'a str>,
    /// With whether it is cut off.
    text: Option<(std::borrow::Cow<'a, str>, bool)>,
    page: Option<Page>,
}

impl<'a> Read<'a> {
    fn new(body: &'a [u8], content_type: Option<&'a str>) -> Read<'a> {
        Read {
            body,
            content_type,
            text: None,
            page: None,
        }
    }

    fn text(&mut self) -> &(std::borrow::Cow<'a, str>, bool) {
        self.text
            .get_or_insert_with(|| page::text(self.body, self.content_type))
    }

    fn page(&mut self) -> &Page {
        let parse = || {
            let beginning = &self.body[..self.body.len().min(page::MOST)];
            let mut page = page::html(&page::text(beginning, self.content_type).0);
            page.is_cut |= self.body.len() > page::MOST;
            page
        };
        self.page.get_or_insert_with(parse)
    }
}

#[cfg(test)]
mod tests;
