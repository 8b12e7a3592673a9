//! The fields that a job's records can have. An expression that names another field is refused.

use super::{Expression, Field};
use crate::record::listed;

/// The fields beside those that every record has.
pub struct KnownFields<'a> {
    /// The columns of the input.
    pub columns: &'a [String],
    /// The names of what is taken of bodies.
    pub taken: Vec<String>,
    /// The recorded headers, in lower case; none when all are at hand.
    pub headers: Option<Vec<String>>,
    /// Whether bodies are at hand.
    pub bodies: bool,
}

impl Expression {
    /// Refuses a field that no record has.
    ///
    /// # Errors
    /// Which one, and what there is instead.
    pub fn check(&self, known: &KnownFields<'_>) -> Result<(), String> {
        self.fields()
            .into_iter()
            .try_for_each(|field| known.has(field))
            .map_err(|why| format!("the expression '{self}' names {why}"))
    }
}

impl KnownFields<'_> {
    fn has(&self, field: &Field) -> Result<(), String> {
        match field {
            Field::Column(name) if !self.columns.contains(name) => Err(format!(
                "the column {name:?}, which the input does not have: it has {}",
                listed(self.columns)
            )),
            Field::Taken(name) if !self.taken.contains(name) => Err(format!(
                "taken.{name}, and nothing is taken under that name: the job takes {}",
                listed(&self.taken)
            )),
            Field::Header(name) => match &self.headers {
                Some(kept) if !kept.contains(name) => Err(format!(
                    "the header {name:?}, which the records do not have (--keep-header when a job is begun): they have {}",
                    listed(kept)
                )),
                _ => Ok(()),
            },
            Field::Body | Field::Json(_) if !self.bodies => Err(
                "the body, which the records do not hold: --keep-body inline, when a job is begun, keeps it there".into(),
            ),
            _ => Ok(()),
        }
    }
}
