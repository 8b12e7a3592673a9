//! Lists that are elsewhere: over HTTP, or in an object store. They are read as they come, and nothing is stored.

use std::io::{self, Read};
use std::time::Duration;

use bytes::Bytes;
use hecaton::{Reactor, Streaming};

use super::visit::{Visit, Visitor};
#[cfg(not(feature = "objects"))]
use crate::error::Error;
use crate::error::Result;
use crate::input::Source;
use crate::job::Job;
use crate::run;

/// How long a list may take to come. The job's `read_timeout` limits each pause.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The list at a URL. It is requested when it is first read, so that lists after the first do not wait with open
/// connections.
///
/// # Errors
/// When this build cannot read it.
pub fn open(job: &Job, url: &str) -> Result<Source> {
    let reader: Box<dyn Read + Send> = match url.split_once("://") {
        Some(("http" | "https", _)) => {
            Box::new(Page::NotRequested(Box::new(job.clone()), url.to_owned()))
        }
        _ => object(url)?,
    };
    Ok(Source::Remote(url.to_owned(), reader))
}

#[cfg(feature = "objects")]
fn object(url: &str) -> Result<Box<dyn Read + Send>> {
    let store = crate::objects::Store::open(url)?;
    Ok(Box::new(Object {
        store,
        about: None,
        at: 0,
        held: Bytes::new(),
    }))
}

#[cfg(not(feature = "objects"))]
fn object(url: &str) -> Result<Box<dyn Read + Send>> {
    Err(Error::usage(format!(
        "{url}: this command was built without object storage: `bin/setup fetch` builds it in (cargo's feature `objects`)"
    )))
}

/// A list over HTTP.
enum Page {
    /// Not requested yet.
    NotRequested(Box<Job>, String),
    /// Its pieces come.
    Open(Box<(Reactor, Streaming)>, Bytes),
}

fn failed(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

fn request(job: &Job, url: &str) -> io::Result<Page> {
    let reactor = Reactor::new()?;
    let clients = run::list_clients(job).map_err(failed)?;
    let visitor = Visitor {
        clients: &clients,
        pace: &job.pace,
        naming: None,
        is_patient: false,
    };
    let visit = Visit {
        url,
        is_own: clients.wrote(url),
    };
    let streaming = visitor.visit(
        visit,
        |_| Ok(()),
        |_, client, request| reactor.block_on(client.open(request.timeout(LONGEST))),
    );
    let streaming = streaming.map_err(failed)?;
    match streaming.status() {
        200 | 206 => Ok(Page::Open(Box::new((reactor, streaming)), Bytes::new())),
        status => Err(failed(format!("the response has status {status}"))),
    }
}

impl Read for Page {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Page::NotRequested(job, url) = self {
            *self = request(job, url)?;
        }
        let Page::Open(open, held) = self else {
            return Ok(0);
        };
        while held.is_empty() && !out.is_empty() {
            let (reactor, streaming) = &mut **open;
            match reactor.block_on(streaming.chunk()).map_err(failed)? {
                Some(more) => *held = more,
                None => return Ok(0),
            }
        }
        Ok(taken(held, out))
    }
}

fn taken(held: &mut Bytes, out: &mut [u8]) -> usize {
    let some = held.split_to(held.len().min(out.len()));
    out[..some.len()].copy_from_slice(&some);
    some.len()
}

/// A list in an object store.
#[cfg(feature = "objects")]
struct Object {
    store: crate::objects::Store,
    about: Option<crate::objects::About>,
    at: u64,
    held: Bytes,
}

#[cfg(feature = "objects")]
impl Read for Object {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let about = match &mut self.about {
            Some(about) => about,
            none => {
                let found = self.store.about("").map_err(failed)?;
                none.insert(found.ok_or_else(|| failed("there is no such object"))?)
            }
        };
        if self.held.is_empty() && self.at < about.bytes {
            self.held = self.store.piece("", about, self.at).map_err(failed)?;
            self.at += self.held.len() as u64;
        }
        Ok(taken(&mut self.held, out))
    }
}
