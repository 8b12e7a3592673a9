//! The names of a list's columns, each once, in the order in which they came.

use std::collections::HashSet;

/// Most names that are kept. In a hostile list, each row may have other columns.
const MOST: usize = 1000;

/// The names of columns in their order.
#[derive(Default)]
pub(super) struct ColumnNames {
    list: Vec<String>,
    known: HashSet<String>,
}

impl ColumnNames {
    /// Adds the names that are new.
    pub fn note<'a>(&mut self, names: impl IntoIterator<Item = &'a String>) {
        for name in names {
            if self.list.len() < MOST && !self.known.contains(name) {
                self.known.insert(name.clone());
                self.list.push(name.clone());
            }
        }
    }

    pub fn list(&self) -> &[String] {
        &self.list
    }
}
