//! Where a run gets its parts from: a list, or someone who hands them out while it goes on.

use std::collections::VecDeque;

/// How it stands with a part that is worked on here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is ours.
    Held,
    /// Whoever handed it out has not been heard for long: nothing more is sent, what comes back is recorded.
    Silent,
    /// It may be someone else's by now: it is left.
    Lost,
}

/// Hands out parts.
pub trait Supply {
    /// The next part, if one is there now. It does not wait.
    fn next(&mut self) -> Option<u32>;

    /// Whether no other will ever come.
    fn is_over(&mut self) -> bool;

    /// How it stands with a part that was handed out.
    fn standing(&mut self, part: u32) -> Standing;

    /// What keeps it from handing out parts, if something does.
    fn trouble(&mut self) -> Option<String> {
        None
    }

    /// The run is through with a part: it is done, by whomever, or it was left.
    fn left(&mut self, part: u32);
}

/// Parts that are known from the start, and nobody else's.
pub struct Listed(pub VecDeque<u32>);

impl Supply for Listed {
    fn next(&mut self) -> Option<u32> {
        self.0.pop_front()
    }

    fn is_over(&mut self) -> bool {
        self.0.is_empty()
    }

    fn standing(&mut self, _: u32) -> Standing {
        Standing::Held
    }

    fn left(&mut self, _: u32) {}
}
