//! The pages of inputs that are not at their last page: what a worker that resumes a part must know of them.

use std::collections::{HashMap, HashSet};
use std::io;

use crate::plan::PagesHad;
use crate::record::{Record, Way};
use crate::request::digest_of;

/// The pages of an input so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// How many have their records.
    pub number: u32,
    /// The URLs that were requested for them, and that of the next, by their digests.
    pub seen: HashSet<u64>,
}

impl Pages {
    /// Adds pages that an earlier round had.
    pub fn add(&mut self, had: &PagesHad) {
        self.number += had.number;
        self.seen.extend(&had.seen);
    }

    /// For the plan of a round that begins behind them.
    pub fn had(self) -> PagesHad {
        PagesHad {
            number: self.number,
            seen: self.seen.into_iter().collect(),
        }
    }
}

/// The inputs that are not at their last page, by their numbers, and where the next page is.
pub type Unfinished = HashMap<u64, (Pages, Way)>;

/// Notes the record of a page that another follows.
///
/// # Errors
/// When it does not say which.
pub fn note(unfinished: &mut Unfinished, line: &[u8]) -> io::Result<()> {
    let record: Record = serde_json::from_slice(line)?;
    let way = record.onward.ok_or(io::ErrorKind::InvalidData)?;
    let (pages, next) = unfinished.entry(record.n).or_default();
    pages.number += 1;
    let urls = [Some(&record.url), record.location.as_ref(), Some(&way.url)];
    pages
        .seen
        .extend(urls.into_iter().flatten().map(|url| digest_of(url)));
    *next = way;
    Ok(())
}
