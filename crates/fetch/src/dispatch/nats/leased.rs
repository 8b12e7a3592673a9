//! State that a worker's run and its NATS session share: parts go one way, notices the other.

use std::sync::Arc;
use std::time::Instant;

use async_nats::Subject;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use super::clock::Moment;
use super::lease::{Leases, Times};
use crate::plan::{Folder, Plan};
use crate::run::{Standing, Supply};

/// A message from the run to the session.
pub enum Notice {
    /// A part is done, or was left. The subject is where to reply to its message.
    Left(u32, Subject),
    /// The run has ended.
    End,
}

/// The state that both sides see.
pub struct Shared {
    /// The leases. The token of a lease is the subject where to reply to its message.
    pub leases: Leases<Subject>,
    /// Whether the server is connected.
    pub is_connected: bool,
    /// Another reason why no parts come.
    pub trouble: Option<String>,
    /// Whether the run can take another part.
    pub needs_part: bool,
    /// Whether a part was requested from the server, which has not replied.
    pub has_question: bool,
    /// Whether the run has ended, and no further part is requested.
    pub is_ending: bool,
}

/// The state of leased parts, which the run and the dispatcher share.
#[derive(Clone)]
pub struct Board {
    shared: Arc<Mutex<Shared>>,
    /// Notified when the run needs a part.
    pub part_needed: Arc<Notify>,
}

impl Board {
    /// Nothing is known yet.
    pub fn new(times: Times) -> Board {
        let shared = Shared {
            leases: Leases::new(times),
            is_connected: true,
            trouble: None,
            needs_part: false,
            has_question: false,
            is_ending: false,
        };
        Board {
            shared: Arc::new(Mutex::new(shared)),
            part_needed: Arc::new(Notify::new()),
        }
    }

    /// Locked; nobody keeps it for long.
    pub fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock()
    }
}

/// Parts for a run, as NATS hands them out.
pub struct LeasedParts {
    board: Board,
    notify: UnboundedSender<Notice>,
    most: usize,
    folder: Folder,
    /// Parts that were not done when they were looked at last.
    undone: Vec<u32>,
    looked: Option<Instant>,
    shown: String,
}

impl LeasedParts {
    /// One that holds at most so many parts at once.
    pub fn new(
        board: Board,
        notify: UnboundedSender<Notice>,
        most: usize,
        folder: &Folder,
        plan: &Plan,
        shown: String,
    ) -> LeasedParts {
        LeasedParts {
            board,
            notify,
            most,
            folder: folder.clone(),
            undone: plan.undone(folder).rev().map(|part| part.number).collect(),
            looked: None,
            shown,
        }
    }
}

impl Supply for LeasedParts {
    fn next(&mut self) -> Option<u32> {
        let mut shared = self.board.lock();
        let part = shared.leases.take(Moment::now());
        if part.is_none() && !shared.needs_part && shared.leases.count() < self.most {
            shared.needs_part = true;
            self.board.part_needed.notify_one();
        }
        part.filter(|_| !self.folder.is_merged())
    }

    /// Once every part has its `COMMIT`, whoever made it.
    fn is_over(&mut self) -> bool {
        let now = Instant::now();
        let a_while = std::time::Duration::from_millis(500);
        if self.looked.is_some_and(|looked| now - looked < a_while) {
            return self.undone.is_empty();
        }
        self.looked = Some(now);
        while let Some(part) = self.undone.last() {
            if !self.folder.is_done(*part) {
                break;
            }
            self.undone.pop();
        }
        self.undone.is_empty()
    }

    fn standing(&mut self, part: u32) -> Standing {
        self.board.lock().leases.standing(part, Moment::now())
    }

    fn trouble(&mut self) -> Option<String> {
        let shared = self.board.lock();
        match shared.is_connected {
            true => shared.trouble.clone(),
            false => Some(format!(
                "NATS at {} is gone: leased parts continue for at most {} s more, and the worker resumes when NATS is back",
                self.shown,
                shared.leases.times().silence().as_secs_f64().ceil()
            )),
        }
    }

    fn left(&mut self, part: u32) {
        if let Some(subject) = self.board.lock().leases.left(part) {
            // The session has ended only if there is nothing left to reply.
            let _ = self.notify.send(Notice::Left(part, subject));
        }
    }
}
