//! Settles a request that is not sent again: follows its redirect, or writes its record and queues its next page.

use std::borrow::Cow;
use std::io;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use hecaton::Redirect;

use super::taken_over::unless_taken_over;
use super::{Driver, Flight};
use crate::error::Result;
use crate::plan::Way;
use crate::record::{Ending, Outcome};
use crate::request::{RedirectLimits, Rendered, Step, Unfetched, step};
use crate::run::keep::{Arrived, Keeper};
use crate::run::line::{self, RecordWriter, Tried, TriedRequest};
use crate::run::pages::Following;
use crate::run::part::{OpenPart, Pending, Unfollowed};
use crate::run::recorded::{Risk, recorded};
use crate::run::unrequested::Refusal;
use crate::segment::Pages;
use crate::sink::Sink;
use crate::take::{Alone, LARGE};

/// The use of an outcome's body.
pub(super) enum BodyUse {
    /// It is kept as the job says; without a response there is none.
    Kept(Arrived),
    /// It is of no use.
    Refused(Refusal),
    /// None came, because the job has the same body already; whether that response was good.
    Unchanged(bool),
}

/// A request with its last outcome.
pub(super) struct Last<'a> {
    pub flight: Flight,
    pub index: usize,
    pub outcome: &'a hecaton::Outcome,
    pub body: BodyUse,
}

impl Driver<'_> {
    /// Follows the redirect of a request, or writes its record.
    pub(super) fn settle(&mut self, last: Last<'_>) -> Result<()> {
        let is_large = |response: &hecaton::Response| response.body().len() > LARGE;
        let is_large = self.keeper.reads() && last.outcome.as_ref().is_ok_and(is_large);
        let _alone = is_large.then(Alone::wait);
        let mut tried = self.tried(&last.flight);
        match self.leads(&last) {
            Step::Stay => self.record(last, tried),
            Step::Refused(Unfetched { url, why }) => {
                tried.location = url;
                // If no redirects are to be followed, the redirect is recorded as the response.
                tried.unfollowed = (self.job.network.redirects > 0).then_some(why);
                self.record(last, tried)
            }
            Step::To(onward) => {
                tried.location = Some(onward.url.clone());
                self.follow_redirect(last, onward, tried)
            }
        }
    }

    /// The facts of a request besides its response.
    fn tried(&self, flight: &Flight) -> Tried {
        let onward = flight.pending.onward.as_ref();
        let pages = flight.pending.pages.as_ref();
        let before = pages.map_or(0, |pages| pages.number);
        Tried {
            attempts: flight.pending.attempts,
            begun: flight.sent_at.unwrap_or_else(SystemTime::now),
            location: onward.map(|onward| onward.url.clone()),
            page: self.paging.as_ref().map(|_| 1 + before),
            unfollowed: None,
        }
    }

    /// Whether a response is a redirect to be followed, and where it leads.
    fn leads(&self, last: &Last<'_>) -> Step {
        let pending = &last.flight.pending;
        let response = match last.outcome {
            Ok(response) if Redirect::is_one(response.status()) => response,
            _ => return Step::Stay,
        };
        let Ok(rendered) = self.maker.render(&pending.planned.held) else {
            return Step::Stay;
        };
        let limits = RedirectLimits {
            most: self.job.network.redirects,
            reach: self.job.network.redirects_to,
        };
        let (status, headers) = (response.status(), response.headers());
        step(
            status,
            headers,
            &rendered,
            pending.onward.as_deref(),
            limits,
        )
    }

    /// Queues the request that a redirect leads to, or records why it is not sent here.
    fn follow_redirect(&mut self, last: Last<'_>, onward: Way, mut tried: Tried) -> Result<()> {
        let Last {
            flight,
            index,
            outcome,
            body,
        } = last;
        let part = &mut self.open[index];
        let followed = part.follow(flight.pending, onward, &self.maker, &mut self.records);
        let Err(unfollowed) = followed else {
            return Ok(());
        };
        let (pending, why) = *unfollowed;
        match why {
            Unfollowed::Refused(why) => tried.unfollowed = Some(why),
            Unfollowed::OtherPart(onward) => {
                let attempts = pending.attempts;
                let way = Way { attempts, ..onward };
                if let Ok(rendered) = self.maker.render(&pending.planned.held) {
                    let request = TriedRequest {
                        planned: &pending.planned,
                        rendered: &rendered,
                        tried: &tried,
                    };
                    leave_to_round(part, &mut self.records, &request, outcome, &way);
                }
                return Ok(());
            }
        }
        let last = Last {
            flight: Flight { pending, ..flight },
            index,
            outcome,
            body,
        };
        self.record(last, tried)
    }

    /// Writes the record of an outcome, or of a redirect that is not followed, and why. Queues the page that follows.
    fn record(&mut self, last: Last<'_>, tried: Tried) -> Result<()> {
        let (flight, index, outcome) = (last.flight, last.index, last.outcome);
        let Ok(rendered) = self.maker.render(&flight.pending.planned.held) else {
            return Ok(());
        };
        let bytes = received(outcome, &last.body);
        self.shared.received.fetch_add(bytes, Ordering::Relaxed);
        let is_no_error = is_no_error(&flight.pending, &rendered, outcome);
        let refused = tried.unfollowed.as_deref().filter(|_| !is_no_error);
        let response = outcome.as_ref().ok().filter(|_| refused.is_none());
        let next = self.following(response, &rendered, &flight.pending);
        let (following, pages) = next.unzip();
        let request = TriedRequest {
            planned: &flight.pending.planned,
            rendered: &rendered,
            tried: &tried,
        };
        let settled = Settled {
            request,
            outcome,
            refused,
            risk: risk(&flight, outcome),
            following: following.as_ref(),
        };
        let part = &mut self.open[index];
        let kept = write(part, &mut self.records, &self.keeper, &settled, last.body);
        if let (Ok(true), Some(Following::Page(onward)), Some(pages)) = (&kept, following, pages) {
            if part.has_host_of(&onward.url) {
                drop(rendered);
                self.follow_page(flight, index, onward, pages);
            } else {
                // In the same frame as the record of the page, so that no crash comes between them.
                leave_to_round(part, &mut self.records, &request, outcome, &onward);
            }
            return Ok(());
        }
        if let Some(partials) = &mut part.partials {
            partials.forget(flight.pending.planned.number);
        }
        unless_taken_over(self.folder, part.number, part.attempt, kept).map(|_| ())
    }

    /// The page that follows a response, and all pages of the input so far; none if the job follows no pages.
    fn following(
        &self,
        response: Option<&hecaton::Response>,
        rendered: &Rendered<'_>,
        pending: &Pending,
    ) -> Option<(Following, Pages)> {
        let paging = self.paging.as_ref()?;
        Some(paging.following(response?, rendered, pending))
    }
}

/// Whether a redirect that is not followed is no error. An error would be sent again, and that would repeat the act: it
/// makes a GET of the request, or a server has acted already. The record is then as in [`recorded`].
fn is_no_error(pending: &Pending, rendered: &Rendered<'_>, outcome: &hecaton::Outcome) -> bool {
    let is_get = pending.onward.as_ref().is_some_and(|way| way.is_get);
    let becomes_get = |response: &hecaton::Response| {
        !is_get && Redirect::becomes_get(response.status(), &rendered.method)
    };
    pending.has_acted() || outcome.as_ref().is_ok_and(becomes_get)
}

/// The act that a request would repeat if it were sent again.
fn risk(flight: &Flight, outcome: &hecaton::Outcome) -> Risk {
    if flight.pending.has_acted() {
        Risk::HasActed
    } else if flight.may_repeat || is_unsent(outcome) {
        Risk::None
    } else {
        Risk::MayHaveActed
    }
}

/// Whether nothing of a request was sent.
pub(super) fn is_unsent(outcome: &hecaton::Outcome) -> bool {
    outcome.as_ref().is_err_and(|error| !error.sent())
}

/// The bytes of the body of an outcome.
fn received(outcome: &hecaton::Outcome, body: &BodyUse) -> u64 {
    match (body, outcome) {
        (BodyUse::Kept(arrived), Ok(response)) => arrived.length(response),
        (_, Ok(response)) => response.body().len() as u64,
        _ => 0,
    }
}

/// A request that is not sent again, with all that its record depends on.
struct Settled<'a> {
    request: TriedRequest<'a>,
    outcome: &'a hecaton::Outcome,
    /// Why the redirect of its response is not followed.
    refused: Option<&'a str>,
    /// The act that is repeated if it is sent again.
    risk: Risk,
    /// The page that follows, if the job follows pages.
    following: Option<&'a Following>,
}

/// Writes that a redirect or a page waits for the round that follows all parts.
fn leave_to_round(
    part: &mut OpenPart,
    records: &mut RecordWriter,
    request: &TriedRequest<'_>,
    outcome: &hecaton::Outcome,
    way: &Way,
) {
    if let Ok(response) = outcome {
        let out = part.record(Outcome::Onward, false);
        records.tried(out, request, line::onward(request, response, way));
    }
}

/// Writes the record of a request. Returns whether another page follows it.
fn write(
    part: &mut OpenPart,
    records: &mut RecordWriter,
    keeper: &Keeper,
    settled: &Settled<'_>,
    body: BodyUse,
) -> io::Result<bool> {
    let ending = ending(&mut part.sink, keeper, settled, body)?;
    let (is_followed, ok) = (ending.more, ending.ok == Some(true));
    let out = match is_followed {
        true => part.page(),
        false => part.record(ending.outcome, ok),
    };
    records.tried(out, &settled.request, ending);
    Ok(is_followed)
}

/// Stores the body of a response, and returns its record.
fn ending<'a>(
    sink: &mut Sink,
    keeper: &'a Keeper,
    settled: &Settled<'a>,
    body: BodyUse,
) -> io::Result<Ending<'a>> {
    let request = &settled.request;
    let failed = recorded(Outcome::Error, false, settled.risk);
    let response = match (settled.outcome, settled.refused) {
        (Ok(response), None) => response,
        (Ok(response), Some(why)) => {
            let (outcome, why) = (Outcome::Error, why.into());
            let ending = line::of_no_use(request, response, outcome, "redirect", why);
            return Ok(ending);
        }
        (Err(error), _) => return Ok(line::of_error(request, error, failed)),
    };
    match body {
        BodyUse::Kept(arrived) => {
            let ending = keeper.keep(sink, request, response, arrived)?;
            Ok(followed(ending, settled))
        }
        BodyUse::Refused(Refusal { kind, why, .. }) => {
            Ok(line::of_no_use(request, response, failed, kind, why.into()))
        }
        BodyUse::Unchanged(ok) => {
            keeper.revisit(sink, request, response)?;
            let outcome = Outcome::Unchanged;
            Ok(line::without_body(request, response, outcome, ok))
        }
    }
}

/// The record of a response whose body is kept, with what follows it. One that is not good is the last page, even if
/// it names a next one.
fn followed<'a>(mut ending: Ending<'a>, settled: &Settled<'a>) -> Ending<'a> {
    let mut ok = ending.ok == Some(true);
    if !ok {
        let unfollowed = settled.request.tried.unfollowed.as_deref();
        ending.why = unfollowed.map(Cow::Borrowed).or(ending.why);
    }
    match settled.following.filter(|_| ok) {
        Some(Following::Page(onward)) => (ending.more, ending.onward) = (true, Some(onward)),
        Some(Following::Refused(page)) => {
            (ok, ending.why) = (false, Some(Cow::Borrowed(&*page.why)));
            ending.location = page.url.as_deref().or(ending.location);
        }
        Some(Following::Nothing) | None => {}
    }
    ending.ok = Some(ok);
    ending.outcome = recorded(Outcome::Response, ok, settled.risk);
    if ending.outcome == Outcome::Unknown && ending.why.is_none() {
        ending.why = Some("the result that a 303 led to is not good".into());
    }
    ending
}
