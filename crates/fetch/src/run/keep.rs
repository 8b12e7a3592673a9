//! A response → what is recorded: whether it is good, the values taken from its body (`--take`), and where its body
//! goes. Its status or `--check` decides whether it is good, and a value that cannot be taken makes it bad. So does a
//! checksum that differs, from status 300 on; below that, such a body is not kept (`driver/ending`).

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hecaton::{Endpoint, Response};
use http::StatusCode;

use super::body_name::BodyName;
use super::checksum::Checksums;
use super::line::{TriedRequest, of_response};
use super::response_facts::ResponseFacts;
use super::validators::validators;
use crate::error::{Error, Result, at};
use crate::expression::{Expression, KnownFields};
use crate::job::{BodyStorage, Job};
use crate::plan::{Folder, Planned};
use crate::record::{Body, Ending};
use crate::segment::KnownInputs;
use crate::sink::{
    Digested, Digests, Files, Large, Partials, Sink, StoredResponse, TarShards, Warc, Whole, cut,
    keep_named, keep_some, number_of, remove,
};
use crate::take::{Matches, Take, Taken, take_all};

/// Where bodies are in a job's folder.
pub const BODIES: &str = "bodies";

/// A body that was received whole. Its digests are made once.
#[derive(Default)]
pub struct Arrived {
    /// The file that it is in; with none, it is in the memory of its response.
    pub whole: Option<Box<Whole>>,
    digested: OnceCell<Digested>,
}

impl Arrived {
    /// One in this file, or with its response.
    pub fn new(whole: Option<Box<Whole>>) -> Arrived {
        Arrived {
            whole,
            digested: OnceCell::new(),
        }
    }

    /// How many bytes it has.
    pub fn length(&self, response: &Response) -> u64 {
        let in_memory = response.body().len() as u64;
        self.whole.as_ref().map_or(in_memory, |whole| whole.length)
    }
}

/// Decides what is recorded of responses.
pub struct Keeper {
    headers: Vec<String>,
    hash: bool,
    checksums: Checksums,
    check: Option<Expression>,
    takes: Vec<Take>,
    /// Which of them found anything.
    matches: RefCell<Matches>,
    storage: BodyStorage,
    inline_limit: usize,
    decode: bool,
    /// Whether something else looks for anything in bodies, such as the next page.
    is_read: bool,
    /// Whether connections lead to the servers themselves, and not to proxies.
    is_direct: bool,
    /// Which names files have, if not the numbers of their inputs.
    name: Option<BodyName>,
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
            "two takes have the name {:?}, and a record has one field of that name: rename one of them",
            take.name()
        ))),
    }
}

impl Keeper {
    /// The keeper of a job.
    ///
    /// # Errors
    /// When a check or a take cannot be read.
    pub fn new(job: &Job, folder: &Folder, round: Option<&str>) -> Result<Keeper> {
        let settings = &job.results;
        let check = settings.check.as_deref().map(Expression::parse).transpose();
        let takes = settings
            .take
            .iter()
            .map(|take| Take::parse(take))
            .collect::<std::result::Result<Vec<Take>, _>>();
        let takes = takes.map_err(Error::usage)?;
        unless_twice(&takes)?;
        Ok(Keeper {
            headers: settings
                .headers
                .iter()
                .map(|name| name.to_ascii_lowercase())
                .collect(),
            hash: settings.hash,
            checksums: Checksums::new(settings)?,
            check: check.map_err(Error::usage)?,
            takes,
            matches: RefCell::default(),
            storage: settings.body,
            inline_limit: settings.inline_limit,
            decode: job.network.decode,
            is_read: job.request.next.is_some(),
            is_direct: false,
            name: None,
            // The bodies of a round stay when it is merged.
            home: folder.base().to_owned(),
            prefix: round
                .map(|round| format!("again-{round}-"))
                .unwrap_or_default(),
        })
    }

    /// The same with these names for files. If connections lead to the servers themselves, their addresses are recorded.
    pub fn for_run(self, name: Option<BodyName>, is_direct: bool) -> Keeper {
        Keeper {
            name,
            is_direct,
            ..self
        }
    }

    /// Which values were found in the responses so far.
    pub fn matches(&self) -> Matches {
        self.matches.borrow().clone()
    }

    /// Refuses a check that names a field that no input and no response has.
    ///
    /// # Errors
    /// The field, and the fields that exist.
    pub fn check_columns(&self, columns: &[String]) -> Result<()> {
        self.checksums.check_columns(columns)?;
        let known = KnownFields {
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
            self.storage,
            BodyStorage::Files | BodyStorage::Warc | BodyStorage::Tar
        )
    }

    /// Whether bodies may go to the disk as they come, because nothing looks for anything in them.
    pub fn streams(&self) -> bool {
        let check = self.check.as_ref();
        self.has_files()
            && !self.is_read
            && self.takes.is_empty()
            && !check.is_some_and(Expression::needs_body)
    }

    /// Whether anything is made of bodies in memory: text, a tree or values to search, or pieces of an archive.
    pub fn reads(&self) -> bool {
        let check = self.check.as_ref();
        self.is_read
            || !self.takes.is_empty()
            || self.storage != BodyStorage::None
            || check.is_some_and(Expression::needs_body)
    }

    /// The beginning of the names of all attempts at a part.
    fn prefix_of_part(&self, part: u32) -> String {
        format!("{}part-{part:06}", self.prefix)
    }

    fn prefix(&self, part: u32, attempt: u32) -> String {
        format!("{}-{attempt}", self.prefix_of_part(part))
    }

    /// The digests that are made of each body.
    fn digests(&self) -> Digests {
        Digests {
            blake3: self.hash,
            ..self.checksums.digests()
        }
    }

    /// How a body differs from the checksum that its input names, if it does.
    pub fn difference(
        &self,
        planned: &Planned,
        response: &Response,
        arrived: &Arrived,
    ) -> Option<String> {
        let digested = || self.digested(response, arrived);
        self.checksums.difference(planned, digested)
    }

    /// The digests of a body.
    fn digested<'a>(&self, response: &Response, arrived: &'a Arrived) -> &'a Digested {
        match &arrived.whole {
            Some(whole) => &whole.digested,
            None => arrived
                .digested
                .get_or_init(|| self.digests().of(response.body())),
        }
    }

    /// The large bodies of an attempt, with those that earlier attempts began. None if no body goes to the disk as it
    /// comes.
    ///
    /// # Errors
    /// When a file cannot be renamed.
    pub fn partials(&self, part: u32, attempt: u32) -> Result<Option<Partials>> {
        if !self.streams() {
            return Ok(None);
        }
        let bodies = self.home.join(BODIES);
        let mut digests = self.digests();
        digests.sha256 |= matches!(self.storage, BodyStorage::Warc);
        let taken = Partials::take_over(&bodies, &self.prefix_of_part(part), attempt, digests);
        taken.map(Some).map_err(at("move files below", &bodies))
    }

    /// Where the bodies of an attempt at a part go: under a name that no other attempt uses, for whoever is late must
    /// spoil nothing.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn sink(&self, part: u32, attempt: u32) -> Result<Sink> {
        let root = self.home.as_path();
        let prefix = self.prefix(part, attempt);
        let sink = match self.storage {
            BodyStorage::None => Ok(Sink::Nowhere),
            BodyStorage::Inline => Ok(Sink::Inline(self.inline_limit)),
            BodyStorage::Files => {
                let files = Files::new(root, &format!("{BODIES}/{prefix}"));
                let files = match self.name {
                    Some(_) => files.and_then(Files::named),
                    None => files,
                };
                files.map(Sink::Files)
            }
            BodyStorage::Warc => {
                let large = Large::new(root, BODIES, &prefix);
                Warc::new(root, BODIES, &prefix).map(|warc| Sink::Warc(Box::new(warc), large))
            }
            BodyStorage::Tar => {
                let large = Large::new(root, BODIES, &prefix);
                TarShards::new(root, BODIES, &prefix).map(|shards| Sink::Tar(shards, large))
            }
        };
        sink.map_err(at("create", &root.join(BODIES)))
    }

    /// Takes away what an earlier attempt stored and has no record: the last of it, when a crash came between.
    ///
    /// # Errors
    /// When the system refuses, or a body is missing that a record names.
    pub fn mend(&self, part: u32, attempt: u32, known: &KnownInputs) -> Result<()> {
        let home = self.home.join(BODIES);
        let prefix = self.prefix(part, attempt);
        match self.storage {
            BodyStorage::None | BodyStorage::Inline => Ok(()),
            BodyStorage::Files => {
                let folder = home.join(&prefix);
                let is_done = |number| known.done.contains(number);
                let kept = keep_named(&folder, &is_done).and_then(|is_named| match is_named {
                    true => Ok(()),
                    false => keep_some(&folder, &is_done),
                });
                match kept {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    kept => kept.map_err(at("read", &folder)),
                }
            }
            BodyStorage::Warc | BodyStorage::Tar => {
                let names = known.archives.iter();
                let mut names = names.filter_map(|(name, bytes)| {
                    Some((name.strip_prefix(BODIES)?.strip_prefix('/')?, *bytes))
                });
                let last = names.rfind(|(name, _)| is_of(name, &prefix));
                let is_kept = |number| known.done.contains(number);
                cut_archives(&home, &prefix, last, &is_kept)
            }
        }
    }

    /// Stores the body of a response, and returns its record.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn keep<'a>(
        &'a self,
        sink: &mut Sink,
        request: &TriedRequest<'a>,
        response: &'a Response,
        arrived: Arrived,
    ) -> io::Result<Ending<'a>> {
        let (planned, rendered) = (request.planned, request.rendered);
        let bytes = arrived.length(response);
        let digested = self.digested(response, &arrived).clone();
        let [sha256, md5] = self.checksums.recorded(&digested);
        let mut ending = of_response(request, response);
        ending.bytes = Some(bytes);
        let (ok, mut taken) = self.judged(planned, response, &ending);
        let may_differ = response.status() >= 300 && rendered.method != "HEAD";
        let why = match ok && may_differ {
            // Those below were compared as they came, and requested again.
            true => self.checksums.difference(planned, || &digested),
            false => taken.why.take(),
        };
        let ok = ok && why.is_none();
        if ok && !self.takes.is_empty() {
            self.matches.borrow_mut().note(&taken);
        }
        let body = self.store(sink, request, response, arrived.whole)?;
        Ok(Ending {
            ok: Some(ok),
            headers: &self.headers,
            digest: digested.blake3,
            sha256,
            md5,
            body,
            validators: validators(rendered, response),
            taken: taken.values,
            why: why.map(Cow::Owned),
            ..ending
        })
    }

    /// Whether a response is good, with the values that are taken from it, and why it is not.
    fn judged(&self, planned: &Planned, response: &Response, ending: &Ending<'_>) -> (bool, Taken) {
        let mut taken = match self.takes.is_empty() {
            true => Taken::default(),
            false => take_all(&self.takes, response.body(), content_type(response)),
        };
        let facts = ResponseFacts {
            planned,
            ending,
            response,
            taken: &taken.values,
        };
        let (ok, why) = self.judge(&facts, ending.method != "HEAD", taken.why.clone());
        taken.why = why;
        (ok, taken)
    }

    /// Stores a body, which may be in a file already, where the job wants it.
    fn store(
        &self,
        sink: &mut Sink,
        request: &TriedRequest<'_>,
        response: &Response,
        whole: Option<Box<Whole>>,
    ) -> io::Result<Option<Body>> {
        if self.storage == BodyStorage::None {
            return Ok(None);
        }
        let (planned, begun) = (request.planned, request.tried.begun);
        let name = self.name.as_ref();
        let name = name.map(|name| name.wanted(planned, &request.rendered.url, response));
        let name = name.as_deref();
        self.with_stored(
            planned.number,
            name,
            begun,
            response,
            |stored| match whole {
                Some(whole) => sink.adopt(stored, *whole),
                None => sink.store(stored),
            },
        )
    }

    /// Whether a response is good, and why it is not if its status does not say that: `untaken` says why a value could
    /// not be taken. A response without content, by its method or its status, has no values, and is what it should be.
    fn judge(
        &self,
        facts: &ResponseFacts<'_>,
        may_have_content: bool,
        untaken: Option<String>,
    ) -> (bool, Option<String>) {
        let status = facts.response.status();
        let has_content = may_have_content && status != 204;
        let (ok, undecided) = match self
            .check
            .as_ref()
            .map(|check| (check, check.decide(facts)))
        {
            None => (status < 300, None),
            Some((_, Ok(true))) => (true, None),
            // A status that is good by itself does not say what is wrong.
            Some((check, Ok(false))) if status < 300 => {
                (false, Some(format!("--check is false: {check}")))
            }
            Some((_, Ok(false))) => (false, None),
            Some((_, Err(why))) if has_content => {
                (false, Some(format!("--check cannot tell: {why}")))
            }
            Some((check, Err(_))) => (check.holds(facts), None),
        };
        let why = untaken.filter(|_| ok && has_content).or(undecided);
        (ok && why.is_none(), why)
    }

    /// Notes that a response of an earlier round still holds, where the place of bodies has a form for that.
    ///
    /// # Errors
    /// When it cannot be noted.
    pub fn revisit(
        &self,
        sink: &mut Sink,
        request: &TriedRequest<'_>,
        response: &Response,
    ) -> io::Result<()> {
        let (number, begun) = (request.planned.number, request.tried.begun);
        self.with_stored(number, None, begun, response, |stored| sink.revisit(stored))
    }

    /// How many bytes the file of a large body must have free before it.
    pub fn before(&self, sink: &Sink, number: u64, response: &Response) -> u64 {
        let now = SystemTime::now();
        self.with_stored(number, None, now, response, |stored| sink.before(stored))
    }

    /// Calls a function with a response as sinks have it.
    fn with_stored<T>(
        &self,
        number: u64,
        name: Option<&str>,
        begun: SystemTime,
        response: &Response,
        then: impl FnOnce(&StoredResponse<'_>) -> T,
    ) -> T {
        let headers: Vec<(&str, &[u8])> = response.headers().collect();
        let status = StatusCode::from_u16(response.status()).ok();
        let coding = response.header("content-encoding");
        then(&StoredResponse {
            number,
            name,
            url: &response.url(),
            status: response.status(),
            reason: status
                .and_then(|status| status.canonical_reason())
                .unwrap_or(""),
            headers: &headers,
            decoded: self.decode
                && coding.is_some_and(|coding| !coding.eq_ignore_ascii_case(b"identity")),
            ip: ip_of(response).filter(|_| self.is_direct),
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

/// The last archive that a record names, and how much of it has records.
type Last<'a> = (&'a str, u64);

/// Repairs the archives of an attempt. Those before the last archive that a record names are whole, and those behind
/// it have no record.
fn cut_archives(
    home: &Path,
    prefix: &str,
    last: Option<Last<'_>>,
    is_kept: &dyn Fn(u64) -> bool,
) -> Result<()> {
    for entry in std::fs::read_dir(home).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let Some(name) = name.to_str().filter(|name| is_of(name, prefix)) else {
            continue;
        };
        match last {
            _ if number_of(name, prefix).is_some_and(is_kept) => {}
            _ if number_of(name, prefix).is_some() => {
                remove(&path).map_err(at("remove", &path))?;
            }
            Some((last, _)) if name < last => {}
            Some((last, bytes)) if name == last => cut(&path, bytes).map_err(at("mend", &path))?,
            _ => remove(&path).map_err(at("remove", &path))?,
        }
    }
    Ok(())
}

/// The address at the other end of the connection.
fn ip_of(response: &Response) -> Option<IpAddr> {
    match response.attempts().last()?.facts.as_ref()?.peer {
        Some(Endpoint::Ip(address)) => Some(address.ip()),
        _ => None,
    }
}

fn content_type(response: &Response) -> Option<&str> {
    std::str::from_utf8(response.header("content-type")?).ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::plan::Content;
    use crate::record::Columns;
    use crate::request::Rendered;
    use crate::run::line::Tried;

    /// The response "good".
    fn good() -> Response {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let response = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood";
            stream.write_all(response).unwrap();
        });
        let reactor = hecaton::Reactor::new().unwrap();
        let client = hecaton::Client::new(hecaton::Config::new(std::time::Duration::from_secs(60)));
        let request = hecaton::Request::get(&url).unwrap();
        let response = reactor.block_on(client.send(request)).unwrap();
        server.join().unwrap();
        response
    }

    #[test]
    fn the_digests_of_a_body_are_made_once() {
        let home = tempfile::tempdir().unwrap();
        let mut job = Job::default();
        job.results.verify = Some("sha256:digest".to_owned());
        job.results.sha256 = true;
        let keeper = Keeper::new(&job, &Folder::at(home.path()), None).unwrap();
        let (response, arrived) = (good(), Arrived::default());
        // Those of another body, which nothing may make anew.
        let other = keeper.digests().of(b"other");
        let [named, _] = keeper.checksums.recorded(&other);
        assert!(arrived.digested.set(other).is_ok());
        let columns = [("digest".to_owned(), named.clone().unwrap())];
        let planned = Planned {
            number: 0,
            line: 1,
            held: Content::Columns(Box::new(Columns::from(columns))),
            earlier: None,
        };
        assert_eq!(keeper.difference(&planned, &response, &arrived), None);
        let rendered = Rendered {
            method: "GET".into(),
            url: "http://a.example/".into(),
            headers: Vec::new(),
            body: None,
        };
        let tried = Tried {
            attempts: 1,
            begun: SystemTime::now(),
            location: None,
            page: None,
            unfollowed: None,
        };
        let mut sink = keeper.sink(0, 0).unwrap();
        let request = TriedRequest {
            planned: &planned,
            rendered: &rendered,
            tried: &tried,
        };
        let kept = keeper.keep(&mut sink, &request, &response, arrived);
        assert_eq!(kept.unwrap().sha256, named);
    }
}
