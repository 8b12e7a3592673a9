//! What earlier attempts at a part left: which inputs have a record, and which only an intent.

use std::collections::BTreeMap;
use std::io;

use roaring::RoaringTreemap;

use super::commit::Tally;
use super::entry::Attempt;
use super::pages::{self, Unfinished};
use super::whole_frames::{Piece, head_of, is_followed};

/// The state of a part's inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownInputs {
    /// Inputs that have their record.
    pub done: RoaringTreemap,
    /// Inputs whose requests were about to be sent, of methods that must not be repeated.
    pub intents: RoaringTreemap,
    /// How those that are done ended.
    pub tally: Tally,
    /// Inputs that have records of some of their pages.
    pub unfinished: Unfinished,
    /// Archives of bodies, and how many bytes of each have records.
    pub archives: BTreeMap<String, u64>,
    /// One of which the lines are still to come.
    pub(super) archive: Option<(String, u64)>,
}

impl KnownInputs {
    /// Adds what a frame says.
    ///
    /// # Errors
    /// When a line is no record.
    pub fn take(&mut self, piece: &Piece<'_>) -> io::Result<()> {
        match piece {
            Piece::Lines(lines) => {
                self.archives.extend(self.archive.take());
                for line in crate::frame::lines(lines) {
                    let (number, outcome, ok) = head_of(line).ok_or(io::ErrorKind::InvalidData)?;
                    if is_followed(line) {
                        self.tally.pages += 1;
                        pages::note(&mut self.unfinished, line)?;
                        continue;
                    }
                    self.unfinished.remove(&number);
                    if self.done.insert(number) {
                        self.tally.count(outcome, ok);
                    }
                }
            }
            Piece::Aside(content) => match Attempt::read(content) {
                Some(Attempt::Intents(numbers)) => self.intents.extend(numbers),
                Some(Attempt::Archive(name, bytes)) => self.archive = Some((name, bytes)),
                Some(Attempt::Head { .. }) | None => self.archive = None,
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_counts_as_far_as_the_lines_that_followed() {
        let aside = |bytes| Attempt::Archive("a".into(), bytes).content();
        let line = b"{\"n\":1,\"outcome\":\"response\",\"ok\":true}\n";
        let mut known = KnownInputs::default();
        known.take(&Piece::Aside(&aside(10))).unwrap();
        assert!(known.archives.is_empty());
        known.take(&Piece::Lines(line)).unwrap();
        known.take(&Piece::Aside(&aside(20))).unwrap();
        assert_eq!(known.archives, BTreeMap::from([("a".into(), 10)]));
    }
}
