//! Handles an outcome: decides what follows it, informs the limits of its host, and sends the request again or settles it.

use std::time::{Duration, Instant, SystemTime};

use super::bodies::{Came, Refusal};
use super::settling::{Last, Stored};
use super::{Driver, Flight};
use crate::error::Result;
use crate::request::Rendered;
use crate::run::batches::Blame;
use crate::run::fate::{End, Fate, Left, Purpose, Then, fate, wait};
use crate::run::hosts::{Change, Ended, Span};
use crate::run::keep::Arrived;
use crate::run::line::kind_name;
use crate::run::watch::News;

impl Driver<'_> {
    pub(super) fn ended(&mut self, slot: u32, outcome: hecaton::Outcome) -> Result<()> {
        let now = Instant::now();
        let robots = self.robots.take(slot);
        let Some((mut flight, Some(index))) = self.land(slot) else {
            self.bodies.drop_body(slot);
            return Ok(());
        };
        let length = outcome.as_ref().map_or(0, |response| response.body().len());
        self.shared.bandwidth.came(length, now);
        if let Some(bandwidth) = self.open[index].hosts.bandwidth(flight.host) {
            bandwidth.came(length, now);
        }
        let came = self.bodies.ended(slot, outcome, &mut flight.pending);
        let (end, outcome, body) = self.seen(slot, came, &flight, now);
        let fate = self.fate(end, &flight, &outcome);
        self.note_memory(fate.then);
        self.tell_host(&flight, index, fate.host, &outcome, now);
        let then = match fate.then {
            Then::Record => Then::Record,
            then => then.within(self.left(&flight, index, now)),
        };
        match then {
            Then::Record if flight.pending.is_robots => {
                self.robots_received(&flight, index, &outcome, &robots);
                Ok(())
            }
            Then::Record => self.settle(Last {
                flight,
                index,
                outcome: &outcome,
                body,
            }),
            then => {
                self.send_again(flight, index, then, now);
                Ok(())
            }
        }
    }

    /// How an attempt ended, with its outcome and its body.
    fn seen(
        &mut self,
        slot: u32,
        came: Came,
        flight: &Flight,
        now: Instant,
    ) -> (End, hecaton::Outcome, Stored) {
        let (end, outcome, body) = match came {
            Came::Again(outcome) => {
                return (End::Continued, outcome, Stored::Whole(Arrived::default()));
            }
            Came::Outcome(outcome, whole) => {
                let arrived = Arrived::new(whole);
                let (end, body) = match self.difference(flight, &outcome, &arrived) {
                    None => (End::of(&outcome, SystemTime::now), Stored::Whole(arrived)),
                    Some(refusal) => {
                        arrived.whole.into_iter().for_each(|whole| whole.discard());
                        (refusal.end, Stored::Refused(refusal))
                    }
                };
                (end, outcome, body)
            }
            Came::Refused(response, refusal) => {
                (refusal.end, Ok(response), Stored::Refused(refusal))
            }
        };
        let lost = flight.pending.lost;
        match self.batch.blame(slot, &outcome, lost, now) {
            Blame::Host => (end, outcome, body),
            Blame::Proxy(is_news) => {
                if let (true, Err(error)) = (is_news, &outcome) {
                    let why = error.detail();
                    self.say(format!("{why}; requests take the other proxies meanwhile"));
                }
                (End::LostByProxy, outcome, body)
            }
        }
    }

    /// How a body differs from the checksum that its input names, if it does.
    fn difference(
        &self,
        flight: &Flight,
        outcome: &hecaton::Outcome,
        arrived: &Arrived,
    ) -> Option<Refusal> {
        let response = outcome.as_ref().ok()?;
        let planned = &flight.pending.planned;
        let has_body = matches!(response.status(), 200..=203 | 205..=299);
        let why = match has_body {
            true => self.keeper.difference(planned, response, arrived)?,
            false => return None,
        };
        let is_head = |rendered: Rendered<'_>| rendered.method == "HEAD";
        if self.maker.render(&planned.held).is_ok_and(is_head) {
            return None;
        }
        let (end, kind) = (End::Differs, "checksum");
        Some(Refusal { end, kind, why })
    }

    fn fate(&self, end: End, flight: &Flight, outcome: &hecaton::Outcome) -> Fate {
        let purpose = match flight.pending.is_robots {
            true => Purpose::Side,
            false => Purpose::Input,
        };
        let is_unsent = outcome.as_ref().is_err_and(|error| !error.sent());
        let may_repeat = flight.may_repeat || is_unsent;
        fate(end, purpose, may_repeat, &self.job.pace.retry_statuses)
    }

    /// Has fewer requests in flight when bodies did not fit into memory, and one more when they did.
    fn note_memory(&mut self, then: Then) {
        if then == Then::Fewer {
            self.max_in_flight = (self.max_in_flight / 2).max(1);
        } else if self.max_in_flight < self.job.pace.concurrency {
            self.max_in_flight += 1;
        }
    }

    /// Counts the end of a request for its host, and says what is new about the host.
    fn tell_host(
        &mut self,
        flight: &Flight,
        index: usize,
        ended: Ended,
        outcome: &hecaton::Outcome,
        now: Instant,
    ) {
        let hosts = &mut self.open[index].hosts;
        if ended == Ended::Unknown {
            return hosts.unstarted(flight.host);
        }
        let span = Span {
            begun: flight.started,
            ended: now,
        };
        let wait = first_byte(outcome).unwrap_or(span.ended - span.begun);
        let change = hosts.ended(flight.host, ended, span, wait);
        let name = hosts.name(flight.host);
        let sentence = change.and_then(|change| sentence(name, &change, outcome));
        if let Some(sentence) = sentence {
            let _ = self.news.send(News::Sentence(sentence));
        }
    }

    /// What is left for another try.
    fn left(&self, flight: &Flight, index: usize, now: Instant) -> Left {
        let (pending, pace) = (&flight.pending, &self.job.pace);
        let hosts = &self.open[index].hosts;
        let waits = pending.overrun.map(|(since, _)| now - since);
        Left {
            is_down: hosts.is_down(flight.host),
            has_tries: pending.tries() <= pace.retries && hosts.may_retry(flight.host),
            has_time: waits.is_none_or(|waits| waits < pace.wait_out)
                && !hosts.is_given_up(flight.host),
            has_reconnected: pending.has_reconnected,
            has_differed: pending.has_differed,
        }
    }

    /// Queues a request once more.
    fn send_again(&mut self, flight: Flight, index: usize, then: Then, now: Instant) {
        let (host, mut pending) = (flight.host, flight.pending);
        let part = &mut self.open[index];
        pending.lost = match then {
            Then::OtherProxy => pending.lost + 1,
            _ => 0,
        };
        match then {
            Then::Record => {}
            Then::Again | Then::Once => {
                pending.has_differed |= then == Then::Once;
                let at = now + wait(pending.attempts);
                part.again(host, pending, at);
            }
            Then::Later => {
                let (since, times) = pending.overrun.unwrap_or((now, 0));
                pending.overrun = Some((since, times + 1));
                part.later(host, pending, now + wait(times));
            }
            Then::Fewer => part.later(host, pending, now + wait(1)),
            Then::Wait => part.put_back(host, pending),
            Then::Now | Then::OtherProxy => part.resume(host, pending),
            Then::Reconnect => {
                pending.has_reconnected = true;
                part.resume(host, pending);
            }
        }
    }
}

/// How long the first byte of a response took, as far as that is known: the length of a body says nothing about its
/// host.
fn first_byte(outcome: &hecaton::Outcome) -> Option<Duration> {
    let attempts = match outcome {
        Ok(response) => response.attempts(),
        Err(error) => error.attempts(),
    };
    attempts.last()?.first_byte_time
}

fn sentence(host: &str, change: &Change, outcome: &hecaton::Outcome) -> Option<String> {
    let last = match outcome {
        Ok(response) => format!("the last one with status {}", response.status()),
        Err(error) => format!(
            "the last one: {}: {}",
            kind_name(error.kind()),
            error.detail()
        ),
    };
    match change {
        Change::Rests(failures, rest) => Some(format!(
            "{host}: {failures} failures in a row, {last}; the next request is sent in {}",
            rounded(*rest)
        )),
        Change::GivenUp(after) => Some(format!(
            "{host}: given up after it was down for {}, {last}; its other inputs are unreached, and `again` sends them",
            rounded(*after)
        )),
        // Short pauses are usual; only long ones are reported.
        Change::Paused(pause) if *pause >= Duration::from_secs(5) => Some(format!(
            "{host}: the server requests a pause of {}",
            rounded(*pause)
        )),
        Change::Paused(_) => None,
    }
}

/// A time for a person: whole seconds, or whole milliseconds below a second.
fn rounded(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(match time.as_secs() {
        0 => Duration::from_millis(time.as_millis() as u64),
        seconds => Duration::from_secs(seconds),
    })
}
