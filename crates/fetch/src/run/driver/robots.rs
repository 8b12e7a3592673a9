//! Requests for robots.txt: sent, read up to the limit, and applied.

use std::collections::HashMap;

use hecaton::{Batch, InParts, Outcome, Part, Request, Retry};

use super::{Driver, Flight};
use crate::error::Result;
use crate::robots::{MOST, Robots};

/// The files that are being read, by their slots.
#[derive(Default)]
pub(super) struct RobotsFiles(HashMap<u32, Vec<u8>>);

impl RobotsFiles {
    /// Sends one.
    pub fn send(&mut self, batch: &mut Batch<u32>, slot: u32, request: Request) {
        self.0.insert(slot, Vec::new());
        batch.push(slot, request);
        batch.in_parts(slot, InParts::HeadAndBody);
    }

    /// Reads what has come, and no more than counts: a file may have no end.
    pub fn read(&mut self, batch: &mut Batch<u32>) {
        if self.0.is_empty() {
            return;
        }
        let mut whole = Vec::new();
        for (slot, part) in batch.take_parts() {
            let (Part::Piece(piece), Some(file)) = (part, self.0.get_mut(slot)) else {
                continue;
            };
            file.extend_from_slice(&piece[..piece.len().min(MOST - file.len())]);
            if file.len() == MOST {
                whole.push(*slot);
            }
        }
        whole.iter().for_each(|slot| batch.enough(slot));
    }

    /// The bytes of this slot's file.
    pub fn take(&mut self, slot: u32) -> Vec<u8> {
        self.0.remove(&slot).unwrap_or_default()
    }
}

/// The request for one. Redirects are followed, as RFC 9309 §2.3.1.2 requires.
pub(super) fn request(url: &str) -> std::result::Result<Request, String> {
    let request = Request::get(url).map_err(|error| error.to_string())?;
    Ok(request.redirects(5).retry(Some(Retry::default())))
}

impl Driver<'_> {
    /// Applies the robots.txt of a host that has just come.
    pub(super) fn robots_received(
        &mut self,
        (flight, index): (&Flight, usize),
        outcome: &Outcome,
        file: &[u8],
    ) -> Result<()> {
        let robot = robot(self.job.network.user_agent.as_deref());
        let status = outcome.as_ref().ok().map(hecaton::Response::status);
        let robots = Robots::of_response(status, file, robot);
        let of = self
            .plan
            .part(flight.part)?
            .shard
            .map_or(1, |shard| shard.of);
        self.open[index].heed(flight.host, robots, of, &self.maker, &mut self.records);
        Ok(())
    }
}

/// The name that robots.txt may know this robot by.
fn robot(user_agent: Option<&str>) -> &str {
    user_agent
        .and_then(|agent| agent.split(['/', ' ']).next())
        .unwrap_or("hecaton")
}
