//! The thread that writes: what is handed to it is compressed, appended, and on the disk within a second.
//!
//! The thread that drives the requests waits for the disk only for its own intents. A failed write is cut off again,
//! so that a segment ends with a whole frame, and is reported. The run then ends in order.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::fcntl::Flock;

use super::attempt::Claim;
use super::checkpoint;
use super::entry::Attempt;
use super::known_inputs::KnownInputs;
use super::whole_frames::Piece;
use crate::error::{Error, Result, sentence};
use crate::frame::{Packer, pack_aside};
use crate::plan::Folder;

/// How often what was written goes to the disk.
const SYNC: Duration = Duration::from_secs(1);

/// How often it goes to the mirror, if the folder has one.
const MIRROR: Duration = Duration::from_secs(3);

/// Frames that wait to be written before the run waits too.
const MOST_WAITING: usize = 32;

/// A longer frame counts as several.
const USUAL: usize = 256 << 10;

/// The action after all of a part is written.
pub type Finishing = Box<dyn FnOnce(u64) -> Result<bool> + Send>;

enum Command {
    Open(Box<Segment>),
    Lines(u32, Lines),
    /// Nothing: it takes the place of a frame, because the one before it is longer than usual.
    More,
    Intents(u32, Vec<u64>, u64),
    Finish(u32, Finishing),
    Close(u32),
}

/// Lines of the results, whose bodies are on the disk.
pub struct Lines {
    /// The lines.
    pub text: Vec<u8>,
    /// The archive that their bodies are in, if they are in one, and how long it was then.
    pub archive: Option<(String, u64)>,
}

/// A report of the writer.
pub enum Report {
    /// The intents with this ticket are on the disk.
    Intents(u64),
    /// A part is done; false if another worker had done it.
    Finished(u32, bool),
    /// Something could not be written, and nothing will be.
    Failed(Error),
}

/// Writes segments on a thread of its own.
pub struct Writer {
    commands: Option<SyncSender<Command>>,
    reports: Receiver<Report>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system has none.
    pub fn start() -> Result<Writer> {
        let (commands, received) = sync_channel(MOST_WAITING);
        let (reporting, reports) = channel();
        let thread = std::thread::Builder::new().name("segments".into());
        let thread = thread.spawn(move || {
            let segments = HashMap::new();
            let packer = Packer::new(1);
            Thread {
                segments,
                packer,
                reporting,
                packed: Vec::new(),
                waiting: Vec::new(),
                failed: false,
            }
            .run(&received);
        });
        let thread =
            thread.map_err(|error| Error::failed(format!("cannot start a thread: {error}")))?;
        Ok(Writer {
            commands: Some(commands),
            reports,
            thread: Some(thread),
        })
    }

    /// Takes on the segment of an attempt.
    pub fn open(&self, claim: Claim, folder: &Folder) {
        self.send(Command::Open(Box::new(Segment {
            path: folder.attempt(claim.part, claim.attempt),
            folder: folder.clone(),
            part: claim.part,
            attempt: claim.attempt,
            file: claim.file,
            _lock: claim.lock,
            bytes: claim.bytes,
            noted: claim.bytes,
            known: claim.known,
            is_dirty: false,
            mirrored: Instant::now(),
        })));
    }

    /// Appends lines as one frame.
    pub fn lines(&self, part: u32, lines: Lines) {
        let more = (lines.text.len() / USUAL).min(MOST_WAITING);
        self.send(Command::Lines(part, lines));
        (0..more).for_each(|_| self.send(Command::More));
    }

    /// Appends intents and has them on the disk; a report with the ticket says when.
    pub fn intents(&self, part: u32, numbers: Vec<u64>, ticket: u64) {
        self.send(Command::Intents(part, numbers, ticket));
    }

    /// Ends a segment and does what comes then, with its length; a report says how that ended.
    pub fn finish(&self, part: u32, then: Finishing) {
        self.send(Command::Finish(part, then));
    }

    /// Ends a segment.
    pub fn close(&self, part: u32) {
        self.send(Command::Close(part));
    }

    /// The next report, if there is one.
    pub fn report(&self) -> Option<Report> {
        self.reports.try_recv().ok()
    }

    /// Has all that was handed over on the disk, and ends the thread; what it still reported.
    pub fn end(mut self) -> Vec<Report> {
        self.join();
        self.reports.try_iter().collect()
    }

    fn send(&self, command: Command) {
        if let Some(commands) = &self.commands {
            // Fails only when the thread has panicked.
            let _ = commands.send(command);
        }
    }

    fn join(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.join();
    }
}

struct Segment {
    folder: Folder,
    part: u32,
    attempt: u32,
    file: File,
    /// Shows the next attempt that this one is in use.
    _lock: Option<Flock<File>>,
    path: PathBuf,
    bytes: u64,
    is_dirty: bool,
    /// The state of the part, with everything that counted before this segment.
    known: KnownInputs,
    /// The length at the last checkpoint.
    noted: u64,
    /// When the mirror got it last.
    mirrored: Instant,
}

struct Thread {
    segments: HashMap<u32, Segment>,
    packer: Packer,
    packed: Vec<u8>,
    /// The parts and tickets of intents that are written, and not on the disk yet.
    waiting: Vec<(u32, u64)>,
    reporting: Sender<Report>,
    failed: bool,
}

impl Thread {
    fn run(mut self, commands: &Receiver<Command>) {
        let mut synced = Instant::now();
        loop {
            match commands.recv_timeout(SYNC.saturating_sub(synced.elapsed())) {
                Ok(command) => {
                    self.obey(command);
                    // Intents that came meanwhile go to the disk, and to the mirror, together.
                    let others = commands.try_iter().take(MOST_WAITING);
                    others.for_each(|command| self.obey(command));
                    self.confirm_intents();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if synced.elapsed() >= SYNC {
                self.sync_all();
                synced = Instant::now();
            }
        }
        self.sync_all();
        for part in self.parts() {
            if let Err(error) = self.mirror(part, true) {
                self.fail(error);
            }
        }
    }

    fn parts(&self) -> Vec<u32> {
        self.segments.keys().copied().collect()
    }

    fn obey(&mut self, command: Command) {
        let done = match command {
            Command::Open(segment) => {
                self.segments.insert(segment.part, *segment);
                Ok(())
            }
            _ if self.failed => return,
            Command::Lines(part, lines) => self.lines(part, lines),
            Command::More => Ok(()),
            Command::Intents(part, numbers, ticket) => self.intents(part, numbers, ticket),
            Command::Finish(part, then) => {
                self.confirm_intents();
                self.finish(part, then)
            }
            Command::Close(part) => {
                self.confirm_intents();
                let closed = self.sync(part).and_then(|()| self.mirror(part, true));
                self.segments.remove(&part);
                closed
            }
        };
        if let Err(error) = done {
            self.fail(error);
        }
    }

    fn fail(&mut self, error: Error) {
        if !std::mem::replace(&mut self.failed, true) {
            // Nobody receives it when the run has ended, and then it ended badly anyway.
            let _ = self.reporting.send(Report::Failed(error));
        }
    }

    fn lines(&mut self, part: u32, lines: Lines) -> Result<()> {
        if let Some(segment) = self.segments.get(&part) {
            if let Some(mirror) = segment.folder.mirror() {
                mirror.bodies(&segment.folder, &lines.text)?;
            }
        }
        self.packed.clear();
        let archive = lines
            .archive
            .map(|(name, bytes)| Attempt::Archive(name, bytes).content());
        if let Some(content) = &archive {
            pack_aside(content, &mut self.packed);
        }
        let packed = self.packer.pack(&lines.text, &mut self.packed);
        packed.map_err(|error| Error::failed(format!("cannot compress: {error}")))?;
        let archive = archive.as_deref().map(Piece::Aside);
        let pieces: Vec<Piece<'_>> = archive
            .into_iter()
            .chain([Piece::Lines(&lines.text)])
            .collect();
        self.append(part, &pieces)
    }

    fn intents(&mut self, part: u32, numbers: Vec<u64>, ticket: u64) -> Result<()> {
        self.packed.clear();
        let content = Attempt::Intents(numbers).content();
        pack_aside(&content, &mut self.packed);
        self.append(part, &[Piece::Aside(&content)])?;
        self.waiting.push((part, ticket));
        Ok(())
    }

    /// Has all intents on the disk and in the mirror, and reports each.
    fn confirm_intents(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let parts: BTreeSet<u32> = waiting.iter().map(|(part, _)| *part).collect();
        for part in parts {
            if let Err(error) = self.sync(part).and_then(|()| self.mirror(part, true)) {
                return self.fail(error);
            }
        }
        for (_, ticket) in waiting {
            let _ = self.reporting.send(Report::Intents(ticket));
        }
    }

    /// Appends what is packed, with what that holds.
    fn append(&mut self, part: u32, pieces: &[Piece<'_>]) -> Result<()> {
        let Some(segment) = self.segments.get_mut(&part) else {
            return Ok(());
        };
        if let Err(error) = segment.file.write_all(&self.packed) {
            // Back to the last whole frame. If that fails too, whoever reads the segment cuts it there.
            let _ = segment.file.set_len(segment.bytes);
            let _ = segment.file.seek(SeekFrom::Start(segment.bytes));
            return Err(Error::Failed(sentence("write", &segment.path, &error)));
        }
        segment.bytes += self.packed.len() as u64;
        segment.is_dirty = true;
        let noted = pieces
            .iter()
            .try_for_each(|piece| segment.known.take(piece));
        noted.map_err(|error| Error::Failed(sentence("write", &segment.path, &error)))
    }

    fn sync(&mut self, part: u32) -> Result<()> {
        let Some(segment) = self.segments.get_mut(&part) else {
            return Ok(());
        };
        if std::mem::replace(&mut segment.is_dirty, false) {
            let synced = segment.file.sync_data();
            synced.map_err(|error| Error::Failed(sentence("write", &segment.path, &error)))?;
            if segment.bytes - segment.noted >= checkpoint::EVERY {
                segment.noted = segment.bytes;
                let attempt = segment.attempt;
                checkpoint::write(
                    &segment.folder,
                    part,
                    attempt,
                    segment.bytes,
                    &segment.known,
                );
            }
        }
        Ok(())
    }

    /// Has what is on the disk in the mirror too, now or if it is time, and learns there what other workers did since.
    fn mirror(&mut self, part: u32, now: bool) -> Result<()> {
        let Some(segment) = self.segments.get_mut(&part) else {
            return Ok(());
        };
        let Some(mirror) = segment.folder.mirror() else {
            return Ok(());
        };
        if !now && segment.mirrored.elapsed() < MIRROR {
            return Ok(());
        }
        mirror.keep(&segment.folder, part, segment.attempt, segment.bytes)?;
        mirror.look(&segment.folder, part, segment.attempt)?;
        segment.mirrored = Instant::now();
        Ok(())
    }

    fn sync_all(&mut self) {
        for part in self.parts() {
            if let Err(error) = self.sync(part).and_then(|()| self.mirror(part, false)) {
                self.fail(error);
            }
        }
    }

    fn finish(&mut self, part: u32, then: Finishing) -> Result<()> {
        self.sync(part)?;
        let Some(segment) = self.segments.remove(&part) else {
            return Ok(());
        };
        let is_ours = then(segment.bytes)?;
        let _ = self.reporting.send(Report::Finished(part, is_ours));
        Ok(())
    }
}
