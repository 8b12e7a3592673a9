//! The checksum of a body that an input names in a column, for `--verify`.

use crate::error::{Error, Result, excerpt};
use crate::record::Columns;

/// An algorithm that publishers of files use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// SHA-256.
    Sha256,
    /// MD5.
    Md5,
}

/// Each with its name in `--verify` and in columns, and the number of its hexadecimal digits.
const ALGORITHMS: [(&str, Algorithm, usize); 2] = [
    ("sha256:", Algorithm::Sha256, 64),
    ("md5:", Algorithm::Md5, 32),
];

/// Most characters of a cell that are shown.
const SHOWN: usize = 80;

/// Where the checksums of a job's inputs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Its name, with a colon.
    pub prefix: &'static str,
    /// The column.
    pub column: String,
    digits: usize,
}

impl Expected {
    /// What `--verify` says.
    ///
    /// # Errors
    /// When it names no algorithm or no column.
    pub fn new(verify: &str) -> Result<Expected> {
        let of = |(prefix, algorithm, digits)| {
            let column = verify.strip_prefix(prefix)?.to_owned();
            (!column.is_empty()).then_some(Expected {
                algorithm,
                prefix,
                column,
                digits,
            })
        };
        ALGORITHMS.into_iter().find_map(of).ok_or_else(|| {
            Error::usage(format!(
                "verify is {verify:?}: write sha256:COLUMN or md5:COLUMN, with the column that has the checksum of each body"
            ))
        })
    }

    /// The checksum in an input's column, in lower case and without a prefix. An empty or missing cell names none.
    ///
    /// # Errors
    /// Why the cell is no checksum.
    pub fn of(&self, columns: &Columns) -> std::result::Result<Option<String>, String> {
        let Some(cell) = columns.get(&self.column).map(|cell| cell.trim()) else {
            return Ok(None);
        };
        let named = cell.to_ascii_lowercase();
        let named = named.strip_prefix(self.prefix).unwrap_or(&named);
        let is_digits = named.bytes().all(|byte| byte.is_ascii_hexdigit());
        match named.len() {
            _ if cell.is_empty() => Ok(None),
            length if length == self.digits && is_digits => Ok(Some(named.to_owned())),
            _ => Err(format!(
                "the column {} has {:?}, which is not a checksum for --verify {}: write {} hexadecimal digits",
                self.column,
                excerpt(cell, SHOWN),
                self.prefix.trim_end_matches(':'),
                self.digits
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_the_same_however_it_is_written_and_other_texts_are_none() {
        let expected = Expected::new("md5:digest").unwrap();
        let of = |cell: &str| expected.of(&Columns::from([("digest".to_owned(), cell.to_owned())]));
        let digits = "0cc175b9c0f1b6a831c399e269772661";
        for same in [
            digits.to_owned(),
            digits.to_uppercase(),
            format!(" MD5:{digits} "),
        ] {
            assert_eq!(of(&same), Ok(Some(digits.to_owned())), "{same}");
        }
        assert_eq!(of(" "), Ok(None));
        assert_eq!(expected.of(&Columns::new()), Ok(None));
        for wrong in [
            "md5:",
            "n/a",
            "null",
            &digits[1..],
            &format!("{digits}  a.txt"),
            &format!("sha256:{digits}"),
            &digits.replace('0', "ä"),
        ] {
            let why = of(wrong).unwrap_err();
            assert!(why.contains("32 hexadecimal digits"), "{why}");
        }
    }
}
