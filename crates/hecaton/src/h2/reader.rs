//! The state of a body's reader, by which the guard decides whether small frames stay (`joined`).

/// The state of a body's reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reader {
    /// It waits for bytes, or has not begun, and has got none.
    #[default]
    Waits,
    /// It has not yet taken everything that it got.
    Busy,
    /// The same, and more bytes stay here for it.
    Owed,
}

impl Reader {
    /// A small frame has come; whether it stays.
    pub fn keeps(&mut self) -> bool {
        let stays = *self != Reader::Waits;
        *self = match stays {
            true => Reader::Owed,
            false => Reader::Busy,
        };
        stays
    }

    pub fn gets(&mut self) {
        *self = Reader::Busy;
    }

    /// It waits now; whether bytes stay here for it.
    pub fn waits(&mut self) -> bool {
        std::mem::replace(self, Reader::Waits) == Reader::Owed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_frame_stays_only_while_its_reader_has_something_to_take() {
        let mut reader = Reader::default();
        assert!(!reader.keeps(), "the first passes");
        assert!(reader.keeps() && reader.keeps());
        assert!(reader.waits(), "two stay");
        assert!(!reader.waits() && !reader.keeps());
        assert!(!reader.waits(), "none stays");
        assert!(!reader.keeps() && reader.keeps());
        reader.gets();
        assert!(!reader.waits(), "none stays any more");
    }
}
