//! The records of a folder, line by line: of parts that are done, and what is known of the others.

use std::io;
use std::path::Path;

use crate::error::{Error, Result, at};
use crate::plan::{Folder, Plan};
use crate::record::Record;
use crate::segment::{Piece, counted, scan, visit};

/// Visits each line of the results until the visitor says false.
///
/// # Errors
/// When the folder holds no job, it cannot be read, or the visitor fails.
pub fn each_line(
    folder: &Folder,
    visitor: &mut dyn FnMut(&[u8]) -> io::Result<bool>,
) -> Result<()> {
    let plan = Plan::load(folder)?
        .ok_or_else(|| Error::usage(format!("{} holds no planned job", folder.path().display())))?;
    let mut state = Visit {
        visitor,
        is_over: false,
    };
    for part in &plan.parts {
        let result = folder.result(part.number);
        if result.exists() {
            state.file(&result)?;
        } else {
            let counts = counted(folder, part.number)?;
            let visited = visit(folder, part.number, &counts, &mut |piece, _| {
                state.piece(piece)
            });
            state.unless_over(visited)?;
        }
        if state.is_over {
            break;
        }
    }
    Ok(())
}

/// Visits each record until the visitor says false.
///
/// # Errors
/// As [`each_line`].
pub fn each_record(
    folder: &Folder,
    visitor: &mut dyn FnMut(Record) -> io::Result<bool>,
) -> Result<()> {
    each_line(folder, &mut |line| visitor(serde_json::from_slice(line)?))
}

struct Visit<'a> {
    visitor: &'a mut dyn FnMut(&[u8]) -> io::Result<bool>,
    is_over: bool,
}

impl Visit<'_> {
    fn file(&mut self, path: &Path) -> Result<()> {
        let visited = scan(path, u64::MAX, &mut |piece, _| self.piece(piece));
        self.unless_over(visited.map_err(at("read", path)))
    }

    fn piece(&mut self, piece: Piece<'_>) -> io::Result<()> {
        let Piece::Lines(lines) = piece else {
            return Ok(());
        };
        for line in crate::frame::lines(lines) {
            if !(self.visitor)(line)? {
                self.is_over = true;
                return Err(io::ErrorKind::Other.into());
            }
        }
        Ok(())
    }

    /// That the visitor has had enough is no failure.
    fn unless_over<T>(&self, visited: Result<T>) -> Result<()> {
        match visited {
            Err(error) if !self.is_over => Err(error),
            _ => Ok(()),
        }
    }
}
