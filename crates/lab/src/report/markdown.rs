//! A view as Markdown, to paste into an issue or a post.

use crate::findings::Tone;
use crate::findings::words::moment;
use crate::views::form::{Block, Link, Media, Table, View};

/// The command, what was done, then every section.
pub(super) fn markdown(view: &View) -> String {
    let mut text = String::new();
    if let Some(command) = &view.command {
        text += &format!("`{command}`, {}\n\n", moment(&view.date));
    }
    text += &escaped(&view.job);
    let shown = view
        .sections
        .iter()
        .filter(|section| section.media.has(Media::MARKDOWN));
    for section in shown {
        if !section.title.is_empty() {
            text += &format!("\n\n**{}**", escaped(&section.title));
        }
        for block in &section.blocks {
            text += &written(block, view);
        }
    }
    text.trim_start().to_owned() + "\n"
}

fn written(block: &Block, view: &View) -> String {
    let items = |items: Vec<String>| format!("\n\n{}", items.join("\n"));
    match block {
        Block::Verdicts(verdicts) => {
            let warnings = view.facts.iter().filter(|fact| fact.tone == Tone::Warning);
            let warnings = warnings.map(|fact| format!("- **{}**", escaped(&fact.words)));
            let sentences = verdicts
                .iter()
                .map(|it| format!("- {}{}", escaped(&it.subject), escaped(&it.words)));
            items(warnings.chain(sentences).collect())
        }
        Block::Table(table) => of(&table.shown_on(Media::MARKDOWN)),
        Block::List(_, list) => {
            let item = |[about, words]: &[String; 2]| match about.is_empty() {
                true => format!("- {}", escaped(words)),
                false => format!("- {}: {}", escaped(about), escaped(words)),
            };
            items(list.iter().map(item).collect())
        }
        Block::Note(words) => format!("\n\n{}", escaped(words)),
        Block::Links(links) => items(links.iter().map(link).collect()),
        Block::Code(words) => format!("\n\n    {words}"),
        Block::Charts(_) => String::new(),
    }
}

/// A link to the Markdown of a page, because code hosts show a page as its source.
fn link(link: &Link) -> String {
    let folder = link.to.trim_end_matches("report.html");
    format!(
        "- [{}]({folder}README.md): {}",
        escaped(&link.title),
        escaped(&link.words)
    )
}

fn of(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let side = |words: bool| if words { "---" } else { "---:" }.to_owned();
    let columns = || table.columns.iter();
    let mut text = String::from("\n\n");
    text += &line(columns().map(|it| escaped(&it.title(" "))).collect());
    text += &line(columns().map(|it| side(it.words)).collect());
    let lines = table.lines.iter().map(|line| &line.cells);
    for cells in lines.chain(&table.foot) {
        text += &line(cells.iter().map(|cell| escaped(cell)).collect());
    }
    for note in table.explained() {
        text += &format!("\n{}\n", escaped(&note));
    }
    text.trim_end().to_owned()
}

/// Escapes characters that would end a cell, begin a list or become markup.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('*', "\\*")
        .replace(['\n', '\r'], " ")
}
