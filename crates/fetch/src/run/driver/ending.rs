//! Handles an outcome: decides what follows it, informs the limits of its host, and sends the request again or settles it.

use std::time::{Duration, Instant, SystemTime};

use super::bodies::Came;
use super::conditional::HeaderKinds;
use super::settling::{BodyUse, Last, is_unsent};
use super::{Driver, Flight, conditional};
use crate::error::Result;
use crate::request::Rendered;
use crate::run::batches::Blame;
use crate::run::fate::{AttemptEnd, Budget, Fate, Purpose, Then, fate, wait};
use crate::run::hosts::{Change, HostSign, Span};
use crate::run::keep::Arrived;
use crate::run::line::kind_name;
use crate::run::part::Overrun;
use crate::run::unrequested::{Refusal, unrequested};
use crate::run::watch::News;

/// How often a connection may be refused to a request beside others without counting as a try. Halved so often, 256
/// requests at once become one.
const MOST_REFUSED: u32 = 8;

impl Driver<'_> {
    pub(super) fn ended(&mut self, slot: u32, outcome: hecaton::Outcome) -> Result<()> {
        let now = Instant::now();
        let robots = self.robots.take(slot);
        let Some((mut flight, Some(index))) = self.land(slot) else {
            self.bodies.drop_body(slot);
            return Ok(());
        };
        self.note_bytes(&flight, index, &outcome, now);
        let Some(came) = self.bodies.ended(slot, outcome, &mut flight.pending) else {
            self.open[index].hosts.uncount(flight.host);
            return Ok(());
        };
        let (end, outcome, body) = self.seen(slot, came, &flight, now);
        let fate = self.fate(end, &flight, &outcome);
        self.note_memory(fate.then);
        self.tell_host(&flight, index, fate.host, &outcome, now);
        let then = self.then(fate, &flight, index, now);
        if let (Then::Later, Some(overrun)) = (fate.then, &mut flight.pending.overrun) {
            overrun.last = now;
        }
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

    /// Counts the bytes of a body that did not come in pieces, for the bandwidth of the job and of the host.
    fn note_bytes(&self, flight: &Flight, index: usize, outcome: &hecaton::Outcome, now: Instant) {
        let length = outcome.as_ref().map_or(0, |response| response.body().len());
        self.shared.bandwidth.came(length, now);
        if let Some(bandwidth) = self.open[index].hosts.bandwidth(flight.host) {
            bandwidth.came(length, now);
        }
    }

    /// How an attempt ended, with its outcome and its body.
    fn seen(
        &mut self,
        slot: u32,
        came: Came,
        flight: &Flight,
        now: Instant,
    ) -> (AttemptEnd, hecaton::Outcome, BodyUse) {
        let (end, outcome, body) = match came {
            Came::Again(outcome) => {
                return (
                    AttemptEnd::Continued,
                    outcome,
                    BodyUse::Kept(Arrived::default()),
                );
            }
            Came::Outcome(outcome, whole) => {
                let (end, body) = self.examined(flight, &outcome, Arrived::new(whole));
                (end, outcome, body)
            }
            Came::Refused(response, refusal) => {
                (refusal.end, Ok(response), BodyUse::Refused(refusal))
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
                (AttemptEnd::LostByProxy, outcome, body)
            }
        }
    }

    /// How an attempt with this outcome ended, and the use of its body.
    fn examined(
        &self,
        flight: &Flight,
        outcome: &hecaton::Outcome,
        arrived: Arrived,
    ) -> (AttemptEnd, BodyUse) {
        let end = || AttemptEnd::of(outcome, SystemTime::now);
        if let Some(was_good) = self.unchanged(flight, outcome) {
            return (end(), BodyUse::Unchanged(was_good));
        }
        let refusal = self.unrequested(flight, outcome);
        match refusal.or_else(|| self.difference(flight, outcome, &arrived)) {
            None => (end(), BodyUse::Kept(arrived)),
            Some(refusal) => {
                arrived.whole.into_iter().for_each(|whole| whole.discard());
                (refusal.end, BodyUse::Refused(refusal))
            }
        }
    }

    /// Whether the response that the job has was good, if this one says that it still holds.
    fn unchanged(&self, flight: &Flight, outcome: &hecaton::Outcome) -> Option<bool> {
        let is_304 = |response: &hecaton::Response| response.status() == 304;
        if !outcome.as_ref().is_ok_and(is_304) {
            return None;
        }
        let rendered = self.maker.render(&flight.pending.planned.held).ok()?;
        let url = flight.url(&rendered);
        if self.kinds(&rendered).condition {
            return None;
        }
        Some(conditional::version(flight, url)?.ok)
    }

    /// The kinds of headers that the request of an input has, also where redirects lead: all of these are public.
    pub(super) fn kinds(&self, rendered: &Rendered<'_>) -> HeaderKinds {
        self.headers.to(self.maker.host_of(&rendered.url))
    }

    /// Refuses a part of a body if the request did not ask for one, and a 304 if it named no version.
    fn unrequested(&self, flight: &Flight, outcome: &hecaton::Outcome) -> Option<Refusal> {
        let response = outcome.as_ref().ok()?;
        let refusal = unrequested(response.status(), response.headers())?;
        if flight.pending.is_robots {
            return Some(refusal);
        }
        let rendered = self.maker.render(&flight.pending.planned.held).ok()?;
        let kinds = self.kinds(&rendered);
        let asked = match refusal.end {
            AttemptEnd::NotModified => kinds.version,
            _ => kinds.range,
        };
        (!asked).then_some(refusal)
    }

    /// How a body differs from the checksum that its input names, if it does. The body of a response with another status
    /// stands for the input only if it is good, which its keeper knows.
    fn difference(
        &self,
        flight: &Flight,
        outcome: &hecaton::Outcome,
        arrived: &Arrived,
    ) -> Option<Refusal> {
        let response = outcome.as_ref().ok()?;
        let planned = &flight.pending.planned;
        let why = match response.status() {
            200..=299 => self.keeper.difference(planned, response, arrived)?,
            _ => return None,
        };
        let is_head = |rendered: Rendered<'_>| rendered.method == "HEAD";
        if self.maker.render(&planned.held).is_ok_and(is_head) {
            return None;
        }
        let (end, kind) = (AttemptEnd::Differs, "checksum");
        Some(Refusal { end, kind, why })
    }

    fn fate(&self, end: AttemptEnd, flight: &Flight, outcome: &hecaton::Outcome) -> Fate {
        let purpose = match flight.pending.is_robots {
            true => Purpose::Side,
            false => Purpose::Input,
        };
        let may_repeat = flight.may_repeat || is_unsent(outcome);
        fate(end, purpose, may_repeat, &self.job.pace.retry_statuses)
    }

    /// Has fewer requests in flight if one is sent again because its body did not fit into memory, and else one more.
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
        ended: Option<HostSign>,
        outcome: &hecaton::Outcome,
        now: Instant,
    ) {
        let hosts = &mut self.open[index].hosts;
        let Some(ended) = ended else {
            return hosts.uncount(flight.host);
        };
        let span = Span {
            begun: flight.begun,
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

    /// The next step of a request, within its tries and its time.
    fn then(&self, fate: Fate, flight: &Flight, index: usize, now: Instant) -> Then {
        if fate.then == Then::Record {
            return Then::Record;
        }
        let left = self.left(flight, index, now);
        match self.decides_about_many(flight, index, fate.host) {
            true => fate.then.within(left).of_many(left),
            false => fate.then.within(left),
        }
    }

    /// Whether a robots.txt without an answer decides about many inputs: they would wait until the host is back.
    fn decides_about_many(&self, flight: &Flight, index: usize, ended: Option<HostSign>) -> bool {
        let hosts = &self.open[index].hosts;
        flight.pending.is_robots
            && matches!(ended, Some(HostSign::Badly | HostSign::Refused))
            && hosts.would_rest(flight.host, self.job.pace.retries + 1)
    }

    /// What is left for another try.
    fn left(&self, flight: &Flight, index: usize, now: Instant) -> Budget {
        let (pending, pace) = (&flight.pending, &self.job.pace);
        let hosts = &self.open[index].hosts;
        let overrun = pending.overrun;
        let waits = overrun.map(|overrun| now - overrun.since);
        Budget {
            is_down: hosts.is_down(flight.host),
            has_tries: pending.tries < pace.retries && hosts.may_retry(flight.host),
            has_time: waits.is_none_or(|waits| waits < pace.wait_out)
                && !hosts.is_given_up(flight.host),
            has_host: overrun.is_some_and(|at| hosts.has_worked_since(flight.host, at.last)),
            is_crowded: pending.refused < MOST_REFUSED && hosts.is_crowded(flight.host),
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
                let at = now + wait(pending.next_retry());
                part.again(host, pending, at);
            }
            Then::Apart => {
                pending.refused += 1;
                let at = now + wait(pending.refused);
                part.later(host, pending, at);
            }
            Then::Later => {
                let overrun = pending.overrun.get_or_insert(Overrun {
                    since: now,
                    last: now,
                    times: 0,
                });
                let times = overrun.times;
                overrun.times += 1;
                part.later(host, pending, now + wait(times));
            }
            Then::Fewer => part.later(host, pending, now + wait(1)),
            Then::Wait => part.put_back(host, pending),
            Then::Now | Then::OtherProxy => part.queue_first(host, pending),
            Then::Reconnect => {
                pending.has_reconnected = true;
                part.queue_first(host, pending);
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
            "{host}: given up after {} without a good answer, {last}; inputs that still wait for it are unreached, and `again` sends them",
            rounded(*after)
        )),
        // Short pauses are usual; only long ones are reported.
        Change::Paused(pause, _) if *pause < Duration::from_secs(5) => None,
        Change::Paused(pause, Some(_)) => Some(format!(
            "{host}: the server requests a pause of {}",
            rounded(*pause)
        )),
        Change::Paused(pause, None) => Some(format!(
            "{host}: no good answer, {last}; the next request is sent in {}",
            rounded(*pause)
        )),
    }
}

/// A time for a person: whole seconds, or whole milliseconds below a second.
fn rounded(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(match time.as_secs() {
        0 => Duration::from_millis(time.as_millis() as u64),
        seconds => Duration::from_secs(seconds),
    })
}
