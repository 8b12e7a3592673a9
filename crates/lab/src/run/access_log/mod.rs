//! The access log of one's own service as a witness: which requests of a round it saw, how often, and how late.

mod line;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hecaton_test_server::Times;
use serde::{Deserialize, Serialize};

pub use line::ID_PREFIX;
pub(super) use line::path;
use line::read_line;

/// How long lines are waited for that are not there yet: a service writes one when a request has ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long the log must have said nothing new before a round is over, so that a request that came twice is seen twice.
const QUIET: Duration = Duration::from_millis(50);

/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(5);

/// Longest line that is read; the rest of a longer one is skipped.
const LONGEST: usize = 64 << 10;

/// The facts from the log about the requests of one round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogEntries {
    /// Lines with an id of the round.
    pub lines: u64,
    /// Ids of the round seen at least once.
    pub distinct: u64,
    /// Ids whose last line has a status that counts as success; none if a line has no status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successes: Option<u64>,
    /// Lines by status, as far as they have one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<u16, u64>,
    /// Ids whose lines name another method or path than was to be sent, where the log has named that request of the run
    /// as it was sent.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub otherwise: u64,
    /// Lines with an id of the round that came when it had been judged. No other count has them.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub late: u64,
    /// How long after it was due each request arrived at the service. Only of rounds at a rate and of logs with times
    /// to the millisecond.
    #[serde(default, skip_serializing_if = "Times::is_empty")]
    pub behind: Times,
}

/// The requests of a round, as the lab knows them.
pub(super) struct Expectation<'a> {
    /// First id.
    pub(super) first: u64,
    /// How many.
    pub(super) count: u64,
    /// How many the client has done or failed with a status, so that the log must have them.
    pub(super) done: u64,
    /// Whether a status counts as success.
    pub(super) is_success: &'a dyn Fn(u16) -> bool,
    /// When the request at a position is due, since 1970; none in the closed loop.
    pub(super) due: Option<&'a dyn Fn(u64) -> Duration>,
    /// The requests that take turns by their ids: method and path, or none where clients may write the path in
    /// different ways.
    pub(super) turns: &'a [Option<(String, String)>],
}

/// The file, and how far it has been read.
pub(super) struct AccessLog {
    path: PathBuf,
    offset: u64,
    /// The beginning of a line whose end has not been written yet.
    rest: Vec<u8>,
    /// The present line is longer than [`LONGEST`], and its end has not come yet.
    skips: bool,
    /// Rounds that have been judged: the first id, and how many.
    judged: Vec<(u64, u64)>,
    /// Lines that came for a judged round since `late` was called last, by its place among all.
    late: BTreeMap<usize, u64>,
    /// Which of the requests that take turns the log has named as they were sent. A service behind a proxy may never do
    /// that.
    known: HashSet<usize>,
}

impl AccessLog {
    /// Reads a file from its present end on.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn open(path: &Path) -> Result<AccessLog> {
        let mut log = AccessLog {
            path: path.to_owned(),
            offset: 0,
            rest: Vec::new(),
            skips: false,
            judged: Vec::new(),
            late: BTreeMap::new(),
            known: HashSet::new(),
        };
        let end = log.file().and_then(|mut file| file.seek(SeekFrom::End(0)));
        log.offset = end.with_context(|| log.unreadable())?;
        Ok(log)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Continues at the present end. Lines before it are late, if they are of a judged round.
    pub(super) fn skip(&mut self) -> Result<()> {
        self.read(&mut |_| false).map(|_| ())
    }

    /// From now on lines with these ids are late; returns the round's place among all.
    pub(super) fn judge(&mut self, first: u64, count: u64) -> usize {
        self.judged.push((first, count));
        self.judged.len() - 1
    }

    /// Late lines since this was called last, by the place of their round.
    pub(super) fn late(&mut self) -> BTreeMap<usize, u64> {
        std::mem::take(&mut self.late)
    }

    /// Reads until nothing new has come for a moment: when a run ends, its last lines may still be under way.
    pub(super) fn settle(&mut self) -> Result<()> {
        let (begun, mut last) = (Instant::now(), Instant::now());
        while last.elapsed() < QUIET && begun.elapsed() < PATIENCE {
            let before = self.offset;
            self.read(&mut |_| false)?;
            if self.offset > before {
                last = Instant::now();
            }
            std::thread::sleep(PERIOD);
        }
        Ok(())
    }

    /// Notes a line that is not of the present round.
    fn note_late(&mut self, line: &str) {
        let Some(logged) = read_line(line) else {
            return;
        };
        let of = |(first, count): &(u64, u64)| (*first..first + count).contains(&logged.id);
        if let Some(place) = self.judged.iter().rposition(of) {
            *self.late.entry(place).or_default() += 1;
        }
    }

    fn file(&self) -> io::Result<File> {
        File::open(&self.path)
    }

    fn unreadable(&self) -> String {
        format!("cannot read the access log {}", self.path.display())
    }

    /// Waits until the log has what the client claims, or for a while, and sums up what it has.
    ///
    /// # Errors
    /// When the file cannot be read, or was cut meanwhile.
    pub(super) fn entries(&mut self, expected: &Expectation<'_>) -> Result<LogEntries> {
        let mut found = Found::default();
        let (begun, mut last) = (Instant::now(), Instant::now());
        loop {
            if self.read(&mut |line| found.note(line, expected))? {
                last = Instant::now();
            }
            let is_whole = found.by_id.len() as u64 >= expected.done;
            if is_whole && last.elapsed() >= QUIET
                || last.elapsed().min(begun.elapsed()) >= PATIENCE
            {
                self.known.extend(found.as_sent.values());
                return Ok(found.entries(&self.known));
            }
            std::thread::sleep(PERIOD);
        }
    }

    /// Hands on every whole line that is new, and says whether there was any.
    fn read(&mut self, note: &mut dyn FnMut(&str) -> bool) -> Result<bool> {
        let mut file = self.file().with_context(|| self.unreadable())?;
        if file.metadata()?.len() < self.offset {
            bail!(
                "the access log {} was cut while it was read; switch its rotation off meanwhile",
                self.path.display()
            );
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let (mut buffer, mut any) = (vec![0; LONGEST], false);
        loop {
            let count = file.read(&mut buffer).with_context(|| self.unreadable())?;
            if count == 0 {
                return Ok(any);
            }
            self.offset += count as u64;
            let mut lines = buffer[..count].split(|byte| *byte == b'\n').peekable();
            while let Some(part) = lines.next() {
                self.rest.extend_from_slice(part);
                if self.rest.len() > LONGEST {
                    (self.rest, self.skips) = (Vec::new(), true);
                }
                if lines.peek().is_some() {
                    let line = std::mem::take(&mut self.rest);
                    let is_cut = std::mem::take(&mut self.skips);
                    if is_cut {
                        continue;
                    }
                    let line = String::from_utf8_lossy(&line);
                    match note(&line) {
                        true => any = true,
                        false => self.note_late(&line),
                    }
                }
            }
        }
    }
}

/// The findings so far.
#[derive(Default)]
struct Found {
    /// Whether the last line of each id has a status of success; none if it has no status.
    by_id: HashMap<u64, Option<bool>>,
    /// Ids with a line that names the request as it was to be sent, and which of those that take turns it is.
    as_sent: HashMap<u64, usize>,
    /// Ids with a line that names another, and which was to be sent.
    otherwise: HashMap<u64, usize>,
    entries: LogEntries,
}

impl Found {
    /// Notes a line; says whether it is of the round.
    fn note(&mut self, line: &str, expected: &Expectation<'_>) -> bool {
        let Some(logged) = read_line(line) else {
            return false;
        };
        let place = logged
            .id
            .checked_sub(expected.first)
            .filter(|place| *place < expected.count);
        let Some(place) = place else {
            return false;
        };
        self.entries.lines += 1;
        self.by_id
            .insert(logged.id, logged.status.map(expected.is_success));
        let turn = usize::try_from(logged.id).unwrap_or(usize::MAX) % expected.turns.len().max(1);
        if let (Some(sent), Some(Some(to_send))) = (&logged.request, expected.turns.get(turn)) {
            let found = match sent == to_send {
                true => &mut self.as_sent,
                false => &mut self.otherwise,
            };
            found.insert(logged.id, turn);
        }
        if let Some(status) = logged.status {
            *self.entries.statuses.entry(status).or_default() += 1;
        }
        if let (Some(arrived), Some(due)) = (logged.arrived, expected.due) {
            let behind = arrived.saturating_sub(due(place)).as_micros();
            self.entries
                .behind
                .add(u32::try_from(behind).unwrap_or(u32::MAX), 1);
        }
        true
    }

    fn entries(self, known: &HashSet<usize>) -> LogEntries {
        let otherwise = self.otherwise.iter();
        let otherwise = otherwise
            .filter(|(id, turn)| known.contains(turn) && !self.as_sent.contains_key(id))
            .count();
        let successes: Option<Vec<bool>> = self.by_id.values().copied().collect();
        LogEntries {
            distinct: self.by_id.len() as u64,
            otherwise: otherwise as u64,
            successes: successes.map(|all| all.into_iter().filter(|good| *good).count() as u64),
            ..self.entries
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn entries(log: &mut AccessLog, done: u64) -> Result<LogEntries> {
        log.entries(&Expectation {
            first: 100,
            count: 10,
            done,
            is_success: &|status| status == 200,
            due: None,
            turns: &[Some(("GET".into(), "/".into()))],
        })
    }

    #[test]
    fn lines_of_a_round_are_counted_whole_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        std::fs::write(&path, "\"GET / HTTP/1.1\" 200 \"hecaton-100\"\n").unwrap();
        let mut log = AccessLog::open(&path).unwrap();
        let mut file = File::options().append(true).open(&path).unwrap();
        let long = "x".repeat(3 * LONGEST);
        write!(
            file,
            "\"GET / HTTP/1.1\" 200 \"hecaton-101\"\n{long} hecaton-102\n\"GET / HTTP/1.1\" 503 \"hecaton-109\"\n\
             \"GET / HTTP/1.1\" 200 \"hecaton-109\"\n\"GET / HTTP/1.1\" 200 \"hecaton-110\"\n\"GET / HTTP/1.1\" 200 \"hecaton-10"
        )
        .unwrap();
        let found = entries(&mut log, 2).unwrap();
        assert_eq!(
            (found.lines, found.distinct, found.successes),
            (3, 2, Some(2))
        );
        assert_eq!(found.statuses, BTreeMap::from([(200, 2), (503, 1)]));
        writeln!(file, "3\"").unwrap();
        let found = entries(&mut log, 1).unwrap();
        assert_eq!((found.lines, found.distinct), (1, 1));
    }

    #[test]
    fn another_request_is_one_where_the_log_has_named_the_right_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        std::fs::write(&path, "").unwrap();
        let mut log = AccessLog::open(&path).unwrap();
        let mut file = File::options().append(true).open(&path).unwrap();
        let mut round = |lines: &[(&str, u64)]| {
            for (request, id) in lines {
                writeln!(file, "\"{request} HTTP/1.1\" 200 \"hecaton-{id}\"").unwrap();
            }
            entries(&mut log, lines.len() as u64).unwrap().otherwise
        };
        // A proxy in front of the service may change paths, as far as anybody knows by now.
        assert_eq!(round(&[("HEAD /", 100), ("GET /inner/", 101)]), 0);
        assert_eq!(
            round(&[("GET /", 102), ("HEAD /", 103), ("GET /health?x", 104)]),
            2
        );
        assert_eq!(round(&[("HEAD /", 105)]), 1);
    }

    #[test]
    fn a_line_that_comes_when_its_round_has_been_judged_is_late() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        std::fs::write(&path, "").unwrap();
        let mut log = AccessLog::open(&path).unwrap();
        let mut file = File::options().append(true).open(&path).unwrap();
        let line = |id: u64| format!("\"GET / HTTP/1.1\" 200 \"hecaton-{id}\"\n");
        write!(file, "{}", line(100)).unwrap();
        assert_eq!(entries(&mut log, 1).unwrap().lines, 1);
        assert_eq!(log.judge(100, 10), 0);
        assert_eq!(log.judge(300, 10), 1);
        // One comes between two rounds, half of one too, and one in the round after the next. Nobody knows the id 555.
        write!(file, "{}{}hecat", line(101), line(555)).unwrap();
        log.skip().unwrap();
        assert_eq!(log.late(), BTreeMap::from([(0, 1)]));
        write!(file, "on-309\n{}", line(309)).unwrap();
        log.settle().unwrap();
        assert_eq!(log.late(), BTreeMap::from([(1, 2)]));
        assert_eq!(log.late(), BTreeMap::new());
    }

    #[test]
    fn what_never_comes_is_waited_for_and_a_cut_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        std::fs::write(&path, "hecaton-100\n").unwrap();
        let mut log = AccessLog::open(&path).unwrap();
        assert_eq!(
            entries(&mut log, 1).unwrap(),
            LogEntries {
                successes: Some(0),
                ..LogEntries::default()
            }
        );
        std::fs::write(&path, "").unwrap();
        let says = entries(&mut log, 1).unwrap_err().to_string();
        assert!(says.contains("was cut"), "{says}");
        std::fs::remove_file(&path).unwrap();
        assert!(AccessLog::open(&path).is_err());
    }
}
