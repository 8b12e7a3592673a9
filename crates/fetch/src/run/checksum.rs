//! SHA-256 of bodies: recorded with `--sha256`, and compared with a column of the input with `--verify`.

use ring::digest::{SHA256, digest};

use crate::error::{Error, Result};
use crate::job::ResultSettings;
use crate::plan::{Content, Planned};
use crate::record::listed;

/// The `why` of a response whose body differs.
pub const WHY: &str = "checksum";

/// The algorithm, in `--verify` and in columns.
const PREFIX: &str = "sha256:";

/// Which SHA-256 are made, and what they are compared with.
pub struct Checksums {
    /// Whether they are made.
    pub is_made: bool,
    column: Option<String>,
}

impl Checksums {
    /// Those of a job.
    ///
    /// # Errors
    /// When `verify` does not name a column.
    pub fn new(settings: &ResultSettings) -> Result<Checksums> {
        let column = settings.verify.as_deref().map(|verify| {
            let column = verify
                .strip_prefix(PREFIX)
                .filter(|column| !column.is_empty());
            column.map(str::to_owned).ok_or_else(|| {
                Error::usage(format!(
                    "verify is {verify:?}: write sha256:COLUMN, with the column that has the SHA-256 of each body"
                ))
            })
        });
        let column = column.transpose()?;
        Ok(Checksums {
            is_made: settings.sha256 || column.is_some(),
            column,
        })
    }

    /// Refuses a column that no input has.
    ///
    /// # Errors
    /// The columns that there are.
    pub fn check_columns(&self, columns: &[String]) -> Result<()> {
        match &self.column {
            Some(column) if !columns.contains(column) => Err(Error::usage(format!(
                "verify names the column {column:?}, and the list has: {}",
                listed(columns)
            ))),
            _ => Ok(()),
        }
    }

    /// That of a body, of which a part of the run may have made it already.
    pub fn of(&self, body: &[u8], made: Option<&[u8]>) -> Option<String> {
        if !self.is_made {
            return None;
        }
        let made = made.map_or_else(|| digest(&SHA256, body).as_ref().to_vec(), <[u8]>::to_vec);
        Some(made.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Whether a body is the one that its input names. An empty cell names none.
    pub fn holds(&self, planned: &Planned, made: Option<&str>) -> bool {
        let named = match (&self.column, &planned.held) {
            (Some(column), Content::Columns(columns)) => columns.get(column),
            _ => None,
        };
        let named = named.map(|named| named.trim().to_ascii_lowercase());
        named
            .filter(|named| !named.is_empty())
            .is_none_or(|named| Some(named.strip_prefix(PREFIX).unwrap_or(&named)) == made)
    }
}
