//! The work on a part: append-only segments, one for each attempt, and the `COMMIT` that decides which records count.
//!
//! A worker begins by creating `attempt-n` exclusively. It reads the earlier attempts up to the last whole frame of
//! each, and notes in the head of its own which bytes count. So late writes of an earlier worker, which was only
//! stopped, are ignored. `COMMIT` is created exclusively too, and lists the bytes that count: the second worker to
//! create it has worked in vain, and says so.

mod attempt;
mod checkpoint;
mod commit;
mod entry;
mod known_inputs;
mod look_back;
mod pages;
mod results;
mod whole_frames;
mod writer;

pub use self::attempt::{Announced, Claim, announce, claim, is_held};
pub use self::commit::{Commit, Tally, load, publish};
pub use self::entry::{Attempt, Counted};
pub use self::known_inputs::KnownInputs;
pub use self::look_back::{counted, newest};
pub use self::pages::{Pages, Unfinished, note};
pub use self::results::{
    VisitLine, each_readable, each_result, each_whole, fields_of, gone, record_of, refuse_changed,
};
pub use self::whole_frames::{Piece, head_of, is_followed, visit};
pub use self::writer::{Finishing, Lines, Report, Writer};
