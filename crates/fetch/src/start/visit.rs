//! Requests for the user's own URLs, a list or a sitemap. Their redirects are followed one by one, each by the client
//! of its host.

use hecaton::{Client, Request, Response, Streaming};

use crate::job::Reach;
use crate::request::{Onward, Rendered, Step, step};
use crate::run::Clients;

/// Redirects that are followed.
const MOST: u32 = 5;

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
/// Why there is no response, or why a redirect is not followed.
pub fn visit<T: Head>(
    clients: &Clients,
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
        let came = send(clients.of(is_own), request).map_err(|error| error.to_string())?;
        let head = (came.status(), came.headers());
        match step(head, &rendered, earlier.as_ref(), (MOST, Reach::Any)) {
            Step::Stay => return Ok(came),
            Step::Refused(_, why) => return Err(format!("a redirect is not followed: {why}")),
            Step::To(onward) => {
                is_own = clients.leads((here, is_own), &onward.url);
                earlier = Some(onward);
            }
        }
    }
}
