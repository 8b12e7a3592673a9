//! The report in a terminal: verdicts, then for every body size a table and a chart.

use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::chart::chart;
use super::style::Style;
use super::view::{Body, COLUMNS, Column, Series, any_unverified, bodies, rejections, widest};
use crate::findings::{Findings, Row, body_words, noise_words};
use crate::ledger::Document;

/// Stands behind the row that is recommended.
const RECOMMENDED: &str = "◀";

/// Stands behind a row that is not ranked.
const REJECTED: &str = "✗";

/// Stands behind a row that no ledger has checked.
const UNVERIFIED: &str = "~";

/// Everything found, as text with a line break at the end.
pub fn terminal(run: &Document, findings: &Findings, style: &Style) -> String {
    let mut lines = Vec::new();
    for body in bodies(run, findings) {
        lines.push(String::new());
        lines.push(style.bold(&heading(&body, run)));
        lines.push(String::new());
        lines.extend(table(&body, style));
        lines.push(format!("  {}", meanings(&body)));
        lines.push(String::new());
        lines.extend(chart(&body, style));
    }
    lines.push(String::new());
    lines.push(style.bold("Verdict"));
    for verdict in findings
        .verdicts
        .iter()
        .chain(&noise_words(&run.rounds, run.environment.cores))
    {
        lines.extend(wrapped(verdict, "- ", style));
    }
    lines.extend(rejected(findings, style));
    if any_unverified(findings) {
        lines.push(String::new());
        lines.push(style.warn("UNVERIFIED"));
        let words = "The server kept no ledger: these rows are what the clients claim, and nobody has checked them.";
        lines.extend(wrapped(words, "  ", style));
    }
    lines.push(String::new());
    style.plain(lines.join("\n"))
}

fn heading(body: &Body, run: &Document) -> String {
    let delay = match &run.plan.delay {
        hecaton_origin::Delay::None => "no delay".to_owned(),
        delay => format!("delay {delay}"),
    };
    if run.plan.target.is_origin() {
        format!("{}, {delay}", body_words(body.bytes))
    } else {
        body_words(body.bytes)
    }
}

/// One table of all clients; a client's name stands in its first row only.
fn table(body: &Body, style: &Style) -> Vec<String> {
    let rows: Vec<&Row> = body.clients.iter().flat_map(|s| s.rows.clone()).collect();
    let names = body
        .clients
        .iter()
        .map(|series| series.client.chars().count());
    let columns = columns_that_fit(&rows, 6 + names.max().unwrap_or(0).max(6), style.width);
    let mut table = plain_table(style);
    let names = columns.iter().map(|column| column.name.join("\n"));
    table.set_header(
        std::iter::once("client".into())
            .chain(names)
            .chain([String::new()]),
    );
    for (place, series) in body.clients.iter().enumerate() {
        if place > 0 {
            table.add_row([""]);
        }
        for (index, row) in series.rows.iter().enumerate() {
            let name = if index == 0 { series.client } else { "" };
            let cells = columns.iter().map(|column| (column.value)(row));
            let marks = [marks(series, row)];
            table.add_row(std::iter::once(name.to_owned()).chain(cells).chain(marks));
        }
    }
    lines_of(table, columns.len() + 1)
        .into_iter()
        .map(|line| {
            if line.contains(RECOMMENDED) {
                style.bold(&line)
            } else {
                line
            }
        })
        .collect()
}

fn marks(series: &Series, row: &Row) -> String {
    let advice = if series.recommends(row) {
        RECOMMENDED
    } else {
        ""
    };
    let doubt = match (&row.rejected, row.verified) {
        (Some(_), _) => REJECTED,
        (None, true) => "",
        (None, false) => UNVERIFIED,
    };
    format!("{doubt}{advice}")
}

/// What the marks of a table mean; only those that stand in it.
fn meanings(body: &Body) -> String {
    let all = || {
        body.clients
            .iter()
            .flat_map(|series| series.rows.iter().map(move |row| marks(series, row)))
    };
    let meanings = [
        (RECOMMENDED, "recommended"),
        (REJECTED, "rejected, see below"),
        (UNVERIFIED, "unverified"),
    ];
    let used = meanings
        .iter()
        .filter(|(mark, _)| all().any(|marks| marks.contains(mark)));
    used.map(|(mark, words)| format!("{mark} {words}"))
        .collect::<Vec<_>>()
        .join("   ")
}

pub(super) fn unicode_lines() -> comfy_table::TableStyle {
    use comfy_table::{ContentLineStyle, LineStyle};
    comfy_table::TableStyle::new()
        .header_lines(ContentLineStyle::none().junction(' '))
        .header_separator(LineStyle::none().fill('─').junction('─'))
        .content_lines(ContentLineStyle::none().junction(' '))
}

pub(super) fn ascii_lines() -> comfy_table::TableStyle {
    unicode_lines().header_separator(comfy_table::LineStyle::none().fill('-').junction('-'))
}

/// A table without frames.
pub(super) fn plain_table(style: &Style) -> Table {
    let mut table = Table::new();
    table.load_style(if style.unicode {
        unicode_lines()
    } else {
        ascii_lines()
    });
    table.set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// The lines of a table: names stand left, numbers right, and the column `last` left again.
pub(super) fn lines_of(mut table: Table, last: usize) -> Vec<String> {
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        let text = index == 0 || index == last;
        column.set_cell_alignment(if text {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        });
    }
    let lines = table.lines();
    lines
        .map(|line| format!("  {line}").trim_end().to_owned())
        .collect()
}

/// Leaves out the least important columns until the rest fit beside what else takes `used` characters of a line.
fn columns_that_fit(rows: &[&Row], used: usize, width: usize) -> Vec<&'static Column> {
    let needed = |columns: &[&Column]| {
        used + columns
            .iter()
            .map(|column| widest(column, rows))
            .sum::<usize>()
    };
    let mut columns: Vec<&Column> = COLUMNS.iter().collect();
    for rank in [3, 2, 1] {
        if needed(&columns) <= width {
            break;
        }
        columns.retain(|column| column.rank < rank);
    }
    columns
}

pub(super) fn rejected(findings: &Findings, style: &Style) -> Vec<String> {
    let rejections = rejections(findings);
    if rejections.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), style.warn("Rejected: shown, not ranked")];
    for (row, reason) in rejections {
        let text = format!(
            "{}, {}, concurrency {}: {reason}.",
            row.client,
            body_words(row.body_bytes),
            row.concurrency
        );
        lines.extend(wrapped(&text, "- ", style));
    }
    lines
}

/// Breaks at spaces; the first line begins with `lead`, the others with as much room.
pub(super) fn wrapped(text: &str, lead: &str, style: &Style) -> Vec<String> {
    let room = style.width - 2 - lead.len();
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        let length = line.chars().count();
        if length > 0 && length + 1 + word.chars().count() > room {
            lines.push(word.to_owned());
        } else {
            line.push_str(if length > 0 { " " } else { "" });
            line.push_str(word);
        }
    }
    let lead_of = |index| {
        if index == 0 {
            lead.to_owned()
        } else {
            " ".repeat(lead.len())
        }
    };
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| format!("  {}{line}", lead_of(index)))
        .collect()
}
