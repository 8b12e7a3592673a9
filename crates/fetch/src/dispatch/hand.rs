//! What the run of a worker and its talk with NATS share: parts go one way, parts that were left the other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use async_nats::Subject;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use super::lease::{Leases, Times};
use crate::plan::{Folder, Plan};
use crate::run::{Standing, Supply};

/// What the run tells.
pub enum Told {
    /// A part that was held is done, or was left; by this subject its message is answered.
    Left(u32, Subject),
    /// The run has ended.
    End,
}

/// What both sides know.
pub struct Shared {
    /// What is held. The token of a lease is the subject by which its message is answered.
    pub leases: Leases<Subject>,
    /// Whether the server answers.
    pub is_connected: bool,
    /// What else keeps parts from coming.
    pub trouble: Option<String>,
    /// Whether the run has room for another part.
    pub wants: bool,
}

/// The same, for both sides.
#[derive(Clone)]
pub struct Board {
    shared: Arc<Mutex<Shared>>,
    /// Told when the run wants a part.
    pub wanted: Arc<Notify>,
}

impl Board {
    /// Nothing is known yet.
    pub fn new(times: Times) -> Board {
        let shared = Shared {
            leases: Leases::new(times),
            is_connected: true,
            trouble: None,
            wants: false,
        };
        Board {
            shared: Arc::new(Mutex::new(shared)),
            wanted: Arc::new(Notify::new()),
        }
    }

    /// Locked; nobody keeps it for long.
    pub fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parts for a run, as NATS hands them out.
pub struct Hand {
    board: Board,
    tell: UnboundedSender<Told>,
    most: usize,
    folder: Folder,
    /// Parts that were not done when they were looked at last.
    undone: Vec<u32>,
    looked: Option<Instant>,
    shown: String,
}

impl Hand {
    /// One that holds at most so many parts at once.
    pub fn new(
        (board, tell): (Board, UnboundedSender<Told>),
        most: usize,
        (folder, plan): (&Folder, &Plan),
        shown: String,
    ) -> Hand {
        Hand {
            board,
            tell,
            most,
            folder: folder.clone(),
            undone: plan.undone(folder).rev().map(|part| part.number).collect(),
            looked: None,
            shown,
        }
    }
}

impl Hand {
    /// A round goes when another worker has put its records in their place.
    fn is_there(&self) -> bool {
        self.folder.plan().exists()
    }
}

impl Supply for Hand {
    fn next(&mut self) -> Option<u32> {
        let mut shared = self.board.lock();
        let part = shared.leases.take(Instant::now());
        if part.is_none() && !shared.wants && shared.leases.count() < self.most {
            shared.wants = true;
            self.board.wanted.notify_one();
        }
        part.filter(|_| self.is_there())
    }

    /// Once every part has its `COMMIT`, whoever made it.
    fn is_over(&mut self) -> bool {
        let now = Instant::now();
        let a_while = std::time::Duration::from_millis(500);
        if self.looked.is_some_and(|looked| now - looked < a_while) {
            return self.undone.is_empty();
        }
        self.looked = Some(now);
        if !self.is_there() {
            self.undone.clear();
        }
        while let Some(part) = self.undone.last() {
            if !self.folder.commit(*part).exists() {
                break;
            }
            self.undone.pop();
        }
        self.undone.is_empty()
    }

    fn standing(&mut self, part: u32) -> Standing {
        self.board.lock().leases.standing(part, Instant::now())
    }

    fn trouble(&mut self) -> Option<String> {
        let shared = self.board.lock();
        match shared.is_connected {
            true => shared.trouble.clone(),
            false => Some(format!(
                "NATS at {} is gone: what is leased is worked on for {} more at most, and when NATS is back it goes on",
                self.shown,
                humantime::format_duration(shared.leases.times().silence())
            )),
        }
    }

    fn left(&mut self, part: u32) {
        if let Some(subject) = self.board.lock().leases.left(part) {
            // Nobody hears it only if the talk has ended, and then nothing is to be said.
            let _ = self.tell.send(Told::Left(part, subject));
        }
    }
}
