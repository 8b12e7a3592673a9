//! A server that responds to each path with a few given bytes, and records the requests.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use hecaton_e2e::peer::{Peer, Reply};

pub use hecaton_e2e::peer::response as response_text;

/// Responses are whole responses by target (`/path?query`); other targets get a 404. Connections stay open, but for an
/// empty response.
pub struct Scripted {
    pub url: String,
    peer: Peer,
}

impl Scripted {
    /// `responses` gets the server's own URL.
    pub fn new(responses: impl FnOnce(&str) -> Vec<(&'static str, String)>) -> Scripted {
        let known = Arc::new(OnceLock::<HashMap<_, _>>::new());
        let later = known.clone();
        let server = Scripted::responding(move |request| {
            let target = request.split(' ').nth(1).unwrap_or_default();
            let known = later.get().expect("it is set before a request");
            let missing = || response_text(404, "", "no such path");
            known.get(target).cloned().unwrap_or_else(missing)
        });
        let responses = responses(&server.url).into_iter().collect();
        known.set(responses).expect("once");
        server
    }

    /// A server whose responses depend on the requests.
    pub fn responding(responses: impl Fn(&str) -> String + Send + Sync + 'static) -> Scripted {
        let peer = Peer::responding(move |request| match responses(&request.text) {
            none if none.is_empty() => Reply::Closed(Vec::new()),
            some => some.into(),
        });
        let url = peer.url("");
        Scripted { url, peer }
    }

    /// The requests so far: heads and bodies as they were on the wire.
    pub fn arrived(&self) -> Vec<String> {
        let requests = self.peer.requests();
        requests.into_iter().map(|it| it.text).collect()
    }

    /// The request lines without the version.
    pub fn requests(&self) -> Vec<String> {
        let line = |request: &String| {
            request
                .split(" HTTP/")
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        self.arrived().iter().map(line).collect()
    }
}
