//! Handles an outcome: classifies it, retries the request or writes its record, and informs the host's limits.

use std::time::{Duration, Instant, SystemTime};

use super::bodies::Came;
use super::closing::unless_taken_over;
use super::conditional;
use super::{Driver, Flight};
use crate::error::Result;
use crate::job::Reach;
use crate::plan::{Planned, Way};
use crate::record::Outcome;
use crate::request::{Onward, Rendered, Step, step};
use crate::run::batches::Blame;
use crate::run::hosts::{Change, Took};
use crate::run::keep::Keeper;
use crate::run::line::{RecordWriter, Tried, kind_name};
use crate::run::pages::Following;
use crate::run::part::{OpenPart, Pending, Unfollowed};
use crate::run::verdict::{classify, wait};
use crate::run::watch::News;
use crate::sink::Whole;
use crate::take::{Alone, LARGE};

/// The fate of a response's body.
enum Stored {
    /// It was received whole: into this file, or, with none, into the memory of the response.
    Whole(Option<Whole>),
    /// It is longer than allowed, as this sentence says.
    TooLarge(String),
    /// The job has the same body already; whether that response was good.
    Unchanged(bool),
}

impl Driver<'_> {
    pub(super) fn ended(&mut self, slot: u32, outcome: hecaton::Outcome) -> Result<()> {
        let now = Instant::now();
        let robots = self.robots.take(slot);
        let Some((mut flight, Some(index))) = self.land(slot) else {
            self.bodies.drop_body(slot);
            return Ok(());
        };
        let (outcome, body) = match self.bodies.ended(slot, outcome, &mut flight.pending) {
            Came::Outcome(outcome, whole) => (outcome, Stored::Whole(whole)),
            Came::TooLarge(response, why) => (Ok(response), Stored::TooLarge(why)),
            Came::Again(outcome) => {
                self.continue_body((flight, index), &outcome);
                return Ok(());
            }
        };
        let lost = flight.pending.lost;
        if let Blame::Proxy(is_news) = self.batch.blame(slot, (&outcome, lost), now) {
            self.lost_by_proxy((flight, index), &outcome, is_news);
            return Ok(());
        }
        flight.pending.lost = 0;
        let verdict = classify(&outcome, &self.job.pace, SystemTime::now());
        let part = &mut self.open[index];
        let change = part
            .hosts
            .ended(flight.host, verdict.ended, took(&outcome), now);
        let sentence =
            change.and_then(|change| sentence(part.hosts.name(flight.host), &change, &outcome));
        if let Some(sentence) = sentence {
            let _ = self.news.send(News::Sentence(sentence));
        }
        if flight.pending.is_robots {
            return self.robots_received((&flight, index), &outcome, &robots);
        }
        let Ok(rendered) = self.maker.render(&flight.pending.planned.held) else {
            return Ok(());
        };
        let repeatable = self.maker.may_repeat(&rendered.method)
            || matches!(&outcome, Err(error) if !error.sent());
        if is_crowded(&outcome) {
            self.max_in_flight = (self.max_in_flight / 2).max(1);
            if repeatable {
                drop(rendered);
                let mut pending = flight.pending;
                // The host did its part, so this does not count as a try.
                pending.attempts -= 1;
                part.again(flight.host, pending, now + wait(1));
                return Ok(());
            }
        } else if self.max_in_flight < self.job.pace.concurrency {
            self.max_in_flight += 1;
        }
        if verdict.may_help && repeatable && part.hosts.is_down(flight.host) {
            drop(rendered);
            part.put_back(flight.host, flight.pending);
            return Ok(());
        }
        let again = verdict.may_help
            && repeatable
            && flight.pending.tries() <= self.job.pace.retries
            && part.hosts.may_retry(flight.host);
        if again {
            drop(rendered);
            let at = now + wait(flight.pending.attempts);
            part.again(flight.host, flight.pending, at);
            return Ok(());
        }
        let is_large = |response: &hecaton::Response| response.body().len() > LARGE;
        let is_large = self.keeper.reads() && outcome.as_ref().is_ok_and(is_large);
        let _alone = is_large.then(Alone::wait);
        let network = &self.job.network;
        let most = (network.redirects, network.redirects_to);
        let holds = |response| conditional::holds(&flight, flight.url(&rendered), response);
        let unchanged = outcome.as_ref().ok().and_then(holds);
        let way = leads(&outcome, &rendered, flight.pending.onward.as_deref(), most);
        let mut tried = Tried {
            attempts: flight.pending.attempts,
            begun: flight.begun,
            location: flight
                .pending
                .onward
                .as_ref()
                .map(|onward| onward.url.clone()),
            page: self
                .paging
                .as_ref()
                .map(|_| 1 + pages_before(&flight.pending)),
        };
        let refused = match way {
            Step::Stay => None,
            Step::Refused(url, why) => {
                tried.location = url;
                // If no redirects are to be followed, the redirect is recorded as the response.
                (most.0 > 0).then_some(why)
            }
            Step::To(onward) => {
                tried.location = Some(onward.url.clone());
                let rendered = rendered.into_owned();
                let writing = (&mut self.records, self.job.pace.robots);
                let Err(unfollowed) = part.follow(flight.pending, onward, &rendered, writing)
                else {
                    return Ok(());
                };
                let (pending, why) = *unfollowed;
                let (why, way) = match why {
                    Unfollowed::Refused(why) => (why, None),
                    // The round that follows redirects can begin only with the first page of an input.
                    Unfollowed::OtherPart(onward) if pending.pages.is_some() => {
                        let to = onward.url;
                        (
                            format!(
                                "a further page leads to a host of another part of the job, {to}"
                            ),
                            None,
                        )
                    }
                    Unfollowed::OtherPart(onward) => {
                        (String::new(), Some(way_of(onward, &pending)))
                    }
                };
                if let (Some(way), Ok(response)) = (&way, &outcome) {
                    let out = part.record(Outcome::Onward, false);
                    let about = (&pending.planned, &rendered);
                    self.records.onward(out, about, (&tried, way), response);
                    return Ok(());
                }
                let (about, came) = (
                    (&pending.planned, &rendered),
                    (&outcome, Some(&*why), repeatable),
                );
                let kept = (&self.keeper, (Stored::Whole(None), None));
                let kept = record(part, &mut self.records, about, &tried, came, kept);
                let of = (part.number, part.attempt);
                return unless_taken_over(self.folder, of, kept).map(|_| ());
            }
        };
        let about = (&flight.pending.planned, &rendered);
        let came = (&outcome, refused.as_deref(), repeatable);
        let body = match unchanged {
            Some(ok) if !self.has_conditions => Stored::Unchanged(ok),
            _ => body,
        };
        let next = match (&self.paging, &outcome, &refused) {
            (Some(paging), Ok(response), None) => {
                let is_here = |url: &str| part.has_host_of(url);
                Some(paging.following((response, &rendered), &flight.pending, is_here))
            }
            _ => None,
        };
        let (following, pages) = next.unzip();
        let kept = (&self.keeper, (body, following.as_ref()));
        let kept = record(part, &mut self.records, about, &tried, came, kept);
        if let (Ok(true), Some(Following::Page(onward)), Some(pages)) = (&kept, following, pages) {
            let rendered = rendered.into_owned();
            self.follow_page((flight, index), (onward, pages), &rendered);
            return Ok(());
        }
        if let Some(partials) = &mut part.partials {
            partials.forget(flight.pending.planned.number);
        }
        unless_taken_over(self.folder, (part.number, part.attempt), kept).map(|_| ())
    }
}

impl Driver<'_> {
    /// Sends a request that its proxy lost through the next proxy. The loss does not count as a try, and says nothing
    /// about the host.
    fn lost_by_proxy(
        &mut self,
        (flight, index): (Flight, usize),
        outcome: &hecaton::Outcome,
        is_news: bool,
    ) {
        let part = &mut self.open[index];
        part.hosts.unstarted(flight.host);
        let mut pending = flight.pending;
        pending.lost += 1;
        part.resume(flight.host, pending);
        if let (true, Err(error)) = (is_news, outcome) {
            let why = error.detail();
            self.say(format!("{why}; requests take the other proxies meanwhile"));
        }
    }
}

/// How long a request took.
pub(super) fn took(outcome: &hecaton::Outcome) -> Took {
    let (whole, attempts) = match outcome {
        Ok(response) => (response.elapsed(), response.attempts()),
        Err(error) => (error.elapsed(), error.attempts()),
    };
    let wait = attempts.last().and_then(|attempt| attempt.first_byte_time);
    let wait = wait.unwrap_or(whole);
    Took { whole, wait }
}

/// Whether a body was given up because all bodies together would have taken too much memory.
fn is_crowded(outcome: &hecaton::Outcome) -> bool {
    let crowded = |error: &hecaton::Error| {
        error.kind() == hecaton::Kind::Body && error.detail().contains("max_buffered")
    };
    outcome.as_ref().err().is_some_and(crowded)
}

/// The target of a redirect, for the round that follows it.
fn way_of(onward: Onward, pending: &Pending) -> Way {
    Way {
        url: onward.url,
        followed: onward.followed,
        attempts: pending.attempts,
        is_get: onward.is_get,
        has_left: onward.has_left,
    }
}

/// The URL of the next page.
fn way_to(onward: &Onward) -> Way {
    Way {
        url: onward.url.clone(),
        followed: 0,
        attempts: 0,
        is_get: onward.is_get,
        has_left: onward.has_left,
    }
}

/// How many pages of an input have their records.
fn pages_before(pending: &Pending) -> u32 {
    pending.pages.as_ref().map_or(0, |pages| pages.number)
}

/// Whether an outcome is a redirect to be followed, and where it leads.
fn leads(
    outcome: &hecaton::Outcome,
    rendered: &Rendered<'_>,
    earlier: Option<&Onward>,
    most: (u32, Reach),
) -> Step {
    match outcome {
        Ok(response) => {
            let response = (response.status(), response.headers());
            step(response, rendered, earlier, most)
        }
        Err(_) => Step::Stay,
    }
}

/// Writes the record of an outcome, or of a redirect that is not followed, and why. Returns whether another page
/// follows it.
fn record(
    part: &mut OpenPart,
    records: &mut RecordWriter,
    about: (&Planned, &Rendered<'_>),
    tried: &Tried,
    (outcome, refused, repeatable): (&hecaton::Outcome, Option<&str>, bool),
    (keeper, (body, following)): (&Keeper, (Stored, Option<&Following>)),
) -> std::io::Result<bool> {
    match (outcome, refused) {
        (Ok(response), Some(why)) => {
            let out = part.record(Outcome::Error, false);
            records.refused(out, about, tried, response, why);
        }
        (Ok(response), None) => {
            let whole = match body {
                Stored::Whole(whole) => whole,
                Stored::TooLarge(why) => {
                    let out = part.record(Outcome::Error, false);
                    records.without_body(out, about, tried, response, &why);
                    return Ok(false);
                }
                Stored::Unchanged(ok) => {
                    let out = part.record(Outcome::Unchanged, ok);
                    records.unchanged(out, about, tried, response, ok);
                    return Ok(false);
                }
            };
            let mut kept = keeper.keep(&mut part.sink, about, tried, (response, whole))?;
            // A response that is not good is the last page, even if it names a next one.
            match following.filter(|_| kept.ok) {
                Some(Following::Page(onward)) => kept.next = Some(way_to(onward)),
                Some(Following::Refused(why)) => {
                    (kept.ok, kept.why) = (false, Some(why.clone()));
                }
                Some(Following::Nothing) | None => {}
            }
            let is_followed = kept.next.is_some();
            let out = match is_followed {
                true => part.page(),
                false => part.record(Outcome::Response, kept.ok),
            };
            records.response(out, about, tried, response, kept);
            return Ok(is_followed);
        }
        // The server may have acted on the request. It is not recorded as an error, because `again` sends errors by
        // default.
        (Err(error), _) if !repeatable => {
            let out = part.record(Outcome::Unknown, false);
            records.unknown(out, about, tried, error);
        }
        (Err(error), _) => {
            let out = part.record(Outcome::Error, false);
            records.error(out, about, tried, error);
        }
    }
    Ok(false)
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
