//! The records of a folder, line by line: of parts that are done, and what is known of the others.

use std::collections::HashMap;
use std::io;

use roaring::RoaringTreemap;
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::plan::{Folder, Plan};
use crate::record::Record;
use crate::segment::{
    Piece, counted, each_result, fields_of, gone, head_of, is_followed, load, record_of, visit,
};

/// Visits each line of the results until the visitor says false.
///
/// # Errors
/// When the folder holds no job, it cannot be read, or the visitor fails: then its own error, as it is.
pub fn each_line<E: From<Error>>(
    folder: &Folder,
    visitor: &mut dyn FnMut(&[u8]) -> std::result::Result<bool, E>,
) -> std::result::Result<(), E> {
    let plan = Plan::planned(folder)?;
    let mut ended = None;
    for part in &plan.parts {
        let read = each_of_part(folder, part.number, &mut |line| match visitor(line) {
            Ok(true) => Ok(()),
            enough => {
                ended = Some(enough.map(drop));
                Err(io::ErrorKind::Other.into())
            }
        });
        match ended {
            Some(ended) => return ended,
            None => read?,
        }
    }
    Ok(())
}

/// The records of a part that were visited in its attempts.
#[derive(Default)]
struct Shown {
    inputs: RoaringTreemap,
    /// How many pages of an input whose last page was not among them.
    pages: HashMap<u64, u32>,
}

impl Shown {
    fn note(&mut self, line: &[u8]) {
        let Some((number, ..)) = head_of(line) else {
            return;
        };
        if is_followed(line) {
            *self.pages.entry(number).or_default() += 1;
        } else {
            self.pages.remove(&number);
            self.inputs.insert(number);
        }
    }

    /// Whether a line of the results was among them. The records of pages are in their order.
    fn pass(&mut self, line: &[u8]) -> bool {
        let Some((number, ..)) = head_of(line) else {
            return false;
        };
        match self.pages.get_mut(&number) {
            _ if self.inputs.contains(number) => true,
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}

/// Visits what is known of a part: its results, or else what counts of its attempts.
fn each_of_part(
    folder: &Folder,
    part: u32,
    take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<()> {
    let result = folder.result(part);
    if result.exists() {
        return each_result(folder, part, take);
    }
    let mut shown = Shown::default();
    // A crash between the commit and the move leaves the segments.
    let commit = load(folder, part)?;
    let is_done = commit.is_some();
    let counts = match commit {
        Some(commit) => Ok(commit.counts),
        None => counted(folder, part),
    };
    let read = counts.and_then(|counts| {
        let mut note = |line: &[u8]| {
            shown.note(line);
            take(line)
        };
        visit(folder, part, &counts, &mut |piece, _| {
            each_in(piece, &mut note)
        })
    });
    // Its attempts are gone when it is done meanwhile: then the rest of it is in its results.
    if read.is_err() && result.exists() {
        return each_result(folder, part, &mut |line| match shown.pass(line) {
            true => Ok(()),
            false => take(line),
        });
    }
    match read {
        Err(_) if is_done && !folder.attempt(part, 1).exists() => Err(gone(folder, part)),
        read => read,
    }
}

fn each_in(piece: Piece<'_>, take: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    match piece {
        Piece::Lines(lines) => crate::frame::lines(lines).try_for_each(take),
        Piece::Aside(_) => Ok(()),
    }
}

/// Visits each record until the visitor says false.
///
/// # Errors
/// As [`each_line`], and when a line is no record.
pub fn each_record<E: From<Error>>(
    folder: &Folder,
    visitor: &mut dyn FnMut(Record) -> std::result::Result<bool, E>,
) -> std::result::Result<(), E> {
    each_line(folder, &mut |line| visitor(record(line)?))
}

/// A line as a record.
///
/// # Errors
/// When it is none.
pub fn record(line: &[u8]) -> Result<Record> {
    record_of(line).map_err(|error| no_record(&error))
}

/// Some fields of a line.
///
/// # Errors
/// When they are not those of a record.
pub(super) fn fields<'a, R: Deserialize<'a>>(line: &'a [u8]) -> Result<R> {
    fields_of(line).map_err(|error| no_record(&error))
}

fn no_record(error: &serde_json::Error) -> Error {
    Error::failed(format!(
        "the results hold a line that is not a record ({error}): `hecaton fetch verify` on the job's folder says what is lost"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    use uuid::Uuid;

    use super::*;
    use crate::frame::Packer;
    use crate::plan::{Part, VERSION};
    use crate::segment::claim;

    fn line(number: u64) -> String {
        format!("{{\"n\":{number},\"outcome\":\"response\",\"ok\":true}}\n")
    }

    fn packed(numbers: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in numbers {
            Packer::new(1)
                .pack(line(*number).as_bytes(), &mut bytes)
                .unwrap();
        }
        bytes
    }

    /// A job of one part of five inputs, of which two attempts have three records.
    fn half_done(home: &Path) -> Folder {
        let folder = Folder::at(home);
        let plan = Plan {
            version: VERSION,
            job: Uuid::nil(),
            round: None,
            follows_redirects: false,
            inputs: 5,
            columns: Vec::new(),
            sources: Vec::new(),
            repeats: 0,
            requests: Vec::new(),
            own_hosts: true,
            parts: vec![Part {
                number: 0,
                inputs: 5,
                shard: None,
                added: 0,
            }],
        };
        fs::write(folder.plan(), serde_json::to_vec(&plan).unwrap()).unwrap();
        fs::create_dir_all(folder.results()).unwrap();
        for numbers in [&[3, 0][..], &[4]] {
            let mut attempt = claim(&folder, 0, "worker").unwrap().unwrap();
            attempt.file.write_all(&packed(numbers)).unwrap();
        }
        folder
    }

    fn numbers(folder: &Folder, mut first: impl FnMut()) -> Vec<u64> {
        let mut seen = Vec::new();
        let visited: Result<()> = each_line(folder, &mut |line| {
            if seen.is_empty() {
                first();
            }
            seen.push(head_of(line).unwrap().0);
            Ok(true)
        });
        visited.unwrap();
        seen
    }

    #[test]
    fn a_part_that_is_done_while_it_is_read_has_each_record_once() {
        let home = tempfile::tempdir().unwrap();
        let folder = half_done(home.path());
        assert_eq!(numbers(&folder, || {}), [3, 0, 4]);
        let finish = || {
            fs::write(folder.result(0), packed(&[0, 1, 2, 3, 4])).unwrap();
            fs::remove_file(folder.attempt(0, 1)).unwrap();
            fs::remove_file(folder.attempt(0, 2)).unwrap();
        };
        assert_eq!(numbers(&folder, finish), [3, 0, 1, 2, 4]);
    }

    #[test]
    fn a_visitors_own_error_comes_back_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let folder = half_done(home.path());
        let refused = each_line(&folder, &mut |_| Err(Error::failed("enough")));
        assert_eq!(refused.unwrap_err().to_string(), "enough");
        let damaged: Result<()> = each_record(&folder, &mut |_| Ok(true));
        let why = damaged.unwrap_err().to_string();
        assert!(
            why.starts_with("the results hold a line that is not a record"),
            "{why}"
        );
    }
}
