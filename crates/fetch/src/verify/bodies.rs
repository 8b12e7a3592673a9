//! Whether bodies are as their records say, by length and digest, wherever they are.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::bufread::GzDecoder;

use crate::record::{Body, Record};

/// The longest head in a WARC file, in bytes.
const LONGEST_HEAD: u64 = 16 << 20;

/// What a record says of its body.
struct Said {
    number: u64,
    bytes: Option<u64>,
    hash: Option<String>,
}

/// A body as it is.
struct Measured {
    bytes: u64,
    hash: String,
}

/// The bodies of a part.
pub(super) struct Bodies<'a> {
    root: &'a Path,
    whole: u64,
    bad: Vec<(u64, String)>,
    /// Those in tar files, by archive and by name: each archive is read once.
    in_tar: BTreeMap<String, HashMap<String, Said>>,
}

impl<'a> Bodies<'a> {
    /// Of the job in this folder.
    pub(super) fn new(root: &'a Path) -> Bodies<'a> {
        Bodies {
            root,
            whole: 0,
            bad: Vec::new(),
            in_tar: BTreeMap::new(),
        }
    }

    /// Looks at the body of a record, or remembers it.
    pub(super) fn note(&mut self, record: Record) {
        let said = Said {
            number: record.n,
            bytes: record.bytes,
            hash: record.hash,
        };
        match record.body {
            None | Some(Body::Text { cut: true, .. } | Body::Base64 { cut: true, .. }) => {}
            Some(Body::Text { text, .. }) => self.judge(&said, "it", measure(text.as_bytes())),
            Some(Body::Base64 { base64, .. }) => {
                let bytes = BASE64_STANDARD.decode(base64).map_err(io::Error::other);
                self.judge(&said, "it", bytes.and_then(|bytes| measure(&bytes[..])));
            }
            Some(Body::File { file }) => {
                let found = File::open(self.root.join(&file)).and_then(measure);
                self.judge(&said, &file, found);
            }
            Some(Body::Warc { warc, offset }) => {
                let found = in_warc(&self.root.join(&warc), offset);
                self.judge(&said, &warc, found);
            }
            Some(Body::Tar { tar, name }) => {
                self.in_tar.entry(tar).or_default().insert(name, said);
            }
        }
    }

    fn judge(&mut self, said: &Said, place: &str, found: io::Result<Measured>) {
        let differs = |found: &Measured| {
            said.bytes.is_some_and(|bytes| bytes != found.bytes)
                || said.hash.as_ref().is_some_and(|hash| *hash != found.hash)
        };
        match found {
            Ok(found) if differs(&found) => {
                let why = format!("{place} differs from what was received");
                self.bad.push((said.number, why));
            }
            Ok(_) => self.whole += 1,
            Err(error) => {
                let why = format!("{place} cannot be read ({error})");
                self.bad.push((said.number, why));
            }
        }
    }

    /// How many are whole, and the numbers of the inputs whose bodies are not, each with the reason.
    pub(super) fn finish(mut self) -> (u64, Vec<(u64, String)>) {
        for (archive, mut said) in std::mem::take(&mut self.in_tar) {
            let path: PathBuf = self.root.join(&archive);
            let read = each_in_tar(&path, &mut |name, found| {
                if let Some(said) = said.remove(name) {
                    self.judge(&said, &archive, found);
                }
            });
            let why = match read {
                Ok(()) => "it is not in the archive".to_owned(),
                Err(error) => error.to_string(),
            };
            for said in said.into_values() {
                self.judge(&said, &archive, Err(io::Error::other(why.clone())));
            }
        }
        (self.whole, self.bad)
    }
}

fn measure(mut from: impl Read) -> io::Result<Measured> {
    let mut hasher = blake3::Hasher::new();
    let bytes = io::copy(&mut from, &mut hasher)?;
    Ok(Measured {
        bytes,
        hash: format!("blake3:{}", hasher.finalize().to_hex()),
    })
}

/// The body of the response whose record begins there.
fn in_warc(path: &Path, offset: u64) -> io::Result<Measured> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let file = BufReader::new(file);
    match path.extension().is_some_and(|ending| ending == "gz") {
        true => block(BufReader::new(GzDecoder::new(file))),
        false => block(file),
    }
}

/// The body behind the heads of the record and of the response.
fn block(mut from: impl BufRead) -> io::Result<Measured> {
    let head = head(&mut from)?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse().ok())?
    });
    let length = length.ok_or_else(|| io::Error::other("no record begins there"))?;
    let mut block = from.take(length);
    self::head(&mut block)?;
    measure(block)
}

/// The lines up to an empty one.
fn head(from: &mut impl BufRead) -> io::Result<String> {
    let mut from = from.take(LONGEST_HEAD);
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        if from.read_until(b'\n', &mut bytes)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if bytes[before..].trim_ascii().is_empty() {
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}

fn each_in_tar(path: &Path, visit: &mut dyn FnMut(&str, io::Result<Measured>)) -> io::Result<()> {
    let mut archive = tar::Archive::new(BufReader::new(File::open(path)?));
    for entry in archive.entries()? {
        let entry = entry?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        visit(&name, measure(entry));
    }
    Ok(())
}
