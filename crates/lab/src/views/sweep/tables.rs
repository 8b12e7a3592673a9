//! The tables of a sweep: what to use, and all figures.

use super::super::common::*;
use super::super::form::*;
use super::groups::{Group, grid};
use crate::findings::words::*;
use crate::findings::*;
use crate::ledger::Document;

/// The advice: a line for each client and size.
pub(super) fn advised(run: &Document, groups: &[Group]) -> Table {
    let clients: Vec<&Group> = groups
        .iter()
        .filter(|group| !group.is_baseline_loader())
        .collect();
    let several = grid(&clients).len() > 1;
    let faster = |it: &&Group| it.advice.filter(|_| several)?.speedup;
    let row = |value: fn(&Row) -> String| move |it: &&Group| optional(it.recommended(), value);
    let response = |it: &&Group| match it.bytes {
        0 => "the server's own".into(),
        bytes => format!("{} bytes", count(bytes)),
    };
    let meaning = match several {
        true => format!(
            "the smallest that is not shown to be below {} of the fastest",
            run.plan.budget.enough()
        ),
        false => String::new(),
    };
    #[rustfmt::skip]
    let columns = vec![
        col("client", 0, |it: &&Group| it.name.clone()).words(),
        col("response", 0, response),
        col("recommended\nconcurrency", 0, row(|row| count(row.load.concurrency))).means(meaning),
        col("requests\nper s", 0, row(|row| figure(row.requests_per_second))),
        col("speed-up", 1, |it: &&Group| speedup(faster(it))).intervals(5),
        of_loader(3, |it: &&Group| it.recommended()?.baseline_loader_ratio),
        col("CPU\n%", 4, row(|row| figure(row.cpu_percentage))),
        col("p99\nms", 4, row(p99_words)).intervals(9),
        col("rejected", 2, |it: &&Group| match it.rows.len() - it.valid().count() {
            0 => NONE.into(),
            some => format!("{some} of {}", it.rows.len()),
        }),
    ];
    let table = Table::of("What to use", &clients, columns).each(&clients, |line, it| {
        line.language = language(run, it.client);
        line.look = if it.advice.is_none() && run.unfinished.is_none() {
            Look::Rejected
        } else {
            Look::Plain
        };
    });
    let table = table.marks(INTERVAL.0, INTERVAL.1);
    match newer(run) {
        Some(words) => table.note(words),
        None => table,
    }
}

/// All figures of a body.
pub(super) fn table(run: &Document, groups: &[&Group], bytes: usize) -> Table {
    let rows: Vec<(&Group, &Row)> = groups
        .iter()
        .flat_map(|group| group.rows.iter().map(move |row| (*group, *row)))
        .collect();
    #[rustfmt::skip]
    let mut columns = vec![
        col("client", 0, |it: &(&Group, &Row)| it.0.name.clone()).words(),
        col("concur-\nrency", 0, |it: &(&Group, &Row)| count(it.1.load.concurrency)),
    ];
    if rows.iter().any(|(_, row)| row.load.rate.is_some()) {
        let rate = |it: &(&Group, &Row)| optional(it.1.load.rate, |rate| rate.to_string());
        columns.push(col("rate", 0, rate));
    }
    columns.extend(figures(|it: &(&Group, &Row)| it.1));
    if rows
        .iter()
        .any(|(_, row)| row.server_cpu_ms_per_request.is_some())
    {
        let cpu = |it: &(&Group, &Row)| optional(it.1.server_cpu_ms_per_request, small);
        columns.push(col("server CPU\nms / req.", 2, cpu));
    }
    let advice = |row: &Row| {
        groups
            .iter()
            .any(|group| group.recommends(row) && group.rows.contains(&row))
    };
    columns.extend(standing(|it: &(&Group, &Row)| it.1, advice));
    let line = |line: &mut Line, (group, row): &(&Group, &Row)| {
        line.look = look(row, group.recommends(row));
        line.language = language(run, group.client);
        line.continues = group.rows.first().is_some_and(|first| first != row);
        line.apart = !line.continues;
    };
    let table = Table::of(
        &format!("{}: all figures", body_words(bytes)),
        &rows,
        columns,
    )
    .each(&rows, line);
    let marks = [RECOMMENDED, REJECTED, UNVERIFIED];
    marks
        .into_iter()
        .fold(table, |table, (mark, words)| table.marks(mark, words))
}
