//! Checksums of bodies: recorded with `--sha256` and `--md5`, and compared with a column of the input with `--verify`.

use hecaton::hexadecimal;

use crate::error::{Error, Result};
use crate::job::ResultSettings;
use crate::plan::{Content, Planned};
use crate::record::listed;
use crate::request::{Algorithm, Expected};
use crate::sink::{Digested, Digests};

/// Which checksums are recorded, and what they are compared with.
pub struct Checksums {
    sha256: bool,
    md5: bool,
    expected: Option<Expected>,
}

impl Checksums {
    /// The checksums of a job.
    ///
    /// # Errors
    /// When `verify` names no algorithm or no column.
    pub fn new(settings: &ResultSettings) -> Result<Checksums> {
        let expected = settings.verify.as_deref().map(Expected::new);
        let expected = expected.transpose()?;
        let is_expected = |of| {
            let expected = expected.as_ref();
            expected.is_some_and(|expected| expected.algorithm == of)
        };
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
            Some(expected) if !columns.contains(&expected.column) => Err(Error::usage(format!(
                "verify names the column {:?}, and the list has: {}",
                expected.column,
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
        let expected = self.expected.as_ref()?;
        let Content::Columns(columns) = &planned.held else {
            return None;
        };
        let named = match expected.of(columns) {
            Ok(named) => named?,
            // Such an input is planned as an invalid one, but by an older program it was not.
            Err(why) => return Some(why),
        };
        let (prefix, column) = (expected.prefix, &expected.column);
        let made = made();
        let made = match expected.algorithm {
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
