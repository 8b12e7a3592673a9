//! The page that leads to every run of a folder, grouped by question, the newest first.

use std::collections::BTreeMap;

use super::terminal::shortened;
use crate::findings::words::plural;
use crate::views::form::*;

/// A run, or other results, below the folder.
pub struct Entry {
    /// The page, relative to the index.
    pub page: String,
    /// The title of the part of a benchmark that it is; empty if it is none.
    pub part: String,
    /// The kind of the entry.
    pub what: What,
}

/// The kinds of entries.
pub enum What {
    /// A run of this program, or a benchmark.
    Run(Box<View>),
    /// Results of another kind: a title, and a sentence.
    Other {
        /// Its title.
        title: String,
        /// A line about its subject.
        words: String,
    },
}

/// Characters of a title; the page has the rest.
const MOST: usize = 120;

/// Heading of results that are not runs of the lab.
const OTHER: &str = "Other measurements";

/// The view, for a page and as Markdown.
pub fn index(entries: &[Entry]) -> View {
    let mut groups: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        let question = entry.question(entries);
        groups.entry(question).or_default().push(entry);
    }
    let mut groups: Vec<(&str, Vec<&Entry>)> = groups.into_iter().collect();
    for (_, entries) in &mut groups {
        entries.sort_by(|a, b| {
            let depth = || a.depth().cmp(&b.depth());
            b.folder().cmp(a.folder()).then_with(depth)
        });
    }
    groups.sort_by_key(|(question, _)| *question == OTHER);
    let section = |(question, entries): &(&str, Vec<&Entry>)| {
        let links = entries.iter().map(|entry| entry.link()).collect();
        Section::new(*question, Media::PAPER, vec![Block::Links(links)])
    };
    let sections = groups.iter().map(section).collect();
    View {
        question: "Results",
        job: plural(entries.len() as u64, "measurement"),
        sections,
        ..View::default()
    }
}

impl Entry {
    /// The question by which it is grouped. The parts of a benchmark stand below it.
    fn question(&self, all: &[Entry]) -> &'static str {
        let is_whole = |other: &&Entry| other.folder() == self.folder() && other.depth() == 1;
        match &self.what {
            What::Run(view) if self.depth() > 1 => all
                .iter()
                .find(is_whole)
                .map_or(view.question, |whole| whole.question(all)),
            What::Run(view) => view.question,
            What::Other { .. } => OTHER,
        }
    }

    /// The folder beside the index that it is in; its name begins with the day.
    fn folder(&self) -> &str {
        self.page.split('/').next().unwrap_or_default()
    }

    fn depth(&self) -> usize {
        self.page.matches('/').count()
    }

    fn link(&self) -> Link {
        let (title, words) = match &self.what {
            What::Run(view) => (view.headline(), view.summary(&self.page, &self.part)),
            What::Other { title, words } => (title.clone(), words.clone()),
        };
        Link {
            to: self.page.clone(),
            title,
            words,
        }
    }
}

impl View {
    /// The finding, or else the question.
    fn headline(&self) -> String {
        let found = self.finding.trim_end_matches('.');
        match found.is_empty() {
            true => self.question.to_owned(),
            false => shortened(found, MOST),
        }
    }

    /// Its folder, when it was measured, and what was done, in a line.
    fn summary(&self, page: &str, part: &str) -> String {
        let day: String = self.date.chars().take(10).collect();
        let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
        let part = match part {
            "" => String::new(),
            title => format!("{title} · "),
        };
        format!("{folder} · {day} · {part}{}", self.job)
    }
}
