//! Requests for the user's own URLs, a list or a sitemap. Their redirects are followed one by one, each by the client
//! of its host. What fails is sent again as the requests of inputs are.

use std::thread::sleep;
use std::time::{Instant, SystemTime};

use hecaton::{Client, Request, Response, Streaming};

use crate::job::{Pace, Reach};
use crate::request::{Onward, RedirectLimits, Rendered, Step, step};
use crate::run::{Clients, End, Left, Purpose, Referrer, Then, fate, unrequested, wait};

/// Redirects that are followed.
const LIMITS: RedirectLimits = RedirectLimits {
    most: 5,
    reach: Reach::Any,
};

/// A response, as far as redirects need it.
pub trait Head {
    /// Its status.
    fn status(&self) -> u16;

    /// Its headers.
    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])>;
}

impl Head for Response {
    fn status(&self) -> u16 {
        Response::status(self)
    }

    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        Response::headers(self)
    }
}

impl Head for Streaming {
    fn status(&self) -> u16 {
        Streaming::status(self)
    }

    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        Streaming::headers(self)
    }
}

/// Requests a URL, and the URLs that it redirects to. `send` sends a request.
///
/// # Errors
/// Why there is no response, why a redirect is not followed, or that only a part of the body came.
pub fn visit<T: Head>(
    clients: &Clients,
    pace: &Pace,
    url: &str,
    send: impl Fn(&Client, Request) -> Result<T, hecaton::Error>,
) -> Result<T, String> {
    let rendered = Rendered {
        method: "GET".into(),
        url: url.into(),
        headers: Vec::new(),
        body: None,
    };
    let mut earlier: Option<Onward> = None;
    let mut is_own = clients.wrote(url);
    loop {
        let here = earlier.as_ref().map_or(url, |onward| &onward.url);
        let request = Request::get(here).map_err(|error| error.to_string())?;
        let send = || send(clients.of(is_own), request.clone());
        let came = persist(pace, send).map_err(|error| error.to_string())?;
        let (status, headers) = (came.status(), came.headers());
        match step(status, headers, &rendered, earlier.as_ref(), LIMITS) {
            Step::Stay => {
                let refusal = unrequested(status, came.headers());
                return refusal.map_or(Ok(came), |refusal| Err(refusal.why));
            }
            Step::Refused(_, why) | Step::Response(_, why) => {
                return Err(format!("a redirect is not followed: {why}"));
            }
            Step::To(onward) => {
                is_own = clients.leads(Referrer { url: here, is_own }, &onward.url);
                earlier = Some(onward);
            }
        }
    }
}

/// Sends a request until its outcome is final.
fn persist<T: Head>(
    pace: &Pace,
    send: impl Fn() -> Result<T, hecaton::Error>,
) -> Result<T, hecaton::Error> {
    let begun = Instant::now();
    let (mut tries, mut waits, mut has_reconnected) = (0, 0, false);
    loop {
        let came = send();
        let fate = fate(end(&came), Purpose::Side, true, &[]);
        let left = Left {
            is_down: false,
            has_tries: tries < pace.retries,
            has_time: begun.elapsed() < pace.wait_out,
            has_host: false,
            is_crowded: false,
            has_reconnected,
            has_differed: false,
        };
        match fate.then.within(left) {
            Then::Again => {
                tries += 1;
                sleep(wait(tries));
            }
            Then::Later => {
                waits += 1;
                let pause = fate.pause().unwrap_or_default().min(pace.max_retry_after);
                sleep(pause.max(wait(waits)));
            }
            Then::Reconnect => has_reconnected = true,
            _ => return came,
        }
    }
}

fn end<T: Head>(came: &Result<T, hecaton::Error>) -> End {
    let head = match came {
        Ok(head) => head,
        Err(error) => return End::of_error(error),
    };
    if let Some(refusal) = unrequested(head.status(), head.headers()) {
        return refusal.end;
    }
    let mut fields = head.headers();
    let pause = fields.find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
    End::of_status(
        head.status(),
        pause.map(|(_, value)| value),
        SystemTime::now,
    )
}
