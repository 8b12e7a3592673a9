//! The results of each client at each rate: the finding, and a table.

use super::common::{is_next, name, optional, small};
use super::form::*;
use crate::findings::words::*;
use crate::findings::{AtRate, body_words};
use crate::ledger::Document;
use crate::spec::BASELINE_LOADER;

/// The highest rate that a client keeps with responses of the smallest body, beside the next client's; none if no
/// client keeps one.
pub(super) fn finding(run: &Document, all: &[AtRate]) -> Option<String> {
    let budget = run.plan.budget;
    let smallest = all.iter().map(|it| it.body_bytes).min()?;
    let kept = |it: &&AtRate| {
        let counts = it.client != BASELINE_LOADER && it.body_bytes == smallest;
        counts && it.is_within(&budget)
    };
    let mut best: Vec<&AtRate> = all.iter().filter(kept).collect();
    best.sort_by(|a, b| b.per_second.total_cmp(&a.per_second));
    let first = *best.first()?;
    let limit = match budget.limits() {
        true => format!(" with {}", limit_words(&budget)),
        false => String::new(),
    };
    let mut others = best.iter();
    let beside = others.find(|it| is_next(run, &first.client, &it.client));
    let beside = beside.map_or(String::new(), |it| {
        format!("; {} keeps {}", it.client, figure(it.per_second))
    });
    let (client, rate) = (&first.client, figure(first.per_second));
    Some(format!("{client} keeps {rate} requests/s{limit}{beside}"))
}

/// A line for each client, body and rate.
pub(super) fn table(run: &Document, all: &[AtRate]) -> Table {
    let budget = run.plan.budget;
    let known = |value: fn(&AtRate) -> Option<f64>| move |it: &AtRate| optional(value(it), small);
    let standing = move |it: &AtRate| match &it.rejected {
        Some(_) => "rejected".to_owned(),
        _ if !it.keeps_up() => "falls behind".to_owned(),
        _ if it.p99_ms.is_none() => "too few for p99".to_owned(),
        None if !budget.limits() => "kept".to_owned(),
        None if it.is_within(&budget) => "within the budget".to_owned(),
        None => "above the budget".to_owned(),
    };
    #[rustfmt::skip]
    let columns = vec![
        col("client", 0, |it: &AtRate| name(&it.client)).words(),
        col("response", 0, |it: &AtRate| body_words(it.body_bytes)),
        col("rate", 0, |it: &AtRate| it.rate.to_string()),
        col("due\nper s", 0, |it: &AtRate| figure(it.per_second)),
        col("done\nper s", 0, |it: &AtRate| figure(it.done_per_second)),
        col("p50\nms", 1, known(|it| it.p50_ms)),
        col("p99\nms", 0, known(|it| it.p99_ms)),
        col("n", 2, |it: &AtRate| count(it.n)),
        col("sent late,\np99 ms", 1, known(|it| it.behind_p99_ms)),
        col("result", 0, standing).words(),
    ];
    Table::of("Latency at a rate", all, columns).each(all, |line, it| {
        line.look = match it.rejected {
            Some(_) => Look::Rejected,
            None => Look::Plain,
        };
    })
}
