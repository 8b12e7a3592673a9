//! Lines of URLs, for now.
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;

use crate::record::{Columns, Input, Invalid};

/// What a list holds at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// An input.
    Input(Input),
    /// Something else.
    Invalid(Invalid),
}

/// A list that cannot be read, in a sentence that names it.
#[derive(Debug, PartialEq, Eq)]
pub struct InputError(pub(crate) String);

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The inputs of lists, in order.
pub struct Inputs {
    lines: Vec<Box<dyn BufRead>>,
    number: u64,
    line: u64,
}

impl Inputs {
    /// Opens lists.
    pub fn open(files: &[PathBuf]) -> Result<Inputs, InputError> {
        let mut lines: Vec<Box<dyn BufRead>> = Vec::new();
        for file in files.iter().rev() {
            if file.as_os_str() == "-" {
                lines.push(Box::new(BufReader::new(io::stdin())));
            } else {
                let open = File::open(file)
                    .map_err(|e| InputError(format!("cannot read {}: {e}", file.display())))?;
                lines.push(Box::new(BufReader::with_capacity(1 << 18, open)));
            }
        }
        Ok(Inputs {
            lines,
            number: 0,
            line: 0,
        })
    }

    /// The columns that templates may name.
    pub fn columns(&self) -> &[String] {
        &[]
    }
}

impl Iterator for Inputs {
    type Item = Result<Entry, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut text = Vec::new();
            let read = self.lines.last_mut()?.read_until(b'\n', &mut text);
            match read {
                Err(e) => return Some(Err(InputError(e.to_string()))),
                Ok(0) => {
                    self.lines.pop();
                    self.line = 0;
                    continue;
                }
                Ok(_) => {}
            }
            self.line += 1;
            let text = text.trim_ascii();
            if text.is_empty() {
                continue;
            }
            let (number, line) = (self.number, self.line);
            self.number += 1;
            let Ok(text) = std::str::from_utf8(text) else {
                return Some(Ok(Entry::Invalid(Invalid {
                    number,
                    line,
                    text: String::from_utf8_lossy(text).into(),
                    reason: "is not UTF-8".into(),
                })));
            };
            let mut columns = Columns::with_capacity(1);
            columns.insert("url".into(), text.into());
            return Some(Ok(Entry::Input(Input {
                number,
                line,
                columns,
            })));
        }
    }
}
