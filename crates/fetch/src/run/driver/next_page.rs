//! The next page of an input: queued at its host, behind what waits there.

use crate::record::Outcome;
use crate::record::Way;
use crate::request::Rendered;
use crate::run::line::Unsent;
use crate::run::part::{Pending, Unfollowed};
use crate::segment::Pages;

use super::{Driver, Flight};

impl Driver<'_> {
    /// Queues the next page of an input whose last page has its record.
    pub(super) fn follow_page(
        &mut self,
        flight: Flight,
        index: usize,
        onward: Way,
        pages: Pages,
        rendered: &Rendered<'_>,
    ) {
        let pending = Pending {
            pages: Some(Box::new(pages)),
            attempts: 0,
            furthest: 0,
            total: None,
            ..flight.pending
        };
        let part = &mut self.open[index];
        let followed = part.follow(pending, onward, rendered, &mut self.records);
        let Err(unfollowed) = followed else {
            return;
        };
        let (pending, why) = *unfollowed;
        // The part has the host, as was looked up before, so the second is not expected.
        let why = match why {
            Unfollowed::Refused(why) => why,
            Unfollowed::OtherPart(onward) => format!("{} is of another part", onward.url),
        };
        let (outcome, why) = (Outcome::Skipped, &*why);
        let (unsent, sent) = (Unsent { outcome, why }, pending.sent());
        part.unsent(
            &mut self.records,
            &pending.planned,
            Some(rendered),
            unsent,
            &sent,
        );
    }
}
