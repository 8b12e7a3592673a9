//! Where a list comes from: a file or a stream, decompressed, and in which form.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;

use super::lines::read;
use super::objects::Objects;
use super::plain::Plain;
use super::table::Table;
use super::{InputError, Rows};

/// How a list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A URL a line.
    Lines,
    /// Rows below a line of names.
    Csv,
    /// Rows with tabs, below a line of names.
    Tsv,
    /// A JSON object a line.
    JsonLines,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// The form of this name: `lines`, `csv`, `tsv`, `jsonl` or `parquet`.
    pub fn named(name: &str) -> Result<Format, InputError> {
        match name {
            "lines" => Ok(Format::Lines),
            "csv" => Ok(Format::Csv),
            "tsv" => Ok(Format::Tsv),
            "jsonl" => Ok(Format::JsonLines),
            "parquet" => Ok(Format::Parquet),
            other => Err(InputError(format!(
                "{other:?} is not a format of input: use lines, csv, tsv, jsonl or parquet"
            ))),
        }
    }

    /// The format that the name of a file shows.
    fn of(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let compressed = [".gz", ".zst", ".zstd"];
        let name = compressed
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "csv" => Some(Format::Csv),
            "tsv" => Some(Format::Tsv),
            "jsonl" | "ndjson" | "json" => Some(Format::JsonLines),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }
}

/// Where a list comes from.
pub enum Source {
    /// A file.
    Path(PathBuf),
    /// Bytes, and what they are called in messages.
    Stream(String, Box<dyn Read + Send>),
    /// Bytes, and the URL that they come from.
    Remote(String, Box<dyn Read + Send>),
}

impl Source {
    /// The file of this name, or standard input for `-`.
    pub fn named(name: &str) -> Source {
        match name {
            "-" => Source::Stream("standard input".to_owned(), Box::new(io::stdin())),
            name => Source::Path(name.into()),
        }
    }

    /// Its name and its rows.
    pub(super) fn rows(self, form: Option<Format>) -> Result<(String, Box<dyn Rows>), InputError> {
        let name = match &self {
            Source::Path(path) => path.display().to_string(),
            Source::Stream(name, _) | Source::Remote(name, _) => name.clone(),
        };
        match self.opened(form) {
            Ok(rows) => Ok((name, rows)),
            Err(error) => Err(InputError(format!("{name}: {}", sentence(&error)))),
        }
    }

    fn opened(self, form: Option<Format>) -> io::Result<Box<dyn Rows>> {
        let named = match &self {
            Source::Path(path) => Format::of(path),
            Source::Stream(..) => None,
            Source::Remote(url, _) => {
                Format::of(Path::new(url.split(['?', '#']).next().unwrap_or(url)))
            }
        };
        let (path, reader): (_, Box<dyn Read + Send>) = match self {
            Source::Path(path) => {
                let file = File::open(&path)?;
                let about = file.metadata()?;
                if about.is_dir() {
                    return Err(wrong("is a folder: name the files in it"));
                }
                (about.is_file().then_some(path), Box::new(file))
            }
            Source::Stream(_, reader) | Source::Remote(_, reader) => (None, reader),
        };
        let (first, reader) = peek(reader, |first| first.len() >= LONGEST_MAGIC)?;
        if first.starts_with(b"PAR1")
            || form == Some(Format::Parquet)
            || (form.is_none() && named == Some(Format::Parquet))
        {
            return columnar(path.as_deref());
        }
        let (first, reader) = unpacked(&first, reader)?;
        let (first, reader) = match first.starts_with(GZIP) || first.starts_with(ZSTD) {
            true => unpacked(&first, reader)?,
            false => (first, reader),
        };
        rows(form.or(named), &first, reader)
    }
}

fn rows(
    form: Option<Format>,
    first: &[u8],
    reader: Box<dyn Read + Send>,
) -> io::Result<Box<dyn Rows>> {
    let opening = first.trim_ascii_start().first();
    Ok(match form {
        Some(Format::Csv) => Box::new(Table::new(reader, None)?),
        Some(Format::Tsv) => Box::new(Table::new(reader, Some(b'\t'))?),
        Some(Format::JsonLines) if opening == Some(&b'[') => {
            let why = "is one JSON array: write an object a line, as `jq -c '.[]'` does";
            return Err(wrong(why));
        }
        Some(Format::JsonLines) => Box::new(Objects::new(reader)?),
        None if opening == Some(&b'{') => Box::new(Objects::new(reader)?),
        None if is_table(first) => {
            let why = "looks like a table: --format csv or tsv reads its columns, and --format lines a URL a line";
            return Err(wrong(why));
        }
        None | Some(Format::Lines | Format::Parquet) => Box::new(Plain::new(reader)),
    })
}

/// Whether the first line has several names of columns, and no URL.
fn is_table(first: &[u8]) -> bool {
    let line = first.split(|byte| *byte == b'\n').next().unwrap_or(first);
    let has = |any: &[u8]| memchr::memmem::find(line, any).is_some();
    !has(b"://") && !line.starts_with(b"#") && [b",", b";", b"\t"].into_iter().any(|it| has(it))
}

#[cfg(feature = "parquet")]
fn columnar(path: Option<&Path>) -> io::Result<Box<dyn Rows>> {
    let path = path.ok_or_else(|| wrong("Parquet cannot be read from a stream: name a file"))?;
    Ok(Box::new(super::parquet::ParquetRows::open(path)?))
}

#[cfg(not(feature = "parquet"))]
fn columnar(_: Option<&Path>) -> io::Result<Box<dyn Rows>> {
    let why = "is Parquet, which this build cannot read: run `bin/setup fetch`, or build with `--features parquet`";
    Err(wrong(why))
}

/// The first bytes, until there are enough of them, and all of them to be read.
fn peek(
    mut reader: Box<dyn Read + Send>,
    is_enough: fn(&[u8]) -> bool,
) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut first = Vec::new();
    let mut more = [0; 64];
    while !is_enough(&first) {
        match read(&mut reader, &mut more)? {
            0 => break,
            count => first.extend_from_slice(&more[..count]),
        }
    }
    Ok((first.clone(), Box::new(Cursor::new(first).chain(reader))))
}

/// The beginnings of compressed files.
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// Bytes of the longest beginning of a file that shows what it is.
const LONGEST_MAGIC: usize = 6;

/// Bytes of a first line that are looked at.
const BEGINNING: usize = 1024;

/// Whether these bytes show what a list is. No more are waited for, because a pipe may bring them later.
fn shows_its_format(first: &[u8]) -> bool {
    let text = first.trim_ascii_start();
    let has_line = memchr::memchr(b'\n', text).is_some();
    first.len() >= BEGINNING || has_line || first.starts_with(GZIP) || first.starts_with(ZSTD)
}

/// The decompressed list without its mark, and its beginning.
fn unpacked(
    first: &[u8],
    reader: Box<dyn Read + Send>,
) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    peek(
        without_mark(decompressed(first, reader)?)?,
        shows_its_format,
    )
}

fn decompressed(first: &[u8], reader: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let other = [
        (&b"BZh"[..], "bzip2", "bzcat"),
        (b"\xfd7zXZ\0", "xz", "xzcat"),
        (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc"),
        (b"PK\x03\x04", "zip", "unzip -p"),
    ];
    match first {
        first if first.starts_with(GZIP) => {
            let reader = BufReader::with_capacity(64 << 10, reader);
            Ok(Box::new(Damaged(Gzip(Some(GzDecoder::new(reader))))))
        }
        first if first.starts_with(ZSTD) => Ok(Box::new(Damaged(zstd::Decoder::new(reader)?))),
        first => match other.iter().find(|(magic, ..)| first.starts_with(magic)) {
            Some((_, name, command)) => Err(wrong(&format!(
                "is compressed with {name}: use `{command} FILE | hecaton fetch -`"
            ))),
            None => Ok(reader),
        },
    }
}

/// All members of a gzip file. Other bytes behind the last member are passed over, as gzip does.
struct Gzip<R: BufRead>(Option<GzDecoder<R>>);

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let count = member.read(out)?;
            if count > 0 || out.is_empty() {
                return Ok(count);
            }
            let mut rest = self.0.take().map(GzDecoder::into_inner);
            if let Some(rest) = &mut rest {
                if !rest.fill_buf()?.starts_with(&[0x1f]) {
                    return Ok(0);
                }
            }
            self.0 = rest.map(GzDecoder::new);
        }
        Ok(0)
    }
}

/// Says of bytes that a decoder refuses what that means.
struct Damaged<R>(R);

impl<R: Read> Read for Damaged<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out).map_err(|error| match error.raw_os_error() {
            Some(_) => error,
            None => wrong(&format!(
                "cannot be decompressed ({error}): it is cut off or damaged, so get the list again"
            )),
        })
    }
}

/// Without the mark that some editors put before UTF-8.
fn without_mark(reader: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let (first, mut reader) = peek(reader, |first| first.len() >= 3)?;
    match first[..] {
        [0xef, 0xbb, 0xbf, ..] => {
            reader.read_exact(&mut [0; 3])?;
            Ok(reader)
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(wrong(
            "is in UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`",
        )),
        _ => Ok(reader),
    }
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The system's words, without its number.
fn sentence(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "may not be read: permission denied".to_owned(),
        _ => error.to_string(),
    }
}
