//! `worker`: runs the parts that NATS hands out, until every part of the job is done.

use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::lease::Times;
use super::leased::{Board, LeasedParts, Notice};
use super::server::{runtime, shown};
use super::session::{Session, Topic};
use crate::dispatch::verbs::WorkerOptions;
use crate::error::{Error, Result};
use crate::run::{Running, Summary, Work, run_supplied};
use crate::start::Started;

/// The default length of a lease.
const LEASE: Duration = Duration::from_secs(30);

/// Connects to NATS, in a thread of its own.
fn begin_session(
    topic: Topic,
    board: Board,
    notices: UnboundedReceiver<Notice>,
) -> Result<thread::JoinHandle<()>> {
    let (begun, has_begun) = channel();
    let session = thread::Builder::new()
        .name("nats".into())
        .spawn(move || run_session(topic, board, notices, &begun))
        .map_err(|error| Error::failed(format!("cannot start a thread: {error}")))?;
    has_begun.recv().map_err(|_| gone())??;
    Ok(session)
}

fn gone() -> Error {
    Error::failed("the thread that is connected to NATS has ended")
}

/// Runs parts until every part of the job is done, by this worker or another. A worker that is stopped gives its parts
/// back.
///
/// # Errors
/// When NATS cannot be reached at the start, a part cannot be done, or the worker was interrupted.
pub fn run_worker(
    started: &Started,
    worker: &WorkerOptions,
    with: &mut Running<'_>,
) -> Result<Summary> {
    let board = Board::new(Times { lease: LEASE });
    let (notify, notices) = unbounded_channel();
    let topic = Topic {
        folder: started.folder.clone(),
        plan: started.plan.clone(),
        url: worker.url.clone(),
    };
    let session = begin_session(topic, board.clone(), notices)?;
    let leased = LeasedParts::new(
        board,
        notify.clone(),
        worker.most,
        &started.folder,
        &started.plan,
        shown(&worker.url),
    );
    let work = Work {
        folder: &started.folder,
        job: &started.job,
        plan: &started.plan,
        options: with.options,
        stop: with.stop,
    };
    let ended = run_supplied(work, Box::new(leased), worker.most, &mut *with.observer);
    let _ = notify.send(Notice::End);
    session.join().map_err(|_| gone())?;
    ended
}

fn run_session(
    topic: Topic,
    board: Board,
    mut notices: UnboundedReceiver<Notice>,
    begun: &Sender<Result<()>>,
) {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return drop(begun.send(Err(error))),
    };
    runtime.block_on(async {
        match Session::begin(topic, board).await {
            Ok(session) => {
                let _ = begun.send(Ok(()));
                session.hold(&mut notices).await;
            }
            Err(error) => drop(begun.send(Err(error))),
        }
    });
}
