//! A view as one HTML page that needs nothing else: no script to read it, nothing loaded from elsewhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::bars::bars;
use super::lines::{lines, wide};
use super::terminal::clean;
use crate::findings::words::moment;
use crate::findings::{Fact, Tone};
use crate::views::form::{Block, Chart, Column, Line, Look, Media, Section, Table, Verdict, View};

/// The style sheet of all pages.
pub const STYLE: &str = include_str!("page.css");

/// The only script: it sorts and filters.
const SCRIPT: &str = include_str!("page.js");

/// SHA-256 of [`SCRIPT`], so that the page runs nothing else (CSP 3, §6.7.2.3); tests/report/check.py compares them.
const SCRIPT_HASH: &str = "LoimK0OUeqTr7OfneRtTuBZqDKxywEzCZzrcY4fSmEA=";

/// The whole page.
pub(super) fn html(view: &View) -> String {
    let policy =
        format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{SCRIPT_HASH}'");
    let shown = view
        .sections
        .iter()
        .filter(|section| section.media.has(Media::PAGE));
    let page = page(
        view,
        &policy,
        html! {
            (facts(view.facts.iter().filter(|fact| fact.tone == Tone::Warning)))
            @for (place, section) in shown.enumerate() { (part(section, place)) }
            @if !view.facts.is_empty() {
                section { details { summary { "How far to trust this run" } (facts(view.facts.iter())) } }
            }
        },
    );
    clean(&page.into_string()) + "\n"
}

/// A page with its head, and with this in its middle.
fn page(view: &View, policy: &str, middle: Markup) -> Markup {
    let title = match view.finding.as_str() {
        "" => view.question,
        finding => finding.trim_end_matches('.'),
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(policy);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.brand.soft {
                        @match &view.home { Some(home) => a href=(home) { "Hecaton" }, None => b { "Hecaton" } }
                        @if !view.machine.is_empty() { span { (view.machine) } }
                        @if !view.date.is_empty() { span.date { (moment(&view.date)) } }
                    }
                    h1 { (title) }
                    p.soft { @if !view.finding.is_empty() { (view.question) " " } (view.job) }
                }
                main { (middle) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

fn facts<'a>(facts: impl Iterator<Item = &'a Fact>) -> Markup {
    let facts: Vec<&Fact> = facts.collect();
    let class = |fact: &Fact| match fact.tone {
        Tone::Good => "good",
        Tone::Plain => "",
        Tone::Warning => "warn",
    };
    html! { @if !facts.is_empty() { ul.facts { @for fact in facts { li class=(class(fact)) { (fact.words) } } } } }
}

fn part(section: &Section, place: usize) -> Markup {
    let under_heading = section.folded || !section.title.is_empty();
    let blocks = html! {
        @for (n, block) in section.blocks.iter().enumerate() { (drawn(block, &format!("{place}x{n}"), under_heading)) }
    };
    html! {
        section {
            @if section.folded {
                details { summary { (section.title) } (blocks) }
            } @else {
                @if !section.title.is_empty() { h2 { (section.title) } }
                (blocks)
            }
        }
    }
}

/// A block of a section; `under_heading` says whether the section has a heading, below which those of its charts stand.
fn drawn(block: &Block, id: &str, under_heading: bool) -> Markup {
    match block {
        Block::Verdicts(verdicts) => {
            html! { ul.verdicts { @for verdict in verdicts { (sentence(verdict)) } } }
        }
        Block::Table(all) => table(&all.shown_on(Media::PAGE)),
        Block::Charts(charts) if charts.is_empty() => html! {},
        Block::Charts(charts) => html! {
            div.panels { @for (n, chart) in charts.iter().enumerate() { (figure(chart, &format!("{id}c{n}"), under_heading)) } }
        },
        Block::List(tone, items) => html! {
            ul.items.warn[*tone == Tone::Warning] { @for [about, words] in items { li { @if !about.is_empty() { b { (about) } ": " } (words) } } }
        },
        Block::Links(links) => html! {
            ul.runs { @for link in links { li { a href=(link.to) { (link.title) } p.soft { (link.words) } } } }
        },
        Block::Note(words) => html! { p { (words) } },
        Block::Code(words) => html! { pre { code { (command(words)) } } },
    }
}

/// A command whose options and names are not broken at a hyphen; what is longer than a line of a telephone is.
fn command(words: &str) -> Markup {
    let hyphens = |word: &str| word.contains('-') && word.len() <= 32;
    html! {
        @for (n, word) in words.split(' ').enumerate() {
            @if n > 0 { " " }
            @if hyphens(word) { span.whole { (word) } } @else { (word) }
        }
    }
}

fn sentence(verdict: &Verdict) -> Markup {
    html! {
        li class=(verdict.colour.class()) { @if !verdict.subject.is_empty() { strong { (verdict.subject) } } (verdict.words) }
    }
}

fn figure(chart: &Chart, id: &str, under_heading: bool) -> Markup {
    let heading = |words: &str| {
        html! {
            @if words.is_empty() {} @else if under_heading { h3 { (words) } } @else { h2 { (words) } }
        }
    };
    match chart {
        Chart::Lines(chart) => match wide(chart, &format!("{id}w")) {
            Some(wide) => html! {
                figure.whole { (heading(&chart.heading)) (PreEscaped(wide)) (PreEscaped(lines(chart, id))) }
            },
            None => html! { figure { (heading(&chart.heading)) (PreEscaped(lines(chart, id))) } },
        },
        Chart::Bars(chart) => html! {
            figure.whole {
                (heading(&chart.heading))
                (PreEscaped(bars(chart, true, &format!("{id}w")))) (PreEscaped(bars(chart, false, &format!("{id}n"))))
                @if !chart.caption.is_empty() { figcaption { (chart.caption) } }
            }
        },
    }
}

/// A table that can be sorted, in a box that scrolls when it is too wide. On a telephone it becomes cards: the columns
/// of a line stand below each other.
fn table(table: &Table) -> Markup {
    let headed = table.columns.iter().any(|column| !column.title.is_empty());
    let kind = if headed { "sort cards" } else { "pairs" };
    let lines = |title: &str| title.split('\n').map(str::to_owned).collect::<Vec<_>>();
    html! {
        div.scroll role="region" tabindex="0" aria-label=(table.name) {
            table class=(kind) style=[headed.then(|| labels(table))] {
                @if headed {
                    thead { tr {
                        @for column in &table.columns {
                            th class=[word(column)] scope="col" {
                                @for (n, line) in lines(&column.title("\n")).iter().enumerate() { @if n > 0 { br; } (line) }
                            }
                        }
                    } }
                }
                tbody { @for line in &table.lines { (row(line, table)) } }
                @if !table.foot.is_empty() { tfoot { @for cells in &table.foot { tr { (cells_of(cells, table)) } } } }
            }
        }
        @for note in table.explained() { p.soft { (note) } }
    }
}

/// The names that a card shows before its figures, for the style sheet: once for the whole table, as `--h2` and so on.
fn labels(table: &Table) -> String {
    let quoted = |title: String| title.replace('\\', "\\\\").replace('"', "\\\"");
    let columns = table.columns.iter().enumerate().skip(1);
    columns
        .map(|(n, column)| format!("--h{}:\"{}\";", n + 1, quoted(column.title(" "))))
        .collect()
}

fn row(line: &Line, table: &Table) -> Markup {
    let look = match line.look {
        Look::Plain => None,
        Look::Recommended => Some("use"),
        Look::Rejected => Some("no"),
    };
    html! { tr class=[look] data-language=[&line.language] { (cells_of(&line.cells, table)) } }
}

fn word(column: &Column) -> Option<&'static str> {
    column.words.then_some("word")
}

fn cells_of(cells: &[String], table: &Table) -> Markup {
    html! { @for (cell, column) in cells.iter().zip(&table.columns) { td class=[word(column)] { (cell) } } }
}
