//! A server of large files with ETag, Range and If-Range, which can break every promise that these make.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Files are made of blocks of this size.
pub const BLOCK: usize = 64 << 10;

/// How the server responds to a request with a `Range` whose `If-Range` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRange {
    /// With the rest of the file.
    Honour,
    /// With the whole file.
    Ignore,
    /// With at most a megabyte of the rest.
    Some,
    /// With 416.
    Refuse,
    /// With a 206 whose body has a coding.
    Coded,
    /// With a 206 that begins elsewhere.
    WrongStart,
    /// With a 206 of another length.
    WrongTotal,
    /// With a 206 without Content-Range.
    NoRange,
    /// With a 206 that has another ETag.
    WrongTag,
    /// With a 206 without ETag.
    NoTag,
}

/// The server's behaviour.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// The length of each file.
    pub length: u64,
    /// Another content for each number.
    pub version: u64,
    /// The ETag, in which `{}` is the version; none sends none.
    pub etag: Option<&'static str>,
    /// The `Date` beside a `Last-Modified` in the first minute of 2026, which differs by version; none sends neither.
    pub date: Option<&'static str>,
    /// The response to a request for a range.
    pub on_range: OnRange,
    /// No body goes beyond this byte of its file, until that changes.
    pub hold_at: u64,
    /// Connections are cut there, once for each file.
    pub cut_at: Option<u64>,
    /// Send no Content-Length.
    pub is_chunked: bool,
}

impl Behaviour {
    /// A good server of files of this length.
    pub fn good(length: u64) -> Behaviour {
        Behaviour {
            length,
            version: 1,
            etag: Some("\"v{}\""),
            date: None,
            on_range: OnRange::Honour,
            hold_at: u64::MAX,
            cut_at: None,
            is_chunked: false,
        }
    }
}

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The number in its path.
    pub file: u64,
    /// The first byte of the range, if it had a range.
    pub from: Option<u64>,
    /// All header lines.
    pub headers: Vec<String>,
}

struct Shared {
    behaviour: Mutex<Behaviour>,
    seen: Mutex<Vec<Seen>>,
    cut: Mutex<Vec<u64>>,
    sent: AtomicU64,
    base: Vec<u8>,
}

/// The server; `http://127.0.0.1:PORT/7` is the file 7.
pub struct FileServer {
    pub port: u16,
    shared: Arc<Shared>,
}

impl FileServer {
    pub fn start(behaviour: Behaviour) -> FileServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let base = (0..2 * BLOCK).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u8
        });
        let server = FileServer {
            port: listener.local_addr().unwrap().port(),
            shared: Arc::new(Shared {
                behaviour: Mutex::new(behaviour),
                seen: Mutex::default(),
                cut: Mutex::default(),
                sent: AtomicU64::new(0),
                base: base.collect(),
            }),
        };
        let shared = server.shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || respond(stream, &shared));
            }
        });
        server
    }

    /// The URLs of so many files.
    pub fn urls(&self, count: u64) -> impl Iterator<Item = String> {
        let port = self.port;
        (0..count).map(move |file| format!("http://127.0.0.1:{port}/{file}"))
    }

    /// Changes what the server does.
    pub fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.shared.behaviour.lock().unwrap());
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// Cuts every connection once more.
    pub fn forget_cuts(&self) {
        self.shared.cut.lock().unwrap().clear();
    }

    /// Bytes of bodies that were sent.
    pub fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::SeqCst)
    }

    /// Checks a file on the disk; `skip` bytes stand before the body.
    pub fn check(&self, file: u64, version: u64, path: &std::path::Path, skip: u64) {
        use std::os::unix::fs::FileExt;
        let length = self.shared.behaviour.lock().unwrap().length;
        let opened = std::fs::File::open(path).unwrap();
        let mut block = vec![0; BLOCK];
        for number in 0..length.div_ceil(BLOCK as u64) {
            let at = number * BLOCK as u64;
            let some = (length - at).min(BLOCK as u64) as usize;
            opened.read_exact_at(&mut block[..some], skip + at).unwrap();
            let expected = &self.shared.block(file, version, number)[..some];
            assert!(block[..some] == *expected, "{} at {at}", path.display());
        }
    }

    /// Checks a file that holds this body and nothing else.
    pub fn check_whole(&self, file: u64, version: u64, path: &std::path::Path) {
        let length = self.shared.behaviour.lock().unwrap().length;
        assert_eq!(std::fs::metadata(path).unwrap().len(), length);
        self.check(file, version, path, 0);
    }
}

impl Shared {
    fn block(&self, file: u64, version: u64, number: u64) -> &[u8] {
        let mixed = (file * 31 + version)
            .wrapping_mul(0x9e37_79b9)
            .wrapping_add(number.wrapping_mul(40_503));
        let from = (mixed % BLOCK as u64) as usize;
        &self.base[from..from + BLOCK]
    }
}

fn read(stream: &TcpStream) -> Option<Seen> {
    let mut seen = Seen::default();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let first = lines.next()?;
    seen.file = first
        .split(' ')
        .nth(1)?
        .trim_start_matches('/')
        .parse()
        .ok()?;
    seen.headers = lines.take_while(|line| !line.is_empty()).collect();
    let range = seen.header("range");
    seen.from = range.and_then(|range| {
        range
            .strip_prefix("bytes=")?
            .strip_suffix('-')?
            .parse()
            .ok()
    });
    Some(seen)
}

impl Seen {
    /// A header of the request.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Responds to one request and closes; an error is a client that has gone.
fn respond(mut stream: TcpStream, shared: &Shared) -> Option<()> {
    let seen = read(&stream)?;
    let behaviour = shared.behaviour.lock().unwrap().clone();
    shared.seen.lock().unwrap().push(seen.clone());
    let etag = behaviour
        .etag
        .map(|etag| etag.replace("{}", &behaviour.version.to_string()));
    let mut head: Vec<String> = vec!["Connection: close".into(), "Content-Type: video/mp4".into()];
    let modified = behaviour.date.map(|date| {
        head.push(format!("Date: {date}"));
        format!("Thu, 01 Jan 2026 00:00:0{} GMT", behaviour.version)
    });
    head.extend(
        modified
            .iter()
            .map(|modified| format!("Last-Modified: {modified}")),
    );
    let is_same = seen
        .header("if-range")
        .is_some_and(|given| Some(given) == etag.as_deref().or(modified.as_deref()));
    let from = seen
        .from
        .filter(|_| is_same && behaviour.on_range != OnRange::Ignore);
    let (length, version) = (behaviour.length, behaviour.version);
    let tag = match (from, behaviour.on_range) {
        (Some(_), OnRange::WrongTag) => Some("\"other\"".to_owned()),
        (Some(_), OnRange::NoTag) => None,
        _ => etag,
    };
    head.extend(tag.map(|etag| format!("ETag: {etag}")));
    if etag_holds(&seen, &head) {
        return send_head(&mut stream, "304 Not Modified", &head);
    }
    let (mut start, mut end) = (from.unwrap_or(0), length);
    let status = match (from, behaviour.on_range) {
        (Some(_), OnRange::Refuse) => {
            head.push("Content-Length: 0".into());
            return send_head(&mut stream, "416 Range Not Satisfiable", &head);
        }
        (Some(from), on_range) => {
            let mut said = from;
            let mut total = length;
            match on_range {
                OnRange::Coded => head.push("Content-Encoding: gzip".into()),
                OnRange::WrongStart => {
                    said = from / 2;
                    start = said;
                }
                OnRange::WrongTotal => total = length + 1,
                OnRange::Some => end = length.min(from + (1 << 20)),
                _ => {}
            }
            if on_range != OnRange::NoRange {
                head.push(format!("Content-Range: bytes {said}-{}/{total}", end - 1));
            }
            "206 Partial Content"
        }
        (None, _) => "200 OK",
    };
    match behaviour.is_chunked {
        true => head.push("Transfer-Encoding: chunked".into()),
        false => head.push(format!("Content-Length: {}", end - start)),
    }
    send_head(&mut stream, status, &head)?;
    let mut at = start;
    while at < end {
        let now = shared.behaviour.lock().unwrap().clone();
        if now.version != version {
            return None;
        }
        if at >= now.hold_at {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        }
        if now.cut_at.is_some_and(|cut| at >= cut) {
            let mut cut = shared.cut.lock().unwrap();
            if !cut.contains(&seen.file) {
                cut.push(seen.file);
                return None;
            }
        }
        let inside = (at % BLOCK as u64) as usize;
        let block = &shared.block(seen.file, version, at / BLOCK as u64)[inside..];
        let some = block.len().min((end - at) as usize);
        if behaviour.is_chunked {
            stream.write_all(format!("{some:x}\r\n").as_bytes()).ok()?;
        }
        stream.write_all(&block[..some]).ok()?;
        if behaviour.is_chunked {
            stream.write_all(b"\r\n").ok()?;
        }
        at += some as u64;
        shared.sent.fetch_add(some as u64, Ordering::SeqCst);
    }
    if behaviour.is_chunked {
        stream.write_all(b"0\r\n\r\n").ok()?;
    }
    Some(())
}

/// Whether the client has this version already.
fn etag_holds(seen: &Seen, head: &[String]) -> bool {
    let given = seen.header("if-none-match");
    given.is_some_and(|given| head.contains(&format!("ETag: {given}")))
}

fn send_head(stream: &mut TcpStream, status: &str, head: &[String]) -> Option<()> {
    let head = format!("HTTP/1.1 {status}\r\n{}\r\n\r\n", head.join("\r\n"));
    stream.write_all(head.as_bytes()).ok()
}
