//! Requests for robots.txt: sent, read up to the limit, and applied.

use std::collections::BTreeMap;
use std::time::Duration;

use hecaton::{InParts, Outcome, Part, Request, grown};

use super::{Driver, Flight};
use crate::job::Reach;
use crate::plan::Content;
use crate::record::Way;
use crate::request::{Naming, RedirectLimits, Rendered, Step, step};
use crate::robots::{MOST, Robots};
use crate::run::batches::Batches;
use crate::run::unrequested;

/// Redirects of a robots.txt that are followed.
const REDIRECTS: RedirectLimits = RedirectLimits {
    most: 5,
    reach: Reach::Any,
};

/// The files that are being read, by their slots.
#[derive(Default)]
pub(super) struct RobotsFiles(BTreeMap<u32, Vec<u8>>);

impl RobotsFiles {
    /// Sends one.
    pub fn send(&mut self, batch: &mut Batches, slot: u32, request: Request) {
        self.0.insert(slot, Vec::new());
        batch.push(slot, request);
        batch.in_parts(slot, InParts::HeadAndBody);
    }

    /// Whether none is being read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a slot reads one.
    pub fn has(&self, slot: u32) -> bool {
        self.0.contains_key(&slot)
    }

    /// Takes a part of one; true if that is all that counts, because a file may have no end.
    pub fn take_piece(&mut self, slot: u32, part: &Part) -> bool {
        let (Part::Piece(piece), Some(file)) = (part, self.0.get_mut(&slot)) else {
            return false;
        };
        let piece = &piece[..piece.len().min(MOST - file.len())];
        let memory = grown(file.capacity(), file.len() + piece.len(), MOST);
        file.reserve_exact(memory - file.len());
        file.extend_from_slice(piece);
        file.len() == MOST
    }

    /// The bytes of this slot's file.
    pub fn take(&mut self, slot: u32) -> Vec<u8> {
        self.0.remove(&slot).unwrap_or_default()
    }
}

/// The request for one.
pub(super) fn request(
    naming: &Naming,
    url: &str,
    timeout: Duration,
) -> std::result::Result<Request, String> {
    Ok(naming.request(url)?.timeout(timeout))
}

/// Where the file is instead, if the response is a redirect that may be followed. RFC 9309 §2.3.1.2 requires five of
/// them, to any host. The rules of redirects hold here too: none leads from https to http, or from a stranger into
/// one's own network.
fn leads(flight: &Flight, outcome: &Outcome) -> Option<Way> {
    let response = outcome.as_ref().ok()?;
    let Content::Url(url) = &flight.pending.planned.held else {
        return None;
    };
    let rendered = Rendered {
        method: "GET".into(),
        url: (&**url).into(),
        headers: Vec::new(),
        body: None,
    };
    let (status, headers) = (response.status(), response.headers());
    let earlier = flight.pending.onward.as_deref();
    match step(status, headers, &rendered, earlier, REDIRECTS) {
        Step::To(onward) => Some(onward),
        Step::Stay | Step::Refused(_) => None,
    }
}

impl Driver<'_> {
    /// Applies the robots.txt of a host that has just come.
    pub(super) fn robots_received(
        &mut self,
        flight: &Flight,
        index: usize,
        outcome: &Outcome,
        file: &[u8],
    ) {
        if let Some(onward) = leads(flight, outcome) {
            self.open[index].follow_robots(flight.host, &flight.pending, onward);
            return;
        }
        let robot = self.naming.of(self.open[index].hosts.name(flight.host));
        let is_whole = |response: &&hecaton::Response| {
            unrequested(response.status(), response.headers()).is_none()
        };
        let whole = outcome.as_ref().ok().filter(is_whole);
        let status = whole.map(hecaton::Response::status);
        let robots = Robots::of_response(status, file, robot);
        self.open[index].heed(flight.host, robots, &self.maker, &mut self.records);
    }
}
