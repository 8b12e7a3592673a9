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
    let columns = advice(run, grid(&clients).len() > 1);
    Table::of("What to use", &clients, columns)
        .each(&clients, |line, it| {
            line.language = language(run, it.client);
            line.look = Look::rejected(it.advice.is_none() && run.unfinished.is_none());
        })
        .marks(&[INTERVAL, REOPENED])
        .notes(newer(run))
}

/// The columns of the advice, which was chosen among several concurrencies or is the only one.
fn advice<'a>(run: &Document, several: bool) -> Vec<Shown<'a, &'a Group<'a>>> {
    let row = |value: fn(&Row) -> String| move |it: &&Group| optional(it.recommended(), value);
    let response = |it: &&Group| match it.bytes {
        0 => "the server's own".into(),
        bytes => format!("{} bytes", count(bytes)),
    };
    let enough = run.plan.budget.enough();
    let meaning = format!("the smallest that is not shown to be below {enough} of the fastest");
    let faster =
        move |it: &&Group| speedup(it.advice.filter(|_| several).and_then(|it| it.speedup));
    let rejected = |it: &&Group| match it.rows.len() - it.valid().count() {
        0 => NONE.into(),
        some => format!("{some} of {}", it.rows.len()),
    };
    #[rustfmt::skip]
    let columns = vec![
        col("client", 0, |it: &&Group| it.name.clone()).words(),
        col("response", 0, response),
        col("recommended\nconcurrency", 0, row(|row| signed(&count(row.load.concurrency), row))).means(if several { &meaning } else { "" }),
        col("requests\nper s", 0, row(|row| figure(row.requests_per_second))),
        col("speed-up", 1, faster).intervals(5),
        of_loader(3, |it: &&Group| it.recommended()?.baseline_loader_ratio),
        col("CPU\n%", 4, row(|row| figure(row.cpu_percentage))),
        col("p99\nms", 4, row(p99_words)).intervals(9),
        col("rejected", 2, rejected),
    ];
    columns
}

/// All figures of a body.
pub(super) fn table(run: &Document, groups: &[&Group], bytes: usize) -> Table {
    let rows = groups.iter();
    let rows = rows.flat_map(|group| group.rows.iter().map(move |row| (*group, *row)));
    let rows: Vec<Shows> = rows.collect();
    let mut columns = vec![
        col("client", 0, |it: &Shows| it.0.name.clone()).words(),
        col("concur-\nrency", 0, |it: &Shows| {
            count(it.1.load.concurrency)
        }),
    ];
    if rows.iter().any(|(_, row)| row.load.rate.is_some()) {
        let rate = |it: &Shows| optional(it.1.load.rate, |rate| rate.to_string());
        columns.push(col("rate", 0, rate));
    }
    columns.extend(figures(|it: &Shows| it.1));
    let server_cpu = |it: &Shows| it.1.server_cpu_ms_per_request;
    if rows.iter().any(|it| server_cpu(it).is_some()) {
        let cpu = move |it: &Shows| optional(server_cpu(it), small);
        columns.push(col("server CPU\nms / req.", 2, cpu));
    }
    let advised = |row: &Row| {
        let mut groups = groups.iter();
        groups.any(|group| group.recommends(row) && group.rows.contains(&row))
    };
    columns.extend(standing(|it: &Shows| it.1, advised));
    let line = |line: &mut Line, (group, row): &Shows| {
        line.look = look(row, group.recommends(row));
        line.language = language(run, group.client);
        line.continues = group.rows.first().is_some_and(|first| first != row);
        line.apart = !line.continues;
    };
    let title = format!("{}: all figures", body_words(bytes));
    let table = Table::of(&title, &rows, columns).each(&rows, line);
    table.marks(&SIGNS)
}

/// A row with its client's group.
type Shows<'a> = (&'a Group<'a>, &'a Row);
