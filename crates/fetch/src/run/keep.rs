//! What is kept of an answer: whether it is good (`--check`), what is taken of its body (`--take`), and where the body goes.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hecaton::Response;
use http::StatusCode;

use super::answer::Live;
use super::line::{Kept, Tried};
use crate::error::{Error, Result, at};
use crate::expression::{Expression, Known as Answers};
use crate::job::{BodyPlace, Kept as Asked};
use crate::plan::{Folder, Planned};
use crate::request::Rendered;
use crate::segment::Known;
use crate::sink::{Answer, Files, Shards, Sink, Warc, cut, keep_some};
use crate::take::{Take, take_all};

/// Where bodies are in a job's folder.
const BODIES: &str = "bodies";

/// What is kept of answers.
pub struct Keeper {
    headers: Vec<String>,
    hash: bool,
    check: Option<Expression>,
    takes: Vec<Take>,
    place: BodyPlace,
    inline_most: usize,
    decode: bool,
    /// The folder that bodies are below, and what the names of their files begin with.
    home: PathBuf,
    prefix: String,
}

/// One name is one column of the record.
fn unless_twice(takes: &[Take]) -> Result<()> {
    let mut known = BTreeSet::new();
    match takes.iter().find(|take| !known.insert(take.name())) {
        None => Ok(()),
        Some(take) => Err(Error::usage(format!(
            "two takes have the name {:?}, and a record has one place for it: name one of them otherwise",
            take.name()
        ))),
    }
}

impl Keeper {
    /// What a job asks for.
    ///
    /// # Errors
    /// When a check or a take cannot be read.
    pub fn new(
        asked: &Asked,
        decode: bool,
        (folder, round): (&Folder, Option<&str>),
    ) -> Result<Keeper> {
        let check = asked.check.as_deref().map(Expression::parse).transpose();
        let takes = asked
            .take
            .iter()
            .map(|take| Take::parse(take))
            .collect::<std::result::Result<Vec<Take>, _>>();
        let takes = takes.map_err(|error| Error::usage(error.to_string()))?;
        unless_twice(&takes)?;
        Ok(Keeper {
            headers: asked
                .headers
                .iter()
                .map(|name| name.to_ascii_lowercase())
                .collect(),
            hash: asked.hash,
            check: check.map_err(|error| Error::usage(error.to_string()))?,
            takes,
            place: asked.body,
            inline_most: asked.inline_most,
            decode,
            // A round is in a folder below the job's, and ends there.
            home: match round {
                Some(_) => folder.path().parent().unwrap_or(folder.path()).to_owned(),
                None => folder.path().to_owned(),
            },
            prefix: round
                .map(|round| format!("again-{round}-"))
                .unwrap_or_default(),
        })
    }

    /// Refuses a check that asks for what no input and no answer has.
    ///
    /// # Errors
    /// What it asks for, and what there is.
    pub fn check_columns(&self, columns: &[String]) -> Result<()> {
        let known = Answers {
            columns,
            taken: self
                .takes
                .iter()
                .map(|take| take.name().to_owned())
                .collect(),
            headers: None,
            bodies: true,
        };
        let check = self.check.iter();
        let mut check = check.map(|check| check.check(&known));
        check.try_for_each(|refused| refused.map_err(Error::usage))
    }

    /// Whether bodies go into files, which must be on the disk before their records.
    pub fn has_files(&self) -> bool {
        matches!(
            self.place,
            BodyPlace::Files | BodyPlace::Warc | BodyPlace::Tar
        )
    }

    fn prefix(&self, part: u32, attempt: u32) -> String {
        format!("{}part-{part:06}-{attempt}", self.prefix)
    }

    /// Where the bodies of an attempt at a part go: under a name that no other attempt uses, for whoever is late must spoil nothing.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn sink(&self, part: u32, attempt: u32) -> Result<Sink> {
        let root = self.home.as_path();
        let prefix = self.prefix(part, attempt);
        let sink = match self.place {
            BodyPlace::None => Ok(Sink::Nowhere),
            BodyPlace::Inline => Ok(Sink::Inline(self.inline_most)),
            BodyPlace::Files => Files::new(root, &format!("{BODIES}/{prefix}")).map(Sink::Files),
            BodyPlace::Warc => {
                Warc::new(root, BODIES, &prefix).map(|warc| Sink::Warc(Box::new(warc)))
            }
            BodyPlace::Tar => Shards::new(root, BODIES, &prefix).map(Sink::Shards),
        };
        sink.map_err(at("create", &root.join(BODIES)))
    }

    /// Takes away what an earlier attempt stored and has no record: the last of it, when a crash came between.
    ///
    /// # Errors
    /// When the system refuses, or a body is missing that a record names.
    pub fn mend(&self, part: u32, attempt: u32, known: &Known) -> Result<()> {
        let home = self.home.join(BODIES);
        let prefix = self.prefix(part, attempt);
        match self.place {
            BodyPlace::None | BodyPlace::Inline => Ok(()),
            BodyPlace::Files => {
                let folder = home.join(&prefix);
                match keep_some(&folder, &|number| known.done.contains(number)) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    kept => kept.map_err(at("read", &folder)),
                }
            }
            BodyPlace::Warc | BodyPlace::Tar => {
                let names = known.archives.iter();
                let mut names = names.filter_map(|(name, bytes)| {
                    Some((name.strip_prefix(BODIES)?.strip_prefix('/')?, *bytes))
                });
                let last = names.rfind(|(name, _)| is_of(name, &prefix));
                cut_archives(&home, &prefix, last)
            }
        }
    }

    /// What is kept of an answer; its body is stored.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn keep(
        &self,
        sink: &mut Sink,
        (planned, rendered): (&Planned, &Rendered<'_>),
        tried: &Tried,
        response: &Response,
    ) -> io::Result<Kept<'_>> {
        let taken = match self.takes.is_empty() {
            true => serde_json::Map::new(),
            false => take_all(&self.takes, response.body(), content_type(response)),
        };
        let facts = Live {
            planned,
            rendered,
            tried,
            response,
            taken: &taken,
        };
        let ok = match &self.check {
            Some(check) => check.holds(&facts),
            None => response.status() < 400,
        };
        let body = match self.place {
            BodyPlace::None => None,
            _ => self.store(sink, planned.number, tried.begun, response)?,
        };
        Ok(Kept {
            ok,
            headers: &self.headers,
            hash: self.hash,
            body,
            taken,
        })
    }

    fn store(
        &self,
        sink: &mut Sink,
        number: u64,
        begun: SystemTime,
        response: &Response,
    ) -> io::Result<Option<crate::record::Body>> {
        let headers: Vec<(&str, &[u8])> = response.headers().collect();
        let status = StatusCode::from_u16(response.status()).ok();
        let coding = response.header("content-encoding");
        sink.store(&Answer {
            number,
            url: &response.url(),
            status: response.status(),
            reason: status
                .and_then(|status| status.canonical_reason())
                .unwrap_or(""),
            headers: &headers,
            decoded: self.decode
                && coding.is_some_and(|coding| !coding.eq_ignore_ascii_case(b"identity")),
            at: &humantime::format_rfc3339_millis(begun).to_string(),
            body: response.body(),
        })
    }
}

/// Whether a file belongs to the attempt whose names begin with this.
fn is_of(name: &str, prefix: &str) -> bool {
    let rest = name.strip_prefix(prefix);
    rest.is_some_and(|rest| rest.starts_with('-'))
}

/// Of the archives of an attempt those before the last one that records name are whole, and none behind it has any record.
fn cut_archives(home: &Path, prefix: &str, last: Option<(&str, u64)>) -> Result<()> {
    for entry in std::fs::read_dir(home).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let Some(name) = name.to_str().filter(|name| is_of(name, prefix)) else {
            continue;
        };
        match last {
            Some((last, _)) if name < last => {}
            Some((last, bytes)) if name == last => cut(&path, bytes).map_err(at("mend", &path))?,
            _ => std::fs::remove_file(&path).map_err(at("remove", &path))?,
        }
    }
    Ok(())
}

fn content_type(response: &Response) -> Option<&str> {
    std::str::from_utf8(response.header("content-type")?).ok()
}
