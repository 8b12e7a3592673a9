//! Which columns a table of these records has.

use indexmap::IndexMap;

use super::cell::{BODY, Cell, CellSource, FIXED, Kind, of_json};
use crate::record::Record;

/// Most columns of one sort. Records of hostile inputs may each bring some of their own.
const MOST: usize = 1000;

/// Learns which columns the records have, in the first pass.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    columns: IndexMap<String, ()>,
    headers: IndexMap<String, ()>,
    taken: IndexMap<String, Option<Kind>>,
    body: [bool; BODY.len()],
}

/// A column of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub name: String,
    pub kind: Kind,
    pub source: CellSource,
}

impl Layout {
    /// Learns the columns of one more record.
    pub fn add(&mut self, record: &Record) {
        learn(&mut self.columns, record.columns.keys());
        learn(&mut self.headers, record.headers.keys());
        for (name, value) in &record.taken {
            let kind = of_json(value).kind();
            let is_full = self.taken.len() >= MOST;
            match self.taken.get_mut(name) {
                Some(known) => *known = both(*known, kind),
                None if is_full => {}
                None => {
                    self.taken.insert(name.clone(), kind);
                }
            }
        }
        for (index, (_, _, read)) in BODY.iter().enumerate() {
            self.body[index] |= read(record) != Cell::Nothing;
        }
    }

    /// All columns in their order: number and line, the input's, the request's and the response's, headers, taken
    /// values, bodies. A name that exists already gets a prefix.
    pub(super) fn columns(&self) -> Vec<Column> {
        let mut table = Vec::new();
        let mut push = |name: &str, prefix: &str, kind, source| {
            let is_free = |name: &str| {
                !table.iter().any(|column: &Column| column.name == name) && !is_fixed(name)
            };
            let always = matches!(source, CellSource::Fixed(_) | CellSource::Body(_));
            let mut name = match (always, prefix) {
                (false, "header_") => format!("header_{}", name.replace('-', "_")),
                _ => name.to_owned(),
            };
            while !always && !is_free(&name) {
                name.insert_str(0, prefix);
            }
            table.push(Column { name, kind, source });
        };
        for (index, (name, kind, _)) in FIXED.iter().enumerate().take(2) {
            push(name, "", *kind, CellSource::Fixed(index));
        }
        for name in self.columns.keys() {
            push(name, "input_", Kind::Text, CellSource::Column(name.clone()));
        }
        for (index, (name, kind, _)) in FIXED.iter().enumerate().skip(2) {
            push(name, "", *kind, CellSource::Fixed(index));
        }
        for name in self.headers.keys() {
            push(
                name,
                "header_",
                Kind::Text,
                CellSource::Header(name.clone()),
            );
        }
        for (name, kind) in &self.taken {
            push(
                name,
                "taken_",
                kind.unwrap_or(Kind::Text),
                CellSource::Taken(name.clone()),
            );
        }
        for (index, (name, kind, _)) in BODY
            .iter()
            .enumerate()
            .filter(|(index, _)| self.body[*index])
        {
            push(name, "", *kind, CellSource::Body(index));
        }
        table
    }
}

/// The kind of a column with both; none for nothing yet.
fn both(one: Option<Kind>, other: Option<Kind>) -> Option<Kind> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.and(other)),
        (one, other) => one.or(other),
    }
}

fn is_fixed(name: &str) -> bool {
    FIXED.iter().chain(&BODY).any(|(fixed, ..)| *fixed == name)
}

fn learn<'a>(known: &mut IndexMap<String, ()>, names: impl Iterator<Item = &'a String>) {
    for name in names {
        if known.len() < MOST && !known.contains_key(name) {
            known.insert(name.clone(), ());
        }
    }
}
