//! The terminal that a view of progress is drawn on. The terminal itself prints `^C`, which must not break the view.

use std::io::Result;
use std::sync::atomic::{AtomicBool, Ordering};

use console::Term;
use indicatif::{ProgressDrawTarget, TermLike};

/// Columns that stay free at the end of a line, for `^C`.
const ROOM: usize = 3;

/// The error output. `indicatif` fills each line up to the last column, so that the next text begins a new line. `^C`
/// would then begin a new line too, and the view would be one line further up than `indicatif` knows: its first line
/// would stay on the screen. Lines are therefore not filled here, and each line below the first begins with a line
/// break.
#[derive(Debug)]
struct Screen {
    term: Term,
    /// The next text is the blanks that fill the line.
    fills: AtomicBool,
    /// The next text begins a line.
    is_below: AtomicBool,
}

/// Where bars are drawn.
pub fn target() -> ProgressDrawTarget {
    ProgressDrawTarget::term_like(Box::new(Screen {
        term: Term::buffered_stderr(),
        fills: AtomicBool::new(false),
        is_below: AtomicBool::new(false),
    }))
}

/// The lines of the terminal.
pub fn height() -> usize {
    usize::from(Term::stderr().size().0)
}

/// The text with each line cut to fit the terminal behind `taken` columns.
pub fn fitted(text: &str, taken: usize) -> String {
    let columns = usize::from(Term::stderr().size().1);
    cut(text, columns.saturating_sub(taken + ROOM).max(1))
}

fn cut(text: &str, columns: usize) -> String {
    let lines = text
        .split('\n')
        .map(|line| console::truncate_str(line, columns, "…"));
    lines.collect::<Vec<_>>().join("\n")
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        self.term.size().1
    }

    fn height(&self) -> u16 {
        self.term.size().0
    }

    fn move_cursor_up(&self, lines: usize) -> Result<()> {
        self.term.move_cursor_up(lines)
    }

    fn move_cursor_down(&self, lines: usize) -> Result<()> {
        self.term.move_cursor_down(lines)
    }

    fn move_cursor_right(&self, columns: usize) -> Result<()> {
        self.term.move_cursor_right(columns)
    }

    fn move_cursor_left(&self, columns: usize) -> Result<()> {
        self.term.move_cursor_left(columns)
    }

    fn write_line(&self, line: &str) -> Result<()> {
        self.term.write_line(line)
    }

    /// A line and what fills it come in turn.
    fn write_str(&self, text: &str) -> Result<()> {
        if self.fills.fetch_xor(true, Ordering::Relaxed) {
            self.is_below.store(true, Ordering::Relaxed);
            return Ok(());
        }
        if self.is_below.swap(false, Ordering::Relaxed) {
            self.term.write_str("\n")?;
        }
        self.term.write_str(text)
    }

    fn clear_line(&self) -> Result<()> {
        self.term.clear_line()
    }

    /// A view is whole: the next one begins.
    fn flush(&self) -> Result<()> {
        self.fills.store(false, Ordering::Relaxed);
        self.is_below.store(false, Ordering::Relaxed);
        self.term.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_cut_by_itself() {
        assert_eq!(cut("a b c\nlonger than that\n", 6), "a b c\nlonge…\n");
        assert_eq!(cut("a b c", 1), "…");
    }
}
