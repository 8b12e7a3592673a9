//! `work`: does parts as NATS hands them out, until every part of the job is done.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::hand::{Board, Hand, Told};
use super::lease::Times;
use super::server::shown;
use super::talk::{Talk, Topic};
use crate::error::{Error, Result};
use crate::run::{Observer, Options, Summary, run_supplied};
use crate::start::Started;

/// A lease as long as nobody said how long it is.
const LEASE: Duration = Duration::from_secs(30);

/// What a worker is told.
pub struct Asked {
    /// The server.
    pub url: String,
    /// Most parts at once.
    pub most: usize,
    /// Send requests again of which nobody knows whether they were sent.
    pub resend_unknown: bool,
}

/// Does parts until all of the job are done, by whomever, or until it is to stop: then what is held goes back.
///
/// # Errors
/// When NATS cannot be reached at the start, a part cannot be done, or someone ended it.
pub fn work(
    started: &Started,
    asked: &Asked,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let board = Board::new(Times { lease: LEASE });
    let (tell, told) = unbounded_channel();
    let topic = Topic {
        folder: started.folder.clone(),
        plan: started.plan.clone(),
        url: asked.url.clone(),
    };
    let (begun, has_begun) = channel();
    let talking = board.clone();
    let talk = thread::Builder::new()
        .name("nats".into())
        .spawn(move || talk(topic, talking, told, &begun))
        .map_err(|error| Error::failed(format!("cannot start a thread: {error}")))?;
    let gone = || Error::failed("the thread that talks with NATS has ended");
    has_begun.recv().map_err(|_| gone())??;
    let about = (&started.folder, &started.plan);
    let mut hand = Hand::new((board, tell.clone()), asked.most, about, shown(&asked.url));
    let options = Options {
        resend_unknown: asked.resend_unknown,
        note_worker: true,
        ..Options::default()
    };
    let (folder, job) = (&started.folder, (&started.job, &started.plan));
    let ended = run_supplied(folder, job, (&options, &mut hand), stop, observer);
    let _ = tell.send(Told::End);
    talk.join().map_err(|_| gone())?;
    ended
}

fn talk(topic: Topic, board: Board, mut told: UnboundedReceiver<Told>, begun: &Sender<Result<()>>) {
    let runtime = match super::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return drop(begun.send(Err(error))),
    };
    runtime.block_on(async {
        match Talk::begin(topic, board).await {
            Ok(talk) => {
                let _ = begun.send(Ok(()));
                talk.hold(&mut told).await;
            }
            Err(error) => drop(begun.send(Err(error))),
        }
    });
}
