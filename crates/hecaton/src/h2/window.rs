//! How much of a body may come before its reader has taken it: one window for all bodies of a connection, which grows
//! with what readers take.

use std::sync::atomic::{AtomicU32, Ordering};

/// The initial window: the most that is held of a body whose reader takes nothing, until fast readers widen the window.
pub(super) const FIRST: u32 = 1 << 20;

/// The largest window. It allows 160 MB/s if the round trip takes 100 ms.
///
/// The window doubles each time that one reader has taken a whole window of one body, so only fast readers widen it. It
/// never shrinks. `h2` has one window for all streams, set by SETTINGS, and can lose the last WINDOW_UPDATE of a body
/// while that window shrinks; the body would stand still. So this much may be held for a slow reader, if fast readers
/// on its connection have widened the window.
const MOST: u32 = 16 << 20;

/// Smaller pieces do not count: `h2` ends a connection for many of them that wait to be read, and a wider window would
/// let more of them come.
const SMALL: usize = 256;

/// The current window of a connection.
pub(super) struct Window(AtomicU32);

/// How many bytes one reader has taken since its window last grew.
#[derive(Default)]
pub(crate) struct Taken(usize);

impl Default for Window {
    fn default() -> Window {
        Window(AtomicU32::new(FIRST))
    }
}

impl Window {
    pub fn size(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts a piece that a reader has taken. True if the window has grown.
    pub fn grows(&self, taken: &mut Taken, piece: usize) -> bool {
        if piece < SMALL {
            return false;
        }
        taken.0 = taken.0.saturating_add(piece);
        let size = self.size();
        if size >= MOST || taken.0 < size as usize {
            return false;
        }
        taken.0 = 0;
        // Another reader may have been first.
        let doubled = self
            .0
            .compare_exchange(size, size * 2, Ordering::Relaxed, Ordering::Relaxed);
        doubled.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u32 = 1 << 20;

    #[test]
    fn the_window_doubles_with_each_whole_window_of_one_reader_up_to_a_limit() {
        let (window, mut taken) = (Window::default(), Taken::default());
        let mut sizes = Vec::new();
        for piece in 0..100 * 64 {
            if window.grows(&mut taken, 1 << 14) {
                sizes.push(((piece + 1) >> 6, window.size() / MIB));
            }
        }
        assert_eq!(sizes, [(1, 2), (3, 4), (7, 8), (15, 16)]);
    }

    #[test]
    fn many_slow_readers_do_not_widen_the_window() {
        let window = Window::default();
        for _ in 0..100 {
            assert!(!window.grows(&mut Taken::default(), FIRST as usize - 1));
        }
        assert_eq!(window.size(), FIRST);
    }

    #[test]
    fn small_pieces_do_not_count() {
        let (window, mut taken) = (Window::default(), Taken::default());
        for _ in 0..100_000 {
            assert!(!window.grows(&mut taken, SMALL - 1));
        }
        assert!(window.grows(&mut taken, FIRST as usize));
    }
}
