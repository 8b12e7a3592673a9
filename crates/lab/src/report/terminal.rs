//! A view in a terminal: what fits in its columns, in colours where there are some, in plain ASCII where that is all.

use comfy_table::{CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, TableStyle};

use super::braille::braille;
use super::style::Style;
use crate::findings::Tone;
use crate::views::form::{Block, Chart, Look, Media, Table, Verdict, View};

/// Fewest characters that a name is shortened to, and how many it keeps while columns of these ranks have space.
const SHORTEST: usize = 12;
const SHORT: usize = 24;
const WANTED: u8 = 3;

/// Everything, as text with a line break at the end.
pub(super) fn terminal(view: &View, style: &Style) -> String {
    let mut lines = Vec::new();
    for line in wrapped(&view.job, "", style) {
        lines.push(style.bold(line.trim_start()));
    }
    let shown = view
        .sections
        .iter()
        .filter(|section| section.media.has(Media::TERMINAL));
    for section in shown {
        if !section.title.is_empty() {
            lines.extend([String::new(), style.bold(&clean(&section.title))]);
        }
        for block in &section.blocks {
            lines.extend(draw(block, view, style));
        }
    }
    style.plain(lines.join("\n").trim_matches('\n').to_owned() + "\n")
}

fn draw(block: &Block, view: &View, style: &Style) -> Vec<String> {
    match block {
        Block::Verdicts(verdicts) => said(verdicts, view, style),
        Block::Table(table) => {
            let table = table.shown_on(Media::TERMINAL);
            let table = fitting(table, style);
            let notes = table.explained();
            let notes = notes.iter().flat_map(|note| wrapped(note, "", style));
            let lines = drawn(&table, style).into_iter().chain(notes);
            std::iter::once(String::new()).chain(lines).collect()
        }
        Block::Charts(charts) => charts
            .iter()
            .flat_map(|chart| drawn_chart(chart, style))
            .collect(),
        Block::List(_, items) => {
            let item = |[about, words]: &[String; 2]| match about.is_empty() {
                true => wrapped(words, "- ", style),
                false => wrapped(&format!("{about}: {words}"), "- ", style),
            };
            items.iter().flat_map(item).collect()
        }
        Block::Links(_) => Vec::new(),
        Block::Note(words) | Block::Code(words) => wrapped(words, "", style),
    }
}

/// Problems of the run first, then its findings.
fn said(verdicts: &[Verdict], view: &View, style: &Style) -> Vec<String> {
    let warnings = view.facts.iter().filter(|fact| fact.tone == Tone::Warning);
    let warnings = warnings.flat_map(|fact| wrapped(&fact.words, "! ", style));
    let warnings = warnings.map(|line| style.warn(&line));
    let sentence = |verdict: &Verdict| {
        let words = format!("{}{}", verdict.subject, verdict.words);
        wrapped(&words, "- ", style)
    };
    warnings.chain(verdicts.iter().flat_map(sentence)).collect()
}

fn drawn_chart(chart: &Chart, style: &Style) -> Vec<String> {
    match chart {
        Chart::Lines(lines) => std::iter::once(String::new())
            .chain(braille(lines, style))
            .collect(),
        Chart::Bars(_) => Vec::new(), // their table says as much
    }
}

/// The table without what does not fit: columns and intervals by rank, then the ends of names.
fn fitting(mut table: Table, style: &Style) -> Table {
    let colourless = Style {
        color: false,
        ..*style
    };
    loop {
        let lines = drawn(&table, &colourless);
        let widest = lines.iter().map(|line| line.chars().count()).max();
        let excess = widest.unwrap_or(0).saturating_sub(style.width);
        if excess == 0 {
            return table;
        }
        let columns = table.columns.iter().enumerate();
        let ranks = columns.flat_map(|(position, column)| {
            let intervals = (column.interval_rank, position, false);
            [(column.rank, position, true), intervals]
        });
        let ranks = ranks.filter(|(rank, ..)| *rank > 0);
        let least = ranks.max_by_key(|(rank, position, _)| (*rank, *position));
        let longest = names(&table).max().unwrap_or(0);
        match least {
            Some((rank, ..)) if rank <= WANTED && longest > SHORT => {
                shorten_names(&mut table, excess, SHORT);
            }
            Some((_, position, true)) => leave_out(&mut table, position),
            Some((_, position, false)) => leave_out_intervals(&mut table, position),
            None => {
                shorten_names(&mut table, excess, SHORTEST);
                return table;
            }
        }
    }
}

fn leave_out(table: &mut Table, position: usize) {
    table.columns.remove(position);
    for line in &mut table.lines {
        line.cells.remove(position);
    }
    for cells in &mut table.foot {
        cells.remove(position);
    }
}

fn leave_out_intervals(table: &mut Table, position: usize) {
    table.columns[position].interval_rank = 0;
    let cells = table
        .lines
        .iter_mut()
        .map(|line| &mut line.cells)
        .chain(&mut table.foot);
    for cell in cells.map(|cells| &mut cells[position]) {
        if let Some(end) = cell.find(" [").or_else(|| cell.find(" (")) {
            cell.truncate(end);
        }
    }
}

/// How long the name of each line is.
fn names(table: &Table) -> impl Iterator<Item = usize> {
    let names = table.lines.iter().map(|line| &line.cells[0]);
    names.map(|name| name.chars().count())
}

fn shorten_names(table: &mut Table, by: usize, fewest: usize) {
    let longest = names(table).max();
    let room = longest.unwrap_or(0).saturating_sub(by).max(fewest);
    for cell in table.lines.iter_mut().map(|line| &mut line.cells[0]) {
        *cell = shortened(cell, room);
    }
}

/// The beginning of a name that is longer than fits.
pub(super) fn shortened(name: &str, room: usize) -> String {
    if name.chars().count() <= room {
        return name.to_owned();
    }
    name.chars().take(room - 1).chain(['…']).collect()
}

/// The lines of a table without frames: words stand left, figures right.
fn drawn(table: &Table, style: &Style) -> Vec<String> {
    let mut drawn = without_frames(style);
    if table.columns.iter().any(|column| !column.title.is_empty()) {
        drawn.set_header(table.columns.iter().map(|column| clean(&column.title)));
    }
    let mut looks = Vec::new();
    for (position, line) in table.lines.iter().enumerate() {
        if line.apart && position > 0 {
            drawn.add_row([""]);
            looks.push(Look::Plain);
        }
        let mut cells: Vec<String> = line.cells.iter().map(|cell| clean(cell)).collect();
        if line.continues {
            cells[0].clear();
        }
        drawn.add_row(cells);
        looks.push(line.look);
    }
    for cells in &table.foot {
        drawn.add_row(cells);
        looks.push(Look::Plain);
    }
    for (column, form) in drawn.column_iter_mut().zip(&table.columns) {
        column.set_padding((0, 1));
        column.set_cell_alignment(match form.words {
            true => CellAlignment::Left,
            false => CellAlignment::Right,
        });
    }
    let lines = drawn.lines().map(|line| format!("  {line}"));
    let mut lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    let heads = lines.len() - looks.len().min(lines.len());
    let rows = lines[heads..].iter_mut().zip(looks);
    for (line, _) in rows.filter(|(_, look)| *look == Look::Recommended) {
        *line = style.bold(line);
    }
    lines
}

/// An empty table with a rule below its heads, and spaces between its columns.
fn without_frames(style: &Style) -> comfy_table::Table {
    let rule = if style.unicode { '─' } else { '-' };
    let plain = || ContentLineStyle::none().junction(' ');
    let look = TableStyle::new().header_lines(plain());
    let look = look.content_lines(plain());
    let mut table = comfy_table::Table::new();
    table.load_style(look.header_separator(LineStyle::none().fill(rule).junction(rule)));
    table.set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// Breaks at spaces; the first line begins with `lead`, the others with the same indent.
pub fn wrapped(text: &str, lead: &str, style: &Style) -> Vec<String> {
    let room = style.width - 2 - lead.chars().count();
    let text = clean(text);
    let lines = filled(text.split(' ').flat_map(|word| pieces(word, room)), room);
    let indent = " ".repeat(lead.chars().count());
    let leads = std::iter::once(lead).chain(std::iter::repeat(&*indent));
    let lines = lines.iter().zip(leads);
    lines
        .map(|(line, lead)| format!("  {lead}{line}"))
        .collect()
}

/// Words in lines of at most so many characters; longer words have a line of their own.
pub(super) fn filled(words: impl Iterator<Item = String>, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                *line += &format!(" {word}");
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// A word in parts that fit in a line.
fn pieces(word: &str, room: usize) -> Vec<String> {
    let characters: Vec<char> = word.chars().collect();
    let pieces = characters.chunks(room);
    pieces.map(|piece| piece.iter().collect()).collect()
}

/// Without what would steer a terminal: a document from elsewhere is text, and no more.
pub(super) fn clean(text: &str) -> String {
    let steers = |c: char| c.is_control() && c != '\n';
    text.replace(steers, "\u{fffd}")
}
