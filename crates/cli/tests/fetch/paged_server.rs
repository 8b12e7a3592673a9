//! A server whose responses name their next page.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hecaton_e2e::peer::Peer;

/// The server, and which paths were requested.
pub struct PagedServer {
    pub port: u16,
    peer: Peer,
    /// While this is so, the second page of `/broken` is a 404.
    pub is_broken: Arc<AtomicBool>,
}

impl PagedServer {
    pub fn start() -> PagedServer {
        let is_broken = Arc::new(AtomicBool::new(true));
        let broken = is_broken.clone();
        let peer = Peer::responding(move |request| {
            let host = request.field("host").unwrap_or_default();
            let port = host.rsplit(':').next().unwrap_or_default();
            response(request.target(), broken.load(Ordering::SeqCst), port)
        });
        PagedServer {
            port: peer.port(),
            peer,
            is_broken,
        }
    }

    /// URLs of the first of so many pages each.
    pub fn urls(&self, form: &str, inputs: u32, pages: u32) -> impl Iterator<Item = String> {
        let base = format!("http://127.0.0.1:{}/{form}", self.port);
        (0..inputs).map(move |input| format!("{base}/{input}/{pages}/1"))
    }

    /// How often each path was requested.
    pub fn requests(&self) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for request in self.peer.requests() {
            *counts.entry(request.target().to_owned()).or_default() += 1;
        }
        counts
    }

    /// How many requests there were.
    pub fn count(&self) -> u64 {
        self.peer.requests().len() as u64
    }
}

/// `/FORM/INPUT/PAGES/PAGE`: how the page names the next one, which input it is, how many pages that has, and which
/// this is.
fn response(path: &str, is_broken: bool, port: &str) -> String {
    if path == "/robots.txt" {
        return written("200 OK", "", "User-agent: *\nDisallow: /json/3/3/2\n");
    }
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let number = |index: usize| {
        parts
            .get(index)
            .and_then(|part| part.parse().ok())
            .unwrap_or(0u64)
    };
    let (form, input, pages, page) = (parts[0], number(1), number(2), number(3));
    let next = format!("/{form}/{input}/{pages}/{}", page + 1);
    let json = |next: &str| format!("{{\"input\":{input},\"page\":{page},\"next\":{next}}}");
    let quoted = format!("{next:?}");
    match form {
        // Each page is on another host.
        "hop" if page < pages => {
            let host = format!("h{}.test:{port}", (input + page) % 7);
            written("200 OK", "", &json(&format!("\"http://{host}{next}\"")))
        }
        "link" if page < pages => {
            let link = format!("Link: </other>; rel=prev, <{next}>; rel=\"next\"\r\n");
            written("200 OK", &link, "page")
        }
        "link" => written("200 OK", "", "page"),
        "broken" if page == 2 && is_broken => written("404 Not Found", "", &json(&quoted)),
        "json" | "broken" | "hop" if page >= pages => written("200 OK", "", &json("null")),
        "json" | "broken" | "forever" => written("200 OK", "", &json(&quoted)),
        // Longer than a body that goes to the disk as it comes.
        "long" => {
            let next = if page < pages { &quoted } else { "null" };
            let padding = "x".repeat(3 << 19);
            let body = format!("{{\"padding\":{padding:?},\"next\":{next}}}");
            written("200 OK", "", &body)
        }
        "loop" => {
            let next = format!("\"/loop/{input}/{pages}/{}#top\"", page % pages + 1);
            written("200 OK", "", &json(&next))
        }
        "away" => written("200 OK", "", &json("\"http://away.localhost/secret\"")),
        "text" => written("200 OK", "", "no JSON"),
        "redirect" if page == 2 => written("302 Found", "Location: ./3\r\n", ""),
        "redirect" if page == 3 => written("200 OK", "", &json("\"./4\"")),
        "redirect" if page == 4 => written("200 OK", "", &json("null")),
        "redirect" => written("200 OK", "", &json(&quoted)),
        _ => written("404 Not Found", "", ""),
    }
}

fn written(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
}
