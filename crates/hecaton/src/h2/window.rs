//! How much of a body may come before its reader has taken it, and when more may come (WINDOW_UPDATE): one window for
//! all bodies of a connection. It grows with what readers take, and shrinks when the streams of the client become many.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use h2::FlowControl;

/// The window for all bodies of a connection together. It is the largest there is (RFC 9113 §6.9.1), because with a
/// smaller one slow readers would hold up fast ones.
pub(super) const CONNECTION: u32 = (1 << 31) - 1;

/// The initial window: the most that is held of a body whose reader takes nothing, while there are few streams and until
/// fast readers widen the window.
const FIRST: u32 = 1 << 20;

/// The largest window. It allows 160 MB/s if the round trip takes 100 ms.
///
/// The window doubles each time that one reader has taken a whole window of one body, so only fast readers widen it.
const MOST: u32 = 16 << 20;

/// The smallest window, about that of a peer without settings (RFC 9113 §6.9.2). Beyond 1,024 streams, each may hold
/// this much.
const LEAST: u32 = 64 << 10;

/// The windows of all streams of a client together, so what readers that have stopped make it hold. As much as one body
/// that is held whole may have by default.
const ALL: usize = 64 << 20;

/// Smaller pieces do not count: `h2` ends a connection for many of them that wait to be read, and a wider window would
/// let more of them come.
const SMALL: usize = 256;

/// The streams of a client on all of its connections, and what their windows may be together.
pub(crate) struct Streams {
    count: AtomicUsize,
    most: usize,
}

/// The current window of a connection.
pub(super) struct Window {
    size: AtomicU32,
    streams: Arc<Streams>,
}

/// What one reader has taken of its stream's window.
#[derive(Default)]
pub(crate) struct Taken {
    /// How many bytes of the window the last piece used. The window limits the memory of a body, so it opens again only
    /// when the reader calls for the next piece.
    last: usize,
    /// How many bytes the reader took since the window last grew.
    since: usize,
    /// How often windows had shrunk when this one was looked at.
    shrunk: u32,
}

impl Taken {
    /// The reader gets a piece of this length.
    pub fn take(&mut self, piece: usize) {
        self.last = piece;
    }

    /// The reader is done with its last piece, whose length is returned. `h2` sends a WINDOW_UPDATE once enough has
    /// been released.
    pub fn release(&mut self, flow: &mut FlowControl) -> usize {
        let piece = std::mem::take(&mut self.last);
        // This cannot fail: no more is released than was received.
        let _ = flow.release_capacity(piece);
        piece
    }

    /// Has `h2` look whether a WINDOW_UPDATE is due, if windows have shrunk since it looked last.
    pub fn look(&mut self, shrunk: u32, flow: &mut FlowControl) {
        if self.has_missed(shrunk) {
            self.shrunk = shrunk;
            // This cannot fail.
            let _ = flow.release_capacity(0);
        }
    }

    /// Whether windows, which have shrunk so often, have done so since the last look.
    pub fn has_missed(&self, shrunk: u32) -> bool {
        self.shrunk != shrunk
    }
}

impl Streams {
    /// `max_buffered`: the most that bodies which are held whole may have together.
    pub fn new(max_buffered: Option<usize>) -> Arc<Streams> {
        let most = max_buffered.map_or(ALL, |most| most.min(ALL));
        let count = AtomicUsize::new(0);
        Arc::new(Streams { count, most })
    }
}

/// The largest window that this many streams can have in `most` bytes.
fn fitting(streams: usize, most: usize) -> u32 {
    let share = (most / streams.max(1)) as u64;
    let whole = share.checked_ilog2().map_or(0, |bits| 1 << bits);
    u64::clamp(whole, LEAST.into(), MOST.into()) as u32
}

impl Window {
    /// The window of a connection that is about to carry a stream.
    pub fn new(streams: Arc<Streams>) -> Window {
        let fits = fitting(streams.count.load(Ordering::Relaxed) + 1, streams.most);
        let size = AtomicU32::new(FIRST.min(fits));
        Window { size, streams }
    }

    pub fn size(&self) -> u32 {
        self.size.load(Ordering::Relaxed)
    }

    /// The connection gets one more stream. The window shrinks to what fits. Windows of other connections stay, until
    /// these get a stream.
    pub fn opens(&self) {
        let count = self.streams.count.fetch_add(1, Ordering::Relaxed) + 1;
        if count.saturating_mul(self.size() as usize) > self.streams.most {
            let fits = fitting(count, self.streams.most);
            self.size.fetch_min(fits, Ordering::Relaxed);
        }
    }

    /// A stream has ended.
    pub fn closes(&self) {
        self.streams.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a piece that a reader has taken. True if the window has grown. It grows only while twice as many streams
    /// would fit, so that it does not change with each stream that comes and goes.
    pub fn grows(&self, taken: &mut Taken, piece: usize) -> bool {
        if piece < SMALL {
            return false;
        }
        taken.since = taken.since.saturating_add(piece);
        let size = self.size();
        if size >= MOST || taken.since < size as usize {
            return false;
        }
        taken.since = 0;
        let count = self.streams.count.load(Ordering::Relaxed);
        if fitting(count.saturating_mul(2), self.streams.most) <= size {
            return false;
        }
        // Another reader may have been first.
        let doubled =
            self.size
                .compare_exchange(size, size * 2, Ordering::Relaxed, Ordering::Relaxed);
        doubled.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u32 = 1 << 20;

    /// The window of a connection that carries this many streams.
    fn with_streams(count: usize) -> Window {
        let window = Window::new(Streams::new(None));
        (0..count).for_each(|_| window.opens());
        window
    }

    #[test]
    fn windows_of_all_streams_fit_together_but_none_is_tiny() {
        let fits = |streams| fitting(streams, ALL) >> 10;
        let table = [
            (0, 16_384),
            (1, 16_384),
            (4, 16_384),
            (5, 8192),
            (64, 1024),
            (65, 512),
            (400, 128),
            (1024, 64),
            (1025, 64),
            (1_000_000, 64),
        ];
        assert_eq!(table.map(|(streams, _)| (streams, fits(streams))), table);
        for (most, window) in [(0, LEAST), (100_000, LEAST), (1_000_000, MIB / 2)] {
            assert_eq!(fitting(1, most), window, "{most}");
        }
    }

    #[test]
    fn windows_shrink_with_the_streams_of_all_connections() {
        let streams = Streams::new(None);
        let connections = [(); 400].map(|_| {
            let window = Window::new(streams.clone());
            window.opens();
            window
        });
        let sum = |all: &[Window]| all.iter().map(|w| w.size() as usize).sum::<usize>();
        assert!(sum(&connections) <= 147 << 20, "{}", sum(&connections));
        (0..2).for_each(|_| connections.iter().for_each(Window::opens));
        assert_eq!(sum(&connections), 400 * LEAST as usize);
        (0..3).for_each(|_| connections.iter().for_each(Window::closes));
        assert_eq!(Window::new(streams).size(), FIRST);
    }

    #[test]
    fn a_window_grows_again_when_half_the_streams_have_ended() {
        let window = with_streams(65);
        let take_all = || window.grows(&mut Taken::default(), MOST as usize);
        assert_eq!(window.size(), MIB / 2);
        for (streams, grows) in [
            (64, false),
            (33, false),
            (32, true),
            (31, false),
            (16, true),
        ] {
            while window.streams.count.load(Ordering::Relaxed) > streams {
                window.closes();
            }
            assert_eq!(take_all(), grows, "{streams}");
        }
        assert_eq!(window.size(), 2 * MIB);
    }

    #[test]
    fn the_window_doubles_with_each_whole_window_of_one_reader_up_to_a_limit() {
        let (window, mut taken) = (with_streams(1), Taken::default());
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
        let window = with_streams(2);
        for _ in 0..100 {
            assert!(!window.grows(&mut Taken::default(), FIRST as usize - 1));
        }
        assert_eq!(window.size(), FIRST);
    }

    #[test]
    fn small_pieces_do_not_count() {
        let (window, mut taken) = (with_streams(1), Taken::default());
        for _ in 0..100_000 {
            assert!(!window.grows(&mut taken, SMALL - 1));
        }
        assert!(window.grows(&mut taken, FIRST as usize));
    }
}
