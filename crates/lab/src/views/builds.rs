//! Two builds of one client beside each other, as `bin/bench --against` names them: `NAME@BUILD`.

use super::bench::Part;
use super::form::{Block, Media, Section, Verdict};
use crate::findings::words::plural;
use crate::findings::{Judgement, Tone, judge_goal, judge_run};
use crate::spec::{Goal, Promise};

/// The question of a benchmark of two builds.
pub(super) const QUESTION: &str = "How do two builds of the gem compare?";

/// The two builds of a part: the subject's and the other one; none if its clients are no builds.
fn builds<'a>(part: &Part<'a>) -> Option<[(&'a str, &'a str); 2]> {
    let (name, own) = part.subject.split_once('@')?;
    let clients = part.run.plan.clients.iter();
    let mut others = clients.filter_map(|client| client.split_once('@'));
    let other = others.find(|(of, build)| *of == name && *build != own)?;
    Some([(name, own), other])
}

/// The build that a part is about, for a column's title: both of its clients have the same name before the build's.
pub(super) fn own<'a>(part: &Part<'a>) -> Option<&'a str> {
    builds(part).map(|[(_, build), _]| build)
}

/// The comparison of two builds, over all parts.
pub(super) struct Builds {
    names: [String; 2],
    judgements: Vec<Judgement>,
}

impl Builds {
    /// The comparison; none if the parts are not about two builds.
    pub(super) fn of(parts: &[Part]) -> Option<Builds> {
        let first = parts.first().and_then(builds)?;
        Some(Builds {
            names: first.map(|(_, build)| build.to_owned()),
            judgements: parts.iter().flat_map(judged).collect(),
        })
    }

    /// The figures in which the builds differ, and those in which they may be equal.
    pub(super) fn sections(&self, media: Media) -> Vec<Section> {
        let all = self.judgements.iter();
        let (equal, apart): (Vec<_>, Vec<_>) = all.partition(|one| one.is_not_apart());
        let mut apart: Vec<String> = apart.iter().map(|one| one.sentence.clone()).collect();
        if apart.is_empty() {
            apart.push("In no figure.".into());
        }
        let title = format!("Not told apart: {}", plural(equal.len() as u64, "figure"));
        let equal = equal.iter();
        let equal = equal.map(|one| [String::new(), one.sentence.clone()]);
        let equal = Block::List(Tone::Plain, equal.collect());
        vec![
            Section::new(
                "Where the builds differ",
                media,
                vec![Verdict::list(&apart)],
            ),
            Section::new(title, media, vec![equal]).folded(),
        ]
    }

    /// The result in one line.
    pub(super) fn finding(&self) -> String {
        let [own, other] = &self.names;
        let worse = self.judgements.iter().filter(|one| one.met == Some(false));
        let all = plural(self.judgements.len() as u64, "figure");
        let worse = match worse.count() {
            0 => "none".to_owned(),
            some => some.to_string(),
        };
        format!("Builds of the gem: {own} is worse than {other} in {worse} of {all}")
    }
}

fn judged(part: &Part) -> Vec<Judgement> {
    let Some(builds) = builds(part) else {
        return Vec::new();
    };
    let [client, than] = builds.map(|(name, build)| format!("{name}@{build}"));
    let goal = Goal {
        part: part.title.to_owned(),
        concurrency: None,
        body_bytes: None,
        promise: Promise::NotSlower { client, than },
    };
    judge_goal(&goal, &part.run.rounds, &judge_run(part.run).rows)
}
