//! The next page of an input: queued at its host, before the requests that were not sent yet.

use crate::record::{Outcome, Way};
use crate::run::line::Unsent;
use crate::run::part::{Pending, Unfollowed};
use crate::segment::Pages;

use super::{Driver, Flight};

impl Driver<'_> {
    /// Queues the next page of an input whose last page has its record.
    pub(super) fn follow_page(&mut self, flight: Flight, index: usize, onward: Way, pages: Pages) {
        let pending = Pending {
            pages: Some(Box::new(pages)),
            attempts: 0,
            ..flight.pending
        };
        let part = &mut self.open[index];
        let followed = part.follow(pending, onward, &self.maker, &mut self.records);
        let Err(unfollowed) = followed else {
            return;
        };
        let (pending, why) = *unfollowed;
        // The part has the host, as was looked up before, so the second is not expected.
        let why = match why {
            Unfollowed::Refused(why) => why,
            Unfollowed::OtherPart(onward) => format!("{} is of another part", onward.url),
        };
        let unsent = Unsent {
            outcome: Outcome::Skipped,
            why: &why,
        };
        part.leave_out(&pending, unsent, &self.maker, &mut self.records);
    }
}
