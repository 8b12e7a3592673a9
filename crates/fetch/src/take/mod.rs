//! Values from bodies: `price=/data/price`, `next=css:a.next@href`, `id=re:sku-(\d+)`.
//!
//! There are three forms: a JSON pointer, a CSS selector (the text or an attribute of the element), and a regular
//! expression (its first group, or the whole match). `name[]=` takes a list of all matches. A missing value is null.
//! `page` reads bodies as text and as HTML. `tree` limits the memory of a page, and `alone` that of all bodies that are
//! searched.

use std::fmt;

use regex::{Regex, RegexBuilder};
use scraper::Selector;
use serde_json::{Map, Value};

use crate::expression::pointer;

mod alone;
mod next;
mod page;
mod parameters;
mod tree;

pub use self::alone::{Alone, LARGE};
pub use self::next::{Found, Next};
pub use self::parameters::parameters;
use self::tree::Page;

/// Most matches of a list.
const MOST: usize = 10_000;

/// Most text of a list, in bytes. The text of an element is also in the texts of the elements around it.
const MOST_TEXT: usize = 4 << 20;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeError(String);

impl fmt::Display for TakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TakeError {}

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
    pub fn take(&self, body: &[u8], content_type: Option<&str>) -> Value {
        self.of(&mut Read::new(body, content_type))
    }

    fn of(&self, read: &mut Read<'_>) -> Value {
        match &self.from {
            From::Pointer(pointer) => match (pointer::exactly_at(read.body, pointer), self.all) {
                (Some(Value::Array(list)), true) => Value::Array(list),
                (Some(one), true) => Value::Array(vec![one]),
                (None, true) => Value::Array(Vec::new()),
                (found, false) => found.unwrap_or_default(),
            },
            From::Css(selector, attribute) => {
                let texts = read
                    .html()
                    .select(selector)
                    .filter_map(|element| match attribute {
                        Some(name) => element.attr(name).map(str::to_owned),
                        None => Some(page::text_of(element)),
                    });
                self.first_or_all(texts)
            }
            From::Pattern(pattern) => {
                let texts = pattern.captures_iter(read.text()).filter_map(|found| {
                    let group = if found.len() > 1 { 1 } else { 0 };
                    found.get(group).map(|part| part.as_str().to_owned())
                });
                self.first_or_all(texts)
            }
        }
    }

    fn first_or_all(&self, mut texts: impl Iterator<Item = String>) -> Value {
        match self.all {
            true => {
                let mut room = MOST_TEXT;
                let fits = |text: &String| {
                    let rest = room.checked_sub(text.len());
                    room = rest.unwrap_or(0);
                    rest.is_some()
                };
                let texts = texts.take(MOST).take_while(fits);
                texts.map(Value::String).collect()
            }
            false => texts.next().map_or(Value::Null, Value::String),
        }
    }
}

/// Why the values of a body cannot be taken, if it is not what they are taken from: JSON pointers need JSON.
pub fn mismatch(takes: &[Take], taken: &Map<String, Value>, body: &[u8]) -> Option<String> {
    let lacks = |take: &&Take| {
        let taken = taken.get(&take.name);
        let is_missing =
            taken.is_none_or(|value| value.is_null() || *value == Value::Array(Vec::new()));
        matches!(take.from, From::Pointer(_)) && is_missing
    };
    let take = takes.iter().find(lacks)?;
    (!pointer::is_json(body)).then(|| {
        format!(
            "the body is not JSON, and --take {}=… needs JSON",
            take.name
        )
    })
}

/// Takes all of these from one body, which is parsed once.
pub fn take_all(takes: &[Take], body: &[u8], content_type: Option<&str>) -> Map<String, Value> {
    let mut read = Read::new(body, content_type);
    let named = takes
        .iter()
        .map(|take| (take.name.clone(), take.of(&mut read)));
    named.collect()
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
        Err(error) => Err(format!(
            "has a CSS selector that cannot be read: {}",
            first_line(&error.to_string())
        )),
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
    text: Option<std::borrow::Cow<'a, str>>,
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

    fn text(&mut self) -> &str {
        self.text
            .get_or_insert_with(|| page::text(self.body, self.content_type))
    }

    fn html(&mut self) -> &scraper::Html {
        let parse = || {
            let beginning = &self.body[..self.body.len().min(page::MOST)];
            page::html(&page::text(beginning, self.content_type))
        };
        &self.page.get_or_insert_with(parse).html
    }
}

#[cfg(test)]
mod tests;
