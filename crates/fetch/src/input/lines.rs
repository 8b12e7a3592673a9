//! Splits bytes into lines; of a line over the limit only the beginning is kept.

use std::io::{self, Read};

use memchr::memchr;

use super::{EXCERPT, LONGEST};

const BUFFER: usize = 256 << 10;

/// Reads lines one by one into one buffer.
pub(super) struct LineReader<R> {
    reader: R,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    number: u64,
}

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    /// The beginning of one that is longer than the limit.
    TooLong(Vec<u8>),
}

impl<R: Read> LineReader<R> {
    pub(super) fn new(reader: R) -> LineReader<R> {
        LineReader {
            reader,
            buffer: vec![0; BUFFER],
            begin: 0,
            end: 0,
            number: 0,
        }
    }

    /// The next line with its number from 1.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        let mut searched = 0;
        let (from, to) = loop {
            let held = &self.buffer[self.begin..self.end];
            if let Some(at) = memchr(b'\n', &held[searched..]) {
                let from = self.begin;
                self.begin += searched + at + 1;
                break (from, from + searched + at);
            }
            searched = held.len();
            if searched > LONGEST {
                return self.too_long().map(Some);
            }
            if self.fill()? == 0 {
                if searched == 0 {
                    return Ok(None);
                }
                let from = self.begin;
                self.begin = self.end;
                break (from, self.end);
            }
        };
        self.number += 1;
        let line = &self.buffer[from..to];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = match line.len() > LONGEST {
            true => Line::TooLong(line[..EXCERPT].to_vec()),
            false => Line::Whole(line),
        };
        Ok(Some((self.number, line)))
    }

    /// Reads behind what is held; 0 at the end.
    fn fill(&mut self) -> io::Result<usize> {
        if self.begin > 0 {
            self.buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let read = read(&mut self.reader, &mut self.buffer[self.end..])?;
        self.end += read;
        Ok(read)
    }

    /// Drops the rest of the line as it comes.
    fn too_long(&mut self) -> io::Result<(u64, Line<'_>)> {
        let beginning = self.buffer[self.begin..self.begin + EXCERPT].to_vec();
        self.number += 1;
        loop {
            (self.begin, self.end) = (0, 0);
            let read = self.fill()?;
            match memchr(b'\n', &self.buffer[..read]) {
                Some(at) => self.begin = at + 1,
                None if read > 0 => continue,
                None => {}
            }
            return Ok((self.number, Line::TooLong(beginning)));
        }
    }
}

/// Reads, again if a signal was in the way.
pub(super) fn read(reader: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives a few bytes at a time.
    struct Drops<'a>(&'a [u8], usize);

    impl Read for Drops<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn all(reader: impl Read) -> Vec<(u64, Result<Vec<u8>, usize>)> {
        let mut lines = LineReader::new(reader);
        let mut found = Vec::new();
        while let Some((number, line)) = lines.next().unwrap() {
            assert!(lines_fit(&line));
            found.push((
                number,
                match line {
                    Line::Whole(line) => Ok(line.to_vec()),
                    Line::TooLong(beginning) => Err(beginning.len()),
                },
            ));
        }
        assert!(lines.buffer.len() <= 4 * LONGEST, "{}", lines.buffer.len());
        found
    }

    fn lines_fit(line: &Line<'_>) -> bool {
        matches!(line, Line::Whole(line) if line.len() <= LONGEST)
            || matches!(line, Line::TooLong(_))
    }

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_the_next_one_read() {
        for length in [LONGEST - 1, LONGEST, LONGEST + 1, 3 * LONGEST] {
            let mut text = vec![b'a'; length];
            text.extend(b"\nnext\n");
            let found = all(&text[..]);
            assert_eq!(found[1], (2, Ok(b"next".to_vec())), "{length}");
            assert_eq!(found[0].1.is_ok(), length <= LONGEST, "{length}");
        }
        let endless = io::repeat(b'x').take(40 << 20);
        assert_eq!(all(endless), [(1, Err(EXCERPT))]);
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_text(text in "[a\r\n]{0,40}", step in 1_usize..9) {
            let mut expected: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == b'\n').collect();
            if expected.last().is_some_and(|last| last.is_empty()) {
                expected.pop();
            }
            let found = all(Drops(text.as_bytes(), step));
            prop_assert_eq!(found.len(), expected.len());
            for (index, (number, line)) in found.into_iter().enumerate() {
                prop_assert_eq!(number, index as u64 + 1);
                let line_expected = expected[index].strip_suffix(b"\r").unwrap_or(expected[index]);
                prop_assert_eq!(line.unwrap(), line_expected);
            }
        }
    }
}
