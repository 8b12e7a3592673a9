//! Standard output for records.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write, stdout};

use crate::terminal::safe;

/// Standard output for records. A terminal gets them as [`safe`] text, and a file or a program as they are.
pub struct Out<W: Write> {
    out: W,
    is_terminal: bool,
    /// The beginning of a character.
    rest: Vec<u8>,
}

/// Standard output, locked.
pub fn out() -> Out<BufWriter<StdoutLock<'static>>> {
    Out {
        is_terminal: stdout().is_terminal(),
        out: BufWriter::new(stdout().lock()),
        rest: Vec::new(),
    }
}

impl<W: Write> Write for Out<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let text: Vec<u8> = self.rest.drain(..whole).collect();
        self.out
            .write_all(safe(&String::from_utf8_lossy(&text)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_safe_text_and_a_file_gets_what_there_is() {
        let text = "\"tea \u{9b}2J ä\"\n";
        for (is_terminal, expected) in [(true, "\"tea \\u009b2J ä\"\n"), (false, text)] {
            let mut out = Out {
                out: Vec::new(),
                is_terminal,
                rest: Vec::new(),
            };
            for byte in text.as_bytes() {
                out.write_all(&[*byte]).unwrap();
            }
            assert_eq!(String::from_utf8(out.out).unwrap(), expected);
        }
    }
}
