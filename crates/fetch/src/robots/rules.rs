//! The rules of a site: one text for all of them, so that half a megabyte of rules takes little more in memory.

use super::pattern::{Pattern, normal};

/// The rules of a site.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rules {
    /// The paths of all rules, one after the other, in their normal form.
    text: String,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    /// Where its path ends in the text; it begins where the one before it ends.
    end: u32,
    to_the_end: bool,
    allows: bool,
}

impl Rules {
    pub fn add(&mut self, path: &str, allows: bool) {
        let (path, to_the_end) = match path.strip_suffix('$') {
            Some(path) => (path, true),
            None => (path, false),
        };
        self.text.push_str(&normal(path));
        // A file is 512 KiB at most, and what is encoded takes three times as much.
        let Ok(end) = u32::try_from(self.text.len()) else {
            return;
        };
        self.rules.push(Rule {
            end,
            to_the_end,
            allows,
        });
    }

    /// Whether a path in its normal form may be fetched.
    pub fn allow(&self, path: &str) -> bool {
        let mut begin = 0;
        let mut longest = None;
        for rule in &self.rules {
            let end = rule.end as usize;
            let pattern = Pattern {
                path: &self.text[begin..end],
                to_the_end: rule.to_the_end,
            };
            begin = end;
            let rank = (pattern.length(), rule.allows);
            if longest.is_none_or(|longest| rank > longest) && pattern.matches(path) {
                longest = Some(rank);
            }
        }
        longest.is_none_or(|(_, allows)| allows)
    }

    /// Frees memory that is not needed any more.
    pub fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.rules.shrink_to_fit();
    }

    /// How many bytes it takes beside itself.
    pub fn weight(&self) -> usize {
        self.text.capacity() + self.rules.capacity() * size_of::<Rule>()
    }
}
