//! WARC/1.1 files (ISO 28500:2017), a member of gzip for each record.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hecaton::hexadecimal;
use ring::digest::{Context, Digest, SHA256};

use super::gzip::Members;
use super::paths::{create, shown, sync_folder};
use super::payloads::{Payloads, Stored};
use super::response::StoredResponse;
use crate::record::Body;

/// How long a file gets, in bytes, before the next one is begun.
const LONGEST: u64 = 1 << 30;

/// Memory that stays for the next member, in bytes.
const MEMBER: usize = 1 << 20;

const CONFORMS_TO: &str =
    "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/";

/// The profile of a revisit that ended with 304.
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// The profile of a revisit whose payload another record has (WARC 1.1 §6.7.2).
const IDENTICAL_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// Writes `FOLDER/PREFIX-00000.warc.gz` and so on.
pub struct Warc {
    root: PathBuf,
    folder: String,
    prefix: String,
    longest: u64,
    next: u32,
    open: Option<OpenFile>,
    members: Members,
    member: Vec<u8>,
    payloads: Payloads,
}

struct OpenFile {
    file: File,
    name: String,
    length: u64,
}

impl Warc {
    /// Files below `folder` of the job's folder `root`, whose names begin with a prefix that nobody else uses.
    pub fn new(root: &Path, folder: &str, prefix: &str) -> io::Result<Warc> {
        fs::create_dir_all(root.join(folder))?;
        Ok(Warc {
            root: root.to_owned(),
            folder: folder.to_owned(),
            prefix: prefix.to_owned(),
            longest: LONGEST,
            next: 0,
            open: None,
            members: Members::new(),
            member: Vec::new(),
            payloads: Payloads::default(),
        })
    }

    /// Another length at which the next file is begun.
    #[must_use]
    pub fn longest(mut self, bytes: u64) -> Warc {
        self.longest = bytes;
        self
    }

    /// Says that a version which is stored already still holds (WARC 1.1 §6.7): `response` is a 304.
    pub(super) fn revisit(&mut self, response: &StoredResponse<'_>) -> io::Result<()> {
        self.prepare(response.at)?;
        let http = http_head(response, 0);
        self.write_revisit(
            response,
            &http,
            &format!("WARC-Profile: {NOT_MODIFIED}\r\n"),
        )
    }

    /// Says that a response has the payload of a record that is stored already. Its head is stored, and the body is
    /// where that record is.
    fn refer(
        &mut self,
        response: &StoredResponse<'_>,
        payload: &[u8],
        stored: Stored,
    ) -> io::Result<Body> {
        let http = http_head(response, response.body.len() as u64);
        let (digest, Stored { place, url, at }) = (hexadecimal(payload), stored);
        let fields = format!(
            "WARC-Profile: {IDENTICAL_PAYLOAD}\r\nWARC-Payload-Digest: sha256:{digest}\r\nWARC-Refers-To-Target-URI: {url}\r\nWARC-Refers-To-Date: {at}\r\nWARC-Truncated: length\r\n"
        );
        self.write_revisit(response, &http, &fields)?;
        let (warc, offset) = place;
        Ok(Body::Warc { warc, offset })
    }

    fn write_revisit(
        &mut self,
        response: &StoredResponse<'_>,
        http: &[u8],
        fields: &str,
    ) -> io::Result<()> {
        let mut head = beginning("revisit", response) + fields;
        let block = digest(&[http]);
        head += &format!(
            "WARC-Block-Digest: sha256:{}\r\n",
            hexadecimal(block.as_ref())
        );
        head += &content(http.len() as u64);
        self.write(&[head.as_bytes(), http, b"\r\n\r\n"])?;
        Ok(())
    }

    /// Makes a file ready that is not too long.
    fn prepare(&mut self, at: &str) -> io::Result<()> {
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.length >= self.longest)
        {
            self.sync()?;
            self.open = None;
        }
        if self.open.is_none() {
            self.begin(at)?;
        }
        Ok(())
    }

    pub(super) fn store(&mut self, response: &StoredResponse<'_>) -> io::Result<Body> {
        self.prepare(response.at)?;
        let payload = digest(&[response.body]);
        let length = response.body.len();
        if let Some(stored) = self.payloads.find(payload.as_ref(), length) {
            return self.refer(response, payload.as_ref(), stored);
        }
        let http = http_head(response, length as u64);
        let block = digest(&[&http, response.body]);
        let length = (http.len() + response.body.len()) as u64;
        let head = response_head(response, payload.as_ref(), Some(block.as_ref()), length);
        let (name, offset) = self.write(&[head.as_bytes(), &http, response.body, b"\r\n\r\n"])?;
        let stored = Stored {
            place: (name.clone(), offset),
            url: target(response),
            at: response.at.to_owned(),
        };
        self.payloads
            .note(payload.as_ref(), response.body.len(), stored);
        Ok(Body::Warc { warc: name, offset })
    }

    /// A new file, with the record that says who wrote it.
    fn begin(&mut self, at: &str) -> io::Result<()> {
        let name = shown(
            &self.folder,
            &format!("{}-{:05}.warc.gz", self.prefix, self.next),
        );
        self.next += 1;
        let file = create(&self.root.join(&name))?;
        self.open = Some(OpenFile {
            file,
            name,
            length: 0,
        });
        let info = info_record(at, &info_fields(), 1);
        self.write(&[&info])?;
        Ok(())
    }

    /// Appends a member; the name of its file and where it begins.
    fn write(&mut self, pieces: &[&[u8]]) -> io::Result<(String, u64)> {
        self.member.clear();
        self.members.append(pieces, &mut self.member)?;
        let Some(open) = &mut self.open else {
            return Err(io::Error::other("no WARC file is open"));
        };
        let offset = open.length;
        open.file.write_all(&self.member)?;
        open.length += self.member.len() as u64;
        self.member.clear();
        self.member.shrink_to(MEMBER);
        Ok((open.name.clone(), offset))
    }

    pub(super) fn archive(&self) -> Option<(String, u64)> {
        self.open
            .as_ref()
            .map(|open| (open.name.clone(), open.length))
    }

    pub(super) fn sync(&mut self) -> io::Result<()> {
        if let Some(open) = &self.open {
            open.file.sync_data()?;
            sync_folder(&self.root.join(&self.folder))?;
        }
        Ok(())
    }
}

/// The fields of the first record, which describes its file.
fn info_fields() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "software: hecaton {version}\r\nformat: WARC File Format 1.1\r\nconformsTo: {CONFORMS_TO}\r\n"
    )
}

/// The first record, with these fields, and so many spaces before their length.
fn info_record(at: &str, fields: &str, spaces: usize) -> Vec<u8> {
    let mut head = common("warcinfo", at);
    head += &format!(
        "Content-Type: application/warc-fields\r\nContent-Length:{:spaces$}{}\r\n\r\n{fields}\r\n\r\n",
        "",
        fields.len()
    );
    head.into_bytes()
}

/// The first record of a file, made to be exactly so long; none if it cannot be that short.
pub(super) fn info(at: &str, length: usize) -> Option<Vec<u8>> {
    let fields = info_fields();
    let empty = info_record(at, &format!("{fields}padding: \r\n"), 1);
    let missing = length.checked_sub(empty.len())?;
    // The length of the padding may take more digits, or leave one too many.
    for digits in 0..4 {
        for spaces in 1..=2 {
            let fill = " ".repeat(missing.saturating_sub(digits));
            let made = info_record(at, &format!("{fields}padding: {fill}\r\n"), spaces);
            if made.len() == length {
                return Some(made);
            }
        }
    }
    None
}

fn common(kind: &str, at: &str) -> String {
    let id = uuid::Uuid::new_v4();
    format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{id}>\r\nWARC-Date: {at}\r\n"
    )
}

/// The URL of a response, without what no field of a head may have.
fn target(response: &StoredResponse<'_>) -> String {
    let url = response.url.chars();
    url.filter(|c| !c.is_control() && *c != ' ').collect()
}

/// The beginning of a record about a response.
fn beginning(kind: &str, response: &StoredResponse<'_>) -> String {
    let url = target(response);
    let mut head = common(kind, response.at);
    head += &format!("WARC-Target-URI: {url}\r\n");
    if let Some(ip) = response.ip {
        head += &format!("WARC-IP-Address: {ip}\r\n");
    }
    head
}

/// The end of the head of a record about a response, whose block has this length.
fn content(length: u64) -> String {
    format!("Content-Type: application/http;msgtype=response\r\nContent-Length: {length}\r\n\r\n")
}

/// The head of a record whose block has this length, with the digests of its body and of the block.
pub(super) fn response_head(
    response: &StoredResponse<'_>,
    payload: &[u8],
    block: Option<&[u8]>,
    length: u64,
) -> String {
    let mut head = beginning("response", response);
    head += &format!("WARC-Payload-Digest: sha256:{}\r\n", hexadecimal(payload));
    if let Some(block) = block {
        head += &format!("WARC-Block-Digest: sha256:{}\r\n", hexadecimal(block));
    }
    head + &content(length)
}

fn digest(pieces: &[&[u8]]) -> Digest {
    let mut context = Context::new(&SHA256);
    pieces.iter().for_each(|piece| context.update(piece));
    context.finish()
}

/// The head of the response to a body of this length. Headers that describe the transferred body instead of the stored
/// one get another name.
pub(super) fn http_head(response: &StoredResponse<'_>, length: u64) -> Vec<u8> {
    let line = format!(
        "HTTP/1.1 {} {}\r\n",
        response.status,
        response.reason.replace(char::is_control, " ")
    );
    let mut head = line.into_bytes();
    let stored = length.to_string();
    let mut says_length = false;
    for (name, value) in response.headers {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let bad = |byte: &u8| matches!(byte, b'\r' | b'\n' | 0);
        if name.bytes().any(|byte| bad(&byte) || byte == b':') || value.iter().any(bad) {
            continue;
        }
        let right_length = is("content-length") && *value == stored.as_bytes();
        says_length |= right_length;
        let gone = is("transfer-encoding")
            || (is("content-encoding") && response.decoded)
            || (is("content-length") && !right_length);
        if gone {
            head.extend_from_slice(b"X-Archive-Orig-");
        }
        for piece in [name.as_bytes(), b": ", value, b"\r\n"] {
            head.extend_from_slice(piece);
        }
    }
    if !says_length {
        head.extend_from_slice(format!("Content-Length: {stored}\r\n").as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}
