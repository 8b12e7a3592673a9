//! What a part has come to so far: append-only segments, one for each attempt at it, and the `COMMIT` that says what counts.
//!
//! A worker begins by creating `attempt-n` exclusively. It looks at what counts of earlier attempts, up to the last whole frame of
//! each, and notes that in the head of its own. So what an earlier worker still writes, because it was only asleep, counts for
//! nobody. `COMMIT` is created exclusively too, and lists what counts: whoever comes second has worked in vain, and says so.

mod attempt;
mod checkpoint;
mod commit;
mod known;
mod scan;
mod writer;

pub use self::attempt::{Attempt, Claim, Counted, claim, counted, newest};
pub use self::commit::{Commit, Tally, load, settle};
pub use self::known::Known;
pub use self::scan::{Piece, head_of, scan, visit};
pub use self::writer::{Finishing, Lines, Report, Writer};
