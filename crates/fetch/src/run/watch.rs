//! The progress of all threads, put together for the observer and for `status`.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::hosts::HostView;
use super::shared::Options;
use super::supply::worker_name;
use super::view::{Observer, PartView, Snapshot};
use crate::plan::{Folder, Plan, replace};
use crate::segment::Tally;

/// How often the progress is written to a file.
const NOTE_EVERY: Duration = Duration::from_secs(1);

/// The rate is that of so many seconds.
const LATELY: Duration = Duration::from_secs(5);

/// Most hosts in a snapshot.
const MOST_HOSTS: usize = 20;

/// A message of a thread.
pub enum News {
    /// Something that a person should know.
    Sentence(String),
    /// How far the thread with this number is.
    Progress(usize, Progress),
}

/// How far a thread is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// How the inputs of its parts ended.
    pub tally: Tally,
    /// Parts that it was through with.
    pub parts_done: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Records of its parts that were there when it opened them. A file that was damaged may have any number.
    pub found: u64,
    /// The parts that it works on.
    pub open: Vec<PartView>,
    /// Their slowest hosts.
    pub hosts: Vec<HostView>,
}

/// The progress of a run.
pub struct Watch<'a> {
    folder: &'a Folder,
    plan: &'a Plan,
    options: &'a Options,
    observer: &'a mut dyn Observer,
    /// The counts before this run.
    before: Progress,
    threads: Vec<Progress>,
    /// The trouble that was reported last.
    trouble: Option<String>,
    begun: Instant,
    noted: Instant,
    /// Records at some times of the last seconds.
    history: VecDeque<(Instant, u64)>,
}

impl<'a> Watch<'a> {
    /// Nothing is done yet.
    pub fn new(
        folder: &'a Folder,
        plan: &'a Plan,
        options: &'a Options,
        observer: &'a mut dyn Observer,
    ) -> Watch<'a> {
        let now = Instant::now();
        Watch {
            folder,
            plan,
            options,
            observer,
            before: Progress::default(),
            threads: Vec::new(),
            trouble: None,
            begun: now,
            noted: now,
            history: VecDeque::new(),
        }
    }

    /// So much was done before this run: how inputs ended, and how many parts are done.
    pub fn found(&mut self, tally: &Tally, parts_done: u64) {
        self.before.tally = tally.clone();
        self.before.parts_done = parts_done;
        self.before.found = tally.lines();
    }

    /// Takes note of what a thread says.
    pub fn take(&mut self, news: News) {
        match news {
            News::Sentence(sentence) => self.observer.say(&sentence),
            News::Progress(number, progress) => {
                if self.threads.len() <= number {
                    self.threads.resize_with(number + 1, Progress::default);
                }
                self.threads[number] = progress;
            }
        }
    }

    /// Reports to the observer, and once a second to the file.
    pub fn report(&mut self, trouble: Option<String>) {
        if trouble != self.trouble {
            self.observer
                .say(trouble.as_deref().unwrap_or("the worker resumes"));
            self.trouble = trouble;
        }
        let snapshot = self.snapshot();
        self.observer.progress(&snapshot);
        if self.noted.elapsed() >= NOTE_EVERY {
            self.noted = Instant::now();
            self.write(&snapshot);
        }
    }

    /// Says that the requests in flight end before the run does. `is_interrupted` is whether someone asked for it.
    pub fn say_stopping(&mut self, is_interrupted: bool) {
        self.observer.say(match is_interrupted {
            true => {
                "stopping when the requests in flight have ended; a second Ctrl-C ends at once, and the same command resumes"
            }
            false => {
                "stopping when the requests in flight have ended; the same command resumes"
            }
        });
    }

    /// Writes the progress for `status`.
    pub fn note(&mut self) {
        let snapshot = self.snapshot();
        self.write(&snapshot);
    }

    /// The run has ended; how far it came.
    pub fn end(&mut self) -> Snapshot {
        let snapshot = self.snapshot();
        self.observer.progress(&snapshot);
        match self.options.note_worker {
            // Gone, and not silent.
            true => drop(std::fs::remove_file(self.folder.worker(&worker_name()))),
            false => self.write(&snapshot),
        }
        snapshot
    }

    /// A failure is ignored, because the records have everything.
    fn write(&self, snapshot: &Snapshot) {
        let text = serde_json::to_vec(snapshot).unwrap_or_default();
        if self.options.note_progress {
            let _ = replace(&self.folder.progress(), &text);
        }
        if self.options.note_worker {
            // Not with the folders above it: a round that is done takes its own away.
            let _ = std::fs::create_dir(self.folder.workers());
            let _ = replace(&self.folder.worker(&worker_name()), &text);
        }
    }

    fn snapshot(&mut self) -> Snapshot {
        let now = Instant::now();
        let mut all = self.before.clone();
        for thread in &self.threads {
            all.tally.add(&thread.tally);
            all.parts_done += thread.parts_done;
            all.in_flight += thread.in_flight;
            all.found = all.found.saturating_add(thread.found);
            all.open.extend(thread.open.iter().cloned());
        }
        // The slowest of each thread first.
        for rank in 0..MOST_HOSTS {
            all.hosts.extend(
                self.threads
                    .iter()
                    .filter_map(|thread| thread.hosts.get(rank))
                    .cloned(),
            );
        }
        all.hosts.truncate(MOST_HOSTS);
        Snapshot {
            inputs: self.plan.inputs,
            // Records of earlier attempts do not count for the rate of this run.
            rate: self.rate(now, all.tally.lines().saturating_sub(all.found)),
            tally: all.tally,
            parts: self.plan.parts.len() as u64,
            parts_done: all.parts_done,
            in_flight: all.in_flight,
            seconds: (now - self.begun).as_secs_f64(),
            pid: std::process::id(),
            worker: worker_name(),
            hosts: all.hosts,
            open: all.open,
            trouble: self.trouble.clone(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "records below 2^53")]
    fn rate(&mut self, now: Instant, records: u64) -> f64 {
        let history = &mut self.history;
        history.push_back((now, records));
        while history.len() > 2 && now - history[0].0 > LATELY {
            history.pop_front();
        }
        let (since, before) = history[0];
        let seconds = (now - since).as_secs_f64();
        match seconds > 0.0 {
            true => records.saturating_sub(before) as f64 / seconds,
            false => 0.0,
        }
    }
}
