//! Which columns a table of these records has.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::cell::CellSource;
use crate::record::{Cell, FIELDS, Kind, Name, Record, Used, names, of_json};

/// Most columns of one sort. Records of hostile inputs may each bring some of their own.
const MOST: usize = 1000;

/// Learns which columns the records have, in the first pass.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    columns: IndexMap<String, ()>,
    headers: IndexMap<String, ()>,
    taken: IndexMap<String, Option<Kind>>,
    /// Taken values that are integers in a record, and have no equal float.
    exact: HashSet<String>,
    /// Names that are columns only if a record has a value.
    there: HashSet<&'static Name>,
    /// Whether the rows are items, which have few of the columns of records.
    is_of_items: bool,
}

/// A column of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub name: String,
    pub kind: Kind,
    pub source: CellSource,
}

impl Layout {
    /// That of items, or of records.
    pub fn of_items(is_of_items: bool) -> Layout {
        Layout {
            is_of_items,
            ..Layout::default()
        }
    }

    /// Learns the columns of one more record.
    pub fn add(&mut self, record: &Record) {
        learn(&mut self.columns, record.columns.keys());
        learn(&mut self.headers, record.headers.keys());
        for (name, value) in &record.taken {
            let kind = of_json(value).kind();
            if has_no_float(&of_json(value)) && !self.exact.contains(name) {
                self.exact.insert(name.clone());
            }
            let is_full = self.taken.len() >= MOST;
            match self.taken.get_mut(name) {
                Some(known) => *known = both(*known, kind),
                None if is_full => {}
                None => {
                    self.taken.insert(name.clone(), kind);
                }
            }
        }
        for name in names().filter(|name| name.used != Used::Everywhere) {
            if !self.there.contains(name) && (name.read)(record) != Cell::Nothing {
                self.there.insert(name);
            }
        }
    }

    /// All columns, in the order in which a record has them. The name of a column, a header or a taken value that
    /// exists already gets a prefix.
    pub(super) fn columns(&self) -> Vec<Column> {
        let mut table = Table {
            columns: Vec::new(),
            is_of_items: self.is_of_items,
        };
        for field in FIELDS {
            for name in field.names.iter().filter(|name| self.has(name)) {
                table.columns.push(Column {
                    name: name.column(),
                    kind: name.kind,
                    source: CellSource::Named(name),
                });
            }
            match field.key {
                "columns" => self.columns.keys().for_each(|name| {
                    let source = CellSource::Column(name.clone());
                    table.push(name.clone(), "input_", Kind::Text, source);
                }),
                "headers" => self.headers.keys().for_each(|name| {
                    let column = format!("header_{}", name.replace('-', "_"));
                    let source = CellSource::Header(name.clone());
                    table.push(column, "header_", Kind::Text, source);
                }),
                "taken" => self.taken.iter().for_each(|(name, kind)| {
                    // As floats, some of its integers would be others.
                    let kind =
                        kind.filter(|kind| *kind != Kind::Number || !self.exact.contains(name));
                    let kind = kind.unwrap_or(Kind::Text);
                    let source = CellSource::Taken(name.clone());
                    table.push(name.clone(), "taken_", kind, source);
                }),
                _ => {}
            }
        }
        table.columns
    }

    fn has(&self, name: &Name) -> bool {
        let is_used = name.used == Used::Everywhere || self.there.contains(name);
        is_used && is_declared(&name.column(), self.is_of_items)
    }
}

/// The columns so far.
struct Table {
    columns: Vec<Column>,
    is_of_items: bool,
}

impl Table {
    /// Adds a column that belongs to this job. Databases take names that differ by case alone for one.
    fn push(&mut self, mut name: String, prefix: &str, kind: Kind, source: CellSource) {
        let is_free = |name: &str| {
            let is_other = |column: &Column| !column.name.eq_ignore_ascii_case(name);
            self.columns.iter().all(is_other) && !is_declared(name, self.is_of_items)
        };
        while !is_free(&name) {
            name.insert_str(0, prefix);
        }
        self.columns.push(Column { name, kind, source });
    }
}

/// Whether it is an integer that a float would change.
fn has_no_float(cell: &Cell<'_>) -> bool {
    const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;
    matches!(cell, Cell::Integer(integer) if integer.unsigned_abs() > EXACT)
}

/// The kind of a column with both; none for nothing yet.
fn both(one: Option<Kind>, other: Option<Kind>) -> Option<Kind> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.and(other)),
        (one, other) => one.or(other),
    }
}

/// Whether a column belongs to all records, or to all items.
fn is_declared(column: &str, is_of_items: bool) -> bool {
    match is_of_items {
        true => ["n", "page"]
            .iter()
            .any(|name| name.eq_ignore_ascii_case(column)),
        false => names().any(|name| name.column().eq_ignore_ascii_case(column)),
    }
}

fn learn<'a>(known: &mut IndexMap<String, ()>, names: impl Iterator<Item = &'a String>) {
    for name in names {
        if known.len() < MOST && !known.contains_key(name) {
            known.insert(name.clone(), ());
        }
    }
}
