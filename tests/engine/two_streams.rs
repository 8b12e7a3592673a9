//! A client that sends two requests on one connection, whose server plays a script. A success must have every byte that
//! the script sent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hecaton::{Batch, Client, Config, Outcome, Protocol, Proxy, Reactor, Request};

/// The length of the second request's path. It is much longer than the rest of a head, so the server can tell which
/// request came without decoding heads.
pub const LONG: usize = 1000;

/// The server's part of a stage.
pub struct Server<Play> {
    /// The script for its next connection.
    pub next: Arc<Mutex<Option<Play>>>,
    /// Whether the second request came first. On a busy machine a request may leave after the one behind it.
    pub swapped: Arc<AtomicBool>,
}

/// A server that plays the current script on its next connection, and the client that sends it two requests.
pub struct Stage<Play> {
    client: Client,
    reactor: Reactor,
    url: String,
    server: Server<Play>,
}

/// The response of one stream, as a script sends it.
pub struct Sent<'a> {
    pub body: &'a [u8],
    /// Whether it is a well-formed response with its end.
    pub whole: bool,
}

impl<Play> Clone for Server<Play> {
    fn clone(&self) -> Server<Play> {
        let (next, swapped) = (self.next.clone(), self.swapped.clone());
        Server { next, swapped }
    }
}

impl<Play> Server<Play> {
    pub fn take(&self) -> Option<Play> {
        self.next.lock().unwrap().take()
    }
}

impl<Play> Stage<Play> {
    /// `start` starts the server, and returns its URL.
    pub fn new(http: Protocol, start: impl FnOnce(Server<Play>) -> String) -> Stage<Play> {
        let (next, swapped) = Default::default();
        let server = Server { next, swapped };
        let mut config = Config::new(Duration::from_secs(60));
        config.http = http;
        config.proxy = Proxy::Off;
        config.verify = false;
        Stage {
            client: Client::new(config),
            reactor: Reactor::new().unwrap(),
            url: start(server.clone()),
            server,
        }
    }

    /// Sends two requests, which the server answers with `play`, and checks both outcomes. `ends` says whether the script
    /// has an error of the whole connection.
    pub fn run(&self, play: Play, uploads: bool, ends: bool, sent: [Sent<'_>; 2]) {
        *self.server.next.lock().unwrap() = Some(play);
        for (outcome, sent) in self.outcomes(uploads).iter().zip(&sent) {
            match outcome {
                Ok(response) => {
                    assert!(sent.whole, "a success of what was no whole response");
                    assert!(
                        response.body()[..] == *sent.body,
                        "{} bytes of {} were handed over as a whole body",
                        response.body().len(),
                        sent.body.len()
                    );
                }
                Err(error) => {
                    let may = !sent.whole || ends;
                    assert!(may, "a whole response was no success: {error}");
                }
            }
        }
    }

    /// The outcomes of both requests, in the order of their streams.
    fn outcomes(&self, uploads: bool) -> Vec<Outcome> {
        let mut batch = Batch::new(self.client.clone(), 2);
        for tag in 0..2 {
            let url = format!("{}{}", self.url, "x".repeat(tag * LONG));
            let request = Request::new("POST", &url).unwrap();
            // Longer than the window that the server grants, so the upload never ends.
            let body = vec![b'x'; if uploads { 100_000 } else { 0 }];
            batch.push(tag, request.body(body));
        }
        let mut outcomes: Vec<(usize, Outcome)> = Vec::new();
        while !batch.is_empty() {
            self.reactor.block_on(batch.wait(&mut outcomes));
        }
        let swapped = self.server.swapped.load(Ordering::SeqCst);
        outcomes.sort_by_key(|(tag, _)| (*tag == 1) != swapped);
        // The next script needs a connection of its own.
        self.client.close_idle();
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }
}
