//! The lines of a driver's output, each with the moment at which it was there.

use std::io::{self, BufRead, BufReader, Read};
use std::process::ChildStdout;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

/// Longest line that a driver may write; an honest one stays far below.
pub const LONGEST_LINE: usize = 1 << 20;

/// Lines that may wait to be read; whoever writes more waits.
const WAITING: usize = 4;

/// A line of a driver, and when its end arrived.
#[derive(Debug)]
pub struct Line {
    /// The moment at which it was whole, or too long.
    pub at: Instant,
    /// Without its end.
    pub text: String,
}

/// Reads lines until the driver closes its output or writes one that is too long.
///
/// # Errors
/// When the system allows no more threads.
pub fn read(stdout: Option<ChildStdout>) -> io::Result<Receiver<Line>> {
    let (sender, lines) = sync_channel(WAITING);
    if let Some(stdout) = stdout {
        std::thread::Builder::new().spawn(move || forward(stdout, &sender))?;
    }
    Ok(lines)
}

fn forward(stdout: ChildStdout, lines: &SyncSender<Line>) {
    let mut reader = BufReader::with_capacity(64 << 10, stdout);
    loop {
        let mut bytes = Vec::new();
        let read = reader
            .by_ref()
            .take(LONGEST_LINE as u64)
            .read_until(b'\n', &mut bytes);
        let at = Instant::now();
        if !matches!(read, Ok(count) if count > 0) {
            return;
        }
        let endless = bytes.last() != Some(&b'\n');
        let text = String::from_utf8_lossy(&bytes).trim_end().to_string();
        if lines.send(Line { at, text }).is_err() || endless {
            return;
        }
    }
}
