//! Checksums of bodies: recorded with `--sha256` and `--md5`, and compared with a column of the input with `--verify`.

use hecaton::hexadecimal;

use crate::error::{Error, Result};
use crate::job::ResultSettings;
use crate::plan::{Content, Planned};
use crate::record::listed;
use crate::sink::{Digested, Digests};

/// An algorithm that publishers of files use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Sha256,
    Md5,
}

/// Both, with their names in `--verify` and in columns.
const ALGORITHMS: [(&str, Algorithm); 2] =
    [("sha256:", Algorithm::Sha256), ("md5:", Algorithm::Md5)];

/// Which checksums are recorded, and what they are compared with.
pub struct Checksums {
    sha256: bool,
    md5: bool,
    /// The algorithm, its name with a colon, and the column.
    expected: Option<(Algorithm, &'static str, String)>,
}

impl Checksums {
    /// The checksums of a job.
    ///
    /// # Errors
    /// When `verify` names no algorithm or no column.
    pub fn new(settings: &ResultSettings) -> Result<Checksums> {
        let read = |verify: &str| {
            let of = |(name, algorithm)| Some((algorithm, name, verify.strip_prefix(name)?));
            let (algorithm, name, column) = ALGORITHMS.into_iter().find_map(of)?;
            (!column.is_empty()).then(|| (algorithm, name, column.to_owned()))
        };
        let expected = settings.verify.as_deref().map(|verify| {
            read(verify).ok_or_else(|| {
                Error::usage(format!(
                    "verify is {verify:?}: write sha256:COLUMN or md5:COLUMN, with the column that has the checksum of each body"
                ))
            })
        });
        let expected = expected.transpose()?;
        let is_expected = |of| matches!(expected, Some((algorithm, ..)) if algorithm == of);
        Ok(Checksums {
            sha256: settings.sha256 || is_expected(Algorithm::Sha256),
            md5: settings.md5 || is_expected(Algorithm::Md5),
            expected,
        })
    }

    /// Refuses a column that no input has.
    ///
    /// # Errors
    /// The columns that there are.
    pub fn check_columns(&self, columns: &[String]) -> Result<()> {
        match &self.expected {
            Some((.., column)) if !columns.contains(column) => Err(Error::usage(format!(
                "verify names the column {column:?}, and the list has: {}",
                listed(columns)
            ))),
            _ => Ok(()),
        }
    }

    /// The digests that are made of bodies.
    pub fn digests(&self) -> Digests {
        Digests {
            blake3: false,
            sha256: self.sha256,
            md5: self.md5,
        }
    }

    /// The SHA-256 and the MD5 for the record, in hexadecimal digits.
    pub fn recorded(&self, made: &Digested) -> [Option<String>; 2] {
        [(self.sha256, &made.sha256), (self.md5, &made.md5)]
            .map(|(is_recorded, digest)| digest.as_deref().filter(|_| is_recorded).map(hexadecimal))
    }

    /// How a body differs from the checksum that its input names, if it does. An empty cell names none.
    pub fn difference<'a>(
        &self,
        planned: &Planned,
        made: impl FnOnce() -> &'a Digested,
    ) -> Option<String> {
        let (algorithm, prefix, column) = self.expected.as_ref()?;
        let Content::Columns(columns) = &planned.held else {
            return None;
        };
        let named = columns.get(column)?.trim().to_ascii_lowercase();
        let named = named.strip_prefix(prefix).unwrap_or(&named);
        if named.is_empty() {
            return None;
        }
        let made = made();
        let made = match algorithm {
            Algorithm::Sha256 => &made.sha256,
            Algorithm::Md5 => &made.md5,
        };
        let made = hexadecimal(made.as_deref().unwrap_or_default());
        (made != named).then(|| {
            format!(
                "the body has the checksum {prefix}{made}, and the column {column} names {prefix}{named}"
            )
        })
    }
}
