//! A driver's error output: stored in a file up to a length, counted beyond it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ChildStderr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Seen;

/// Most bytes that are stored.
const LONGEST: u64 = 8 << 20;

/// How much of its end is looked at on failure: Ruby writes its error before the stack.
const END: usize = 64 << 10;

/// How long what a driver wrote before its end may take to arrive.
const TO_ARRIVE: Duration = Duration::from_millis(500);

/// The file for the error output of the next process of a client: a later process leaves those of earlier ones alone.
pub fn new_log(folder: &Path, client: &str) -> PathBuf {
    let names = (1..).map(|process| folder.join(format!("{client}-{process}.log")));
    let mut free = names.filter(|path| !path.exists());
    free.next().expect("numbers do not end")
}

/// The error output of one process.
#[derive(Debug)]
pub struct Log {
    /// The file of the log.
    pub path: PathBuf,
    written: Arc<AtomicU64>,
    reader: Option<JoinHandle<()>>,
}

impl Log {
    /// Begins to read, through a pipe: the name of a file would show a driver who measures.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn begin(path: &Path, stderr: Option<ChildStderr>) -> io::Result<Log> {
        let file = File::create(path)?;
        let written = Arc::new(AtomicU64::new(0));
        let counter = written.clone();
        let read = |stderr| {
            let thread = std::thread::Builder::new();
            thread.spawn(move || keep(stderr, file, &counter))
        };
        let reader = stderr.map(read).transpose()?;
        Ok(Log {
            path: path.to_path_buf(),
            written,
            reader,
        })
    }

    /// Output that was not stored.
    pub fn floods(&self) -> Option<Seen> {
        let written = self.written.load(Ordering::Relaxed);
        let mib = |bytes: u64| bytes >> 20;
        (written > LONGEST).then(|| Seen::Flooded {
            written_mib: mib(written),
            kept_mib: mib(LONGEST),
        })
    }

    /// Its end. If the process no longer `lives`, waits a moment for the rest of its output.
    pub fn last_words(&self, lives: impl Fn() -> bool) -> String {
        let whole = || self.reader.as_ref().is_none_or(JoinHandle::is_finished);
        let deadline = Instant::now() + TO_ARRIVE;
        while !lives() && !whole() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        let text = std::fs::read(&self.path).unwrap_or_default();
        String::from_utf8_lossy(&text[text.len().saturating_sub(END)..]).into_owned()
    }

    /// Ends with its process; an empty file is of no use.
    pub fn end(&mut self) {
        if let Some(reader) = self.reader.take().filter(JoinHandle::is_finished) {
            let _ = reader.join();
        }
        if std::fs::metadata(&self.path).is_ok_and(|file| file.len() == 0) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Reads to the end. A full disk loses the log and nothing else.
fn keep(mut from: impl Read, mut file: impl io::Write, written: &AtomicU64) {
    let mut piece = vec![0; 64 << 10];
    loop {
        let count = match from.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let before = written.fetch_add(count as u64, Ordering::Relaxed);
        let kept = LONGEST.saturating_sub(before).min(count as u64) as usize;
        let _ = file.write_all(&piece[..kept]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_counted_and_not_stored() {
        let (written, mut file) = (AtomicU64::new(0), Vec::new());
        keep(io::repeat(b'x').take(LONGEST + 70_000), &mut file, &written);
        let length = |file: &[u8]| file.len() as u64;
        assert_eq!(
            (written.into_inner(), length(&file)),
            (LONGEST + 70_000, LONGEST)
        );
    }
}
