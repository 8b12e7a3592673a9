//! The page that names every run of a folder.

use maud::html;

use super::terminal::shortened;
use crate::findings::words::plural;
use crate::findings::{CEILING, judge};
use crate::ledger::Document;
use crate::views::form::*;
use crate::views::view;

/// Runs with the folders that they are in, relative to the page; `file` is what to open in such a folder.
pub fn index(runs: &[(String, Document)], file: impl Fn(&str) -> &'static str) -> String {
    let views: Vec<(&String, &Document, View)> = runs
        .iter()
        .map(|(folder, run)| (folder, run, view(run, &judge(&run.rounds, &run.plan.delay))))
        .collect();
    type Run<'a> = (&'a String, &'a Document, View);
    let words = |title: &str, value: fn(&Run) -> String| col(title, 0, value).words();
    #[rustfmt::skip]
    let columns = vec![
        words("run", |it| it.0.clone()),
        words("what was found", |it| first(&it.2)),
        words("what was done", |it| it.2.job.clone()),
        col("clients", 0, |it: &Run| {
            it.1.plan.clients.iter().filter(|name| *name != CEILING).count().to_string()
        }),
        col("date", 0, |it: &Run| it.1.environment.date.chars().take(10).collect()),
        words("kind", |it| it.2.kind.into()),
    ];
    let mut page = View {
        kind: "results",
        question: "What was measured?",
        job: format!(
            "{}; a name leads to its page, or to its data where there is no page",
            plural(runs.len() as u64, "run")
        ),
        sections: vec![Section::new(
            "",
            Media::PAGE,
            vec![Block::Table(Table::of("Runs", &views, columns))],
        )],
        ..View::default()
    }
    .html();
    for (folder, ..) in &views {
        let name = html! { td.word { (folder) } }.into_string();
        let link = html! { td.word { a href=(format!("{folder}/{}", file(folder))) { (folder) } } }
            .into_string();
        page = page.replacen(&name, &link, 1);
    }
    page
}

/// Characters of what was found; the run's own page has the rest.
const MOST: usize = 200;

/// What was found first.
fn first(view: &View) -> String {
    let blocks = view.sections.iter().flat_map(|section| &section.blocks);
    let mut verdicts = blocks.filter_map(|block| match block {
        Block::Verdicts(verdicts) => verdicts.first(),
        _ => None,
    });
    let words = |verdict: &Verdict| format!("{}{}", verdict.subject, verdict.words);
    verdicts
        .next()
        .map_or_else(|| NONE.into(), |verdict| shortened(&words(verdict), MOST))
}
