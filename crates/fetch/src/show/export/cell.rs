//! Where in a record the value of a column is.

use crate::record::{Cell, Name, Record, of_json};

/// Where in a record a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CellSource {
    Named(&'static Name),
    Column(String),
    Header(String),
    Taken(String),
}

impl CellSource {
    pub(super) fn of<'a>(&self, record: &'a Record) -> Cell<'a> {
        let text = |value: Option<&'a String>| {
            value.map_or(Cell::Nothing, |value| Cell::Text(value.into()))
        };
        match self {
            CellSource::Named(name) => (name.read)(record),
            CellSource::Column(name) => text(record.columns.get(name)),
            CellSource::Header(name) => text(record.headers.get(name)),
            CellSource::Taken(name) => record.taken.get(name).map_or(Cell::Nothing, of_json),
        }
    }
}
