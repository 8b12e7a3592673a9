//! Archives that a crash tore → whole ones: what is not complete at the end is cut off.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::bufread::GzDecoder;

/// A block of tar.
const BLOCK: u64 = 512;

/// Makes a `.tar` or `.warc.gz` whole; its length afterwards.
pub fn mend(path: &Path) -> io::Result<u64> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let length = match path.extension().is_some_and(|ending| ending == "tar") {
        true => mend_tar(&mut file)?,
        false => {
            let whole = whole_members(&file)?;
            file.set_len(whole)?;
            whole
        }
    };
    file.sync_all()?;
    Ok(length)
}

fn mend_tar(file: &mut File) -> io::Result<u64> {
    let whole = whole_entries(file)?;
    file.set_len(whole)?;
    file.seek(SeekFrom::Start(whole))?;
    file.write_all(&[0; 2 * BLOCK as usize])?;
    Ok(whole + 2 * BLOCK)
}

/// The end of the last complete entry.
fn whole_entries(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let mut whole = 0;
    let mut block = [0; BLOCK as usize];
    while whole + BLOCK <= length {
        file.seek(SeekFrom::Start(whole))?;
        file.read_exact(&mut block)?;
        let header = tar::Header::from_byte_slice(&block);
        let Some(size) = entry_size(header, &block) else {
            break;
        };
        let end = size
            .div_ceil(BLOCK)
            .checked_mul(BLOCK)
            .and_then(|padded| whole.checked_add(BLOCK + padded));
        match end {
            Some(end) if end <= length => whole = end,
            _ => break,
        }
    }
    Ok(whole)
}

/// The size that a header says, if it is one: the sum of its bytes is right.
fn entry_size(header: &tar::Header, block: &[u8; BLOCK as usize]) -> Option<u64> {
    // The sum is counted as if there were spaces in its own place.
    let outside = block
        .iter()
        .enumerate()
        .filter(|(index, _)| !(148..156).contains(index));
    let sum = outside.map(|(_, byte)| u32::from(*byte)).sum::<u32>() + 8 * u32::from(b' ');
    (header.cksum().ok()? == sum).then(|| header.entry_size().ok())?
}

/// The end of the last complete member of gzip.
fn whole_members(file: &File) -> io::Result<u64> {
    let mut reader = BufReader::with_capacity(64 << 10, Counted { file, read: 0 });
    let mut whole = 0;
    loop {
        if reader.fill_buf()?.is_empty() {
            return Ok(whole);
        }
        let mut member = GzDecoder::new(reader);
        match io::copy(&mut member, &mut io::sink()) {
            Ok(_) => {}
            Err(error) if is_torn(&error) => return Ok(whole),
            Err(error) => return Err(error),
        }
        reader = member.into_inner();
        whole = reader.get_ref().read - reader.buffer().len() as u64;
    }
}

fn is_torn(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

struct Counted<'a> {
    file: &'a File,
    read: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.read += count as u64;
        Ok(count)
    }
}
