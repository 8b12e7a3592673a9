//! Requests for the user's own URLs, a list or a sitemap. Their redirects are followed one by one, each by the client
//! of its host. What fails is sent again as the requests of inputs are.

use std::fmt::{self, Display, Formatter};
use std::thread::sleep;
use std::time::{Instant, SystemTime};

use hecaton::{Client, Request, Response, Streaming};

use crate::job::{Pace, Reach};
use crate::record::Way;
use crate::request::{Naming, RedirectLimits, Rendered, Step, step};
use crate::run::{AttemptEnd, Budget, Clients, Purpose, Referrer, Then, fate, unrequested, wait};

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

/// Why a URL has no response.
#[derive(Debug)]
pub struct Unvisited {
    /// The reason, in words.
    pub why: String,
    /// Whether another try might end in another way.
    pub may_pass: bool,
    /// The status of a redirect that is not followed.
    pub redirect: Option<u16>,
}

impl Unvisited {
    /// Another try would end in the same way.
    pub fn lasting(why: impl Display) -> Unvisited {
        Unvisited {
            why: why.to_string(),
            may_pass: false,
            redirect: None,
        }
    }

    /// The same, of a URL that a redirect leads to.
    fn at_redirect(status: u16, why: &str) -> Unvisited {
        Unvisited {
            redirect: Some(status),
            ..Unvisited::lasting(format!("a redirect is not followed: {why}"))
        }
    }

    fn after(self, onward: &Way) -> Unvisited {
        Unvisited {
            why: format!("a redirect leads to {}: {}", onward.url, self.why),
            ..self
        }
    }
}

impl Display for Unvisited {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// A URL that is requested.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The URL.
    pub url: &'a str,
    /// Whether the user wrote its host as their own.
    pub is_own: bool,
}

/// Requests URLs, and the URLs that they redirect to.
pub struct Visitor<'a> {
    pub clients: &'a Clients,
    pub pace: &'a Pace,
    /// The User-Agent of each host, if it is to be that of the job.
    pub naming: Option<&'a Naming>,
    /// Whether a server without an answer is tried until `wait_out` has passed, and not only a few times.
    pub is_patient: bool,
}

impl Visitor<'_> {
    /// Requests a URL. `permit` refuses URLs that are not requested, and `send` sends a request for a URL. Both are
    /// called for each redirect too.
    ///
    /// # Errors
    /// Why there is no response, why a redirect is not followed, or that only a part of the body came.
    pub fn visit<T: Head>(
        &self,
        visit: Visit<'_>,
        permit: impl Fn(Visit<'_>) -> Result<(), Unvisited>,
        send: impl Fn(&str, &Client, Request) -> Result<T, hecaton::Error>,
    ) -> Result<T, Unvisited> {
        let rendered = Rendered {
            method: "GET".into(),
            url: visit.url.into(),
            headers: Vec::new(),
            body: None,
        };
        let mut earlier: Option<Way> = None;
        let mut is_own = visit.is_own;
        loop {
            let here = earlier.as_ref().map_or(visit.url, |onward| &onward.url);
            let permitted = permit(Visit { url: here, is_own });
            permitted.map_err(|unvisited| match &earlier {
                Some(onward) => unvisited.after(onward),
                None => unvisited,
            })?;
            let request = self.request(here).map_err(Unvisited::lasting)?;
            let client = self.clients.of(is_own);
            let came = self.persist(|| send(here, client, request.clone()))?;
            let (status, headers) = (came.status(), came.headers());
            match step(status, headers, &rendered, earlier.as_ref(), LIMITS) {
                Step::Stay => return Ok(came),
                Step::Refused(it) => return Err(Unvisited::at_redirect(status, &it.why)),
                Step::To(onward) => {
                    let from = Referrer { url: here, is_own };
                    is_own = self.clients.leads(from, &onward.url);
                    earlier = Some(onward);
                }
            }
        }
    }

    fn request(&self, url: &str) -> Result<Request, String> {
        match self.naming {
            Some(naming) => naming.request(url),
            None => Request::get(url).map_err(|error| error.to_string()),
        }
    }

    /// Sends a request until its outcome is final.
    fn persist<T: Head>(
        &self,
        send: impl Fn() -> Result<T, hecaton::Error>,
    ) -> Result<T, Unvisited> {
        let begun = Instant::now();
        let (mut tries, mut waits, mut has_reconnected) = (0, 0, false);
        loop {
            let came = send();
            let fate = fate(end(&came), Purpose::Side, true, &[]);
            let left = Budget {
                is_down: false,
                has_tries: tries < self.pace.retries,
                has_time: begun.elapsed() < self.pace.wait_out,
                has_host: false,
                is_crowded: false,
                has_reconnected,
                has_differed: false,
            };
            let may_pass = fate.then != Then::Record;
            let then = match fate.then.within(left) {
                then if may_pass && self.is_patient => then.of_many(left),
                then => then,
            };
            match then {
                Then::Again => {
                    tries += 1;
                    sleep(wait(tries));
                }
                Then::Later => {
                    let pause = fate.pause(waits).unwrap_or_default();
                    waits += 1;
                    sleep(pause.min(self.pace.max_retry_after).max(wait(waits)));
                }
                Then::Reconnect => has_reconnected = true,
                _ => return whole(came, may_pass),
            }
        }
    }
}

/// A response that says something about its URL.
fn whole<T: Head>(came: Result<T, hecaton::Error>, may_pass: bool) -> Result<T, Unvisited> {
    let unvisited = |why: String| {
        Err(Unvisited {
            may_pass,
            ..Unvisited::lasting(why)
        })
    };
    match came {
        Err(error) => unvisited(error.to_string()),
        Ok(came) => match unrequested(came.status(), came.headers()) {
            Some(refusal) => unvisited(refusal.why),
            None if may_pass => unvisited(format!("the response has status {}", came.status())),
            None => Ok(came),
        },
    }
}

fn end<T: Head>(came: &Result<T, hecaton::Error>) -> AttemptEnd {
    let head = match came {
        Ok(head) => head,
        Err(error) => return AttemptEnd::of_error(error),
    };
    if let Some(refusal) = unrequested(head.status(), head.headers()) {
        return refusal.end;
    }
    let mut fields = head.headers();
    let pause = fields.find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
    AttemptEnd::of_status(
        head.status(),
        pause.map(|(_, value)| value),
        SystemTime::now,
    )
}
