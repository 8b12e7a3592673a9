//! What earlier attempts at a part came to: which inputs have their record, and of which only an intent is known.

use std::io;

use roaring::RoaringTreemap;

use super::attempt::Attempt;
use super::commit::Tally;
use super::scan::{Piece, head_of};

/// What is known of a part's inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Inputs that have their record.
    pub done: RoaringTreemap,
    /// Inputs whose requests were about to be sent, of methods that must not be repeated.
    pub intents: RoaringTreemap,
    /// How those that are done ended.
    pub tally: Tally,
}

impl Known {
    /// Adds what a frame says.
    ///
    /// # Errors
    /// When a line is no record.
    pub fn take(&mut self, piece: &Piece<'_>) -> io::Result<()> {
        match piece {
            Piece::Lines(lines) => {
                for line in crate::frame::lines(lines) {
                    let (number, outcome, ok) = head_of(line).ok_or(io::ErrorKind::InvalidData)?;
                    if self.done.insert(number) {
                        self.tally.count(outcome, ok);
                    }
                }
            }
            Piece::Aside(content) => {
                if let Some(Attempt::Intents(numbers)) = Attempt::read(content) {
                    self.intents.extend(numbers);
                }
            }
        }
        Ok(())
    }
}
