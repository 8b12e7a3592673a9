//! Merges the records of a round into a part's results: each replaces the older record of its input.
//!
//! One rule is the exception: a good record is replaced only by what a server answered. A failure on the way says
//! nothing about the version that is there, so the record stays as it is. A body with another checksum than the list
//! names says that the server has changed: the older record and its body stay, and are not good any more. Where the
//! older records or bodies are lost, nothing good is there.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use roaring::RoaringTreemap;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::aside::Aside;
use crate::error::{Error, Result, at, sentence};
use crate::finalize::ResultsWriter;
use crate::plan::{Folder, sync_folder_of, write_whole};
use crate::record::{Outcome, Record};
use crate::run::is_answer;
use crate::segment::{
    Commit, Tally, each_readable, each_result, each_whole, head_of, is_followed, load, record_of,
};
use crate::verify::inputs;

/// The new records that are merged into a part.
pub struct Round<'a> {
    /// The file with them, if there is one.
    pub new: Option<&'a Path>,
    /// The id of their round.
    pub id: Option<&'a str>,
    /// Whether the round replaces what is lost of damaged results.
    pub repairs: bool,
}

impl Round<'_> {
    /// No new records: a part is written again without what is no record of its inputs.
    pub const REWRITES: Round<'static> = Round {
        new: None,
        id: None,
        repairs: true,
    };

    fn each(&self, visit: &mut dyn FnMut(&[u8], u64) -> io::Result<()>) -> Result<()> {
        self.new.map_or(Ok(()), |new| each(new, visit))
    }
}

/// The error of a body that is not the one that the list names.
const CHECKSUM: &str = "checksum";

/// The `why` of a record that stays although the server has another body by now.
const STALE: &str = "the server has another body now, which the list's checksum does not name; the rest of the record is of the earlier response";

/// How many inputs keep a good record of an earlier round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Because nothing answered them.
    pub unanswered: u64,
    /// Because the new body has another checksum than the list names. They are not good any more.
    pub stale: u64,
}

impl Kept {
    /// Counts those of another part.
    pub fn add(&mut self, other: Kept) {
        self.unanswered += other.unanswered;
        self.stale += other.stale;
    }
}

/// Writes a part's results anew, with the records of a round. To do so twice changes nothing.
pub fn merge(folder: &Folder, round: &Round<'_>, part: u32) -> Result<Kept> {
    let draft = folder.part(part).join("merged.jsonl.zst");
    let refused = |error: io::Error| Error::Failed(sentence("write", &draft, &error));
    let mut news = News::of(folder, round, part)?;
    let kept = news.kept();
    let own = round.repairs.then(|| inputs(folder, part)).transpose()?;
    let mut merged = Merged {
        results: ResultsWriter::create(&draft).map_err(refused)?,
        tally: Tally::default(),
        aside: Aside::default(),
        own: own.as_ref(),
    };
    merged.add_old(folder, &mut news, part)?;
    merged.add_new(round, &news)?;
    merged.results.finish().map_err(refused)?;
    let commit =
        load(folder, part)?.ok_or_else(|| Error::failed(format!("part {part} is not done")))?;
    let old = folder.result(part);
    let needed = own
        .as_ref()
        .map_or(commit.tally.records, RoaringTreemap::len);
    refuse_missing(merged.tally.records, needed, &old)?;
    merged.aside.set(folder)?;
    fs::rename(&draft, &old)
        .and_then(|()| sync_folder_of(&old))
        .map_err(at("write", &old))?;
    let commit = Commit {
        tally: merged.tally,
        round: round.id.map(str::to_owned).or(commit.round),
        ..commit
    };
    let text = serde_json::to_vec_pretty(&commit).expect("numbers become JSON");
    write_whole(&folder.commit(part), &text)?;
    Ok(kept)
}

/// Refuses if `old` would lose records that it needs.
fn refuse_missing(found: u64, needed: u64, old: &Path) -> Result<()> {
    if found == needed {
        return Ok(());
    }
    Err(Error::failed(format!(
        "{} would have {found} of its {needed} records after the round, so it stays as it is",
        old.display()
    )))
}

/// The records of a part after a round, as they are written.
struct Merged<'a> {
    results: ResultsWriter,
    tally: Tally,
    aside: Aside,
    /// The part's inputs, if the round replaces what is lost of damaged results.
    own: Option<&'a RoaringTreemap>,
}

impl Merged<'_> {
    fn add(&mut self, line: &[u8]) -> io::Result<()> {
        if self.own.is_some() {
            self.aside.used(line)?;
        }
        match head_of(line) {
            _ if is_followed(line) => self.tally.pages += 1,
            // It has an error, as a condition sees it.
            Some((_, outcome, false)) if outcome.is_answer() && is_outdated(line) => {
                self.tally.count(Outcome::Error, false)
            }
            Some((_, outcome, ok)) => self.tally.count(outcome, ok),
            None => {}
        }
        self.results.add_lines(line)
    }

    /// Adds the older records that stay. Takes the new records of unchanged inputs off the news.
    fn add_old(&mut self, folder: &Folder, news: &mut News, part: u32) -> Result<()> {
        let repairs = self.own.is_some();
        let mut keep = |line: &[u8]| {
            // `verify` counts it as little.
            let is_of = |own: &RoaringTreemap| record_of(line).is_ok_and(|it| own.contains(it.n));
            if !self.own.is_none_or(is_of) {
                return Ok(());
            }
            let number = number_of(line)?;
            match news.unchanged.remove(&number) {
                Some(new) => self.add(&confirmed(line, &new)?),
                None if news.stale.contains_key(&number) && !is_followed(line) => {
                    self.add(&outdated(line, &news.stale[&number])?)
                }
                None if is_followed(line) && news.go_on.get(&number) > Some(&page_of(line)?) => {
                    self.add(line)
                }
                None if news.newer.contains(number) && repairs => self.aside.replaced(line),
                None if news.newer.contains(number) => Ok(()),
                None => self.add(line),
            }
        };
        match repairs {
            true => each_readable(&folder.result(part), &mut keep).map(drop),
            false => each_result(folder, part, &mut keep),
        }
    }

    /// Adds the round's records. Those that are unchanged are written, unless nothing older is there.
    fn add_new(&mut self, round: &Round<'_>, news: &News) -> Result<()> {
        round.each(&mut |line, number| match head_of(line) {
            _ if news.stays.contains(number) => Ok(()),
            Some((_, Outcome::Unchanged, _)) if !news.unchanged.contains_key(&number) => Ok(()),
            _ => self.add(line),
        })
    }
}

/// The inputs of which a round has new records.
#[derive(Default)]
struct News {
    /// Those whose older records go.
    newer: RoaringTreemap,
    /// The new records of those that have not changed.
    unchanged: HashMap<u64, Vec<u8>>,
    /// The first new page of those whose pages go on where they were.
    go_on: HashMap<u64, u32>,
    /// Those that got no answer, or one with another checksum, and keep their older, good records.
    stays: RoaringTreemap,
    /// The errors of those of them whose new body has another checksum.
    stale: HashMap<u64, Value>,
}

impl News {
    fn of(folder: &Folder, round: &Round<'_>, part: u32) -> Result<News> {
        let (mut news, mut failed) = (News::default(), RoaringTreemap::new());
        round.each(&mut |line, number| {
            if let Some(failure) = failure_of(line)? {
                failed.insert(number);
                if let Some(error) = failure.error.filter(|error| error["kind"] == CHECKSUM) {
                    news.stale.insert(number, error);
                }
            }
            if news.newer.insert(number) {
                if let page @ 2.. = page_of(line)? {
                    news.go_on.insert(number, page);
                }
            }
            if matches!(head_of(line), Some((_, Outcome::Unchanged, _))) {
                news.unchanged.insert(number, line.to_vec());
            }
            Ok(())
        })?;
        if !round.repairs {
            news.stays = good_ones(folder, part, &failed)?;
            news.newer -= &news.stays;
            news.go_on.retain(|number, _| !news.stays.contains(*number));
        }
        news.stale.retain(|number, _| news.stays.contains(*number));
        Ok(news)
    }

    fn kept(&self) -> Kept {
        let stale = self.stale.len() as u64;
        Kept {
            unanswered: self.stays.len() - stale,
            stale,
        }
    }
}

/// The fields of a record about a failure.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Failure {
    status: u16,
    error: Option<Value>,
}

/// The failure in a record that says that no server answered, as with a 503. A redirect that is not followed is an
/// answer, and so is whatever the job's check finds good.
fn failure_of(line: &[u8]) -> io::Result<Option<Failure>> {
    let Some((_, outcome, ok)) = head_of(line) else {
        return Ok(None);
    };
    let failure = match outcome {
        Outcome::Error => serde_json::from_slice::<Failure>(line)?,
        Outcome::Response if !ok => serde_json::from_slice(line)?,
        outcome => return Ok((!outcome.is_answer()).then(Failure::default)),
    };
    let is_redirect = |error: &Value| error["kind"] == "redirect";
    let is_failure = match outcome {
        Outcome::Error => !failure.error.as_ref().is_some_and(is_redirect),
        _ => !is_answer(failure.status),
    };
    Ok(is_failure.then_some(failure))
}

/// Whether a record has a good response, also one that the server has replaced since.
pub(super) fn has_good(record: &Record) -> bool {
    let is_stale = record.outcome.is_answer()
        && record
            .error
            .as_ref()
            .is_some_and(|error| error.kind == CHECKSUM);
    record.ok || is_stale
}

/// Those of the inputs whose older record has a good response.
fn good_ones(folder: &Folder, part: u32, of: &RoaringTreemap) -> Result<RoaringTreemap> {
    let mut good = RoaringTreemap::new();
    if of.is_empty() {
        return Ok(good);
    }
    each_result(folder, part, &mut |line| {
        let last = head_of(line).filter(|_| !is_followed(line));
        if let Some((number, outcome, ok)) = last.filter(|(number, ..)| of.contains(*number)) {
            // Only records of responses are worth more than a look.
            let may_be = ok || outcome.is_answer();
            if may_be && has_good(&serde_json::from_slice(line)?) {
                good.insert(number);
            }
        }
        Ok(())
    })?;
    Ok(good)
}

/// The older record of an input whose response has not changed, with the request that found that out. To do so twice
/// changes nothing.
fn confirmed(old: &[u8], new: &[u8]) -> io::Result<Vec<u8>> {
    let mut record: Map<String, Value> = serde_json::from_slice(old)?;
    let new: Map<String, Value> = serde_json::from_slice(new)?;
    if new["ok"] == true && record["ok"] == false {
        // The server has it back.
        record.retain(|name, _| !matches!(&**name, "error" | "why"));
    }
    for name in ["outcome", "ok", "attempts", "at", "ms"] {
        if let Some(value) = new.get(name) {
            record.insert(name.to_owned(), value.clone());
        }
    }
    written(&record)
}

/// Whether a record is one that [`outdated`] wrote.
fn is_outdated(line: &[u8]) -> bool {
    memchr::memmem::find(line, STALE.as_bytes()).is_some()
}

/// The older record of an input for which the server has another body by now. To do so twice changes nothing.
fn outdated(old: &[u8], error: &Value) -> io::Result<Vec<u8>> {
    let mut record: Map<String, Value> = serde_json::from_slice(old)?;
    record.insert("ok".to_owned(), false.into());
    record.insert("error".to_owned(), error.clone());
    record.insert("why".to_owned(), STALE.into());
    written(&record)
}

fn written(record: &Map<String, Value>) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}

/// Visits each line of a file that must be whole, with the number of its input.
pub(super) fn each(path: &Path, visit: &mut dyn FnMut(&[u8], u64) -> io::Result<()>) -> Result<()> {
    each_whole(path, &mut |line| visit(line, number_of(line)?)).map(drop)
}

/// The number of a record's page; 0 if it has none.
fn page_of(line: &[u8]) -> io::Result<u32> {
    #[derive(Deserialize)]
    struct Line {
        #[serde(default)]
        page: u32,
    }
    match memchr::memmem::find(line, b"\"page\":") {
        None => Ok(0),
        Some(_) => Ok(serde_json::from_slice::<Line>(line)?.page),
    }
}

fn number_of(line: &[u8]) -> io::Result<u64> {
    let (number, ..) = head_of(line).ok_or(io::ErrorKind::InvalidData)?;
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_records_say_that_no_server_answered() {
        let response = |status: u16, ok: bool| {
            format!("{{\"n\":1,\"outcome\":\"response\",\"ok\":{ok},\"status\":{status}}}\n")
        };
        let error = |kind: &str| {
            format!(
                "{{\"n\":1,\"outcome\":\"error\",\"ok\":false,\"error\":{{\"kind\":\"{kind}\"}}}}\n"
            )
        };
        let mut table = vec![
            (error("timeout"), true),
            (error("checksum"), true),
            (error("redirect"), false),
            (response(503, true), false),
        ];
        for status in [429, 502, 503, 504, 520, 527] {
            table.push((response(status, false), true));
        }
        for status in [200, 301, 403, 404, 500, 501, 505, 519, 528] {
            table.push((response(status, false), false));
        }
        for (line, expected) in table {
            let failure = failure_of(line.as_bytes()).unwrap();
            assert_eq!(failure.is_some(), expected, "{line}");
        }
    }
}
