//! The results of each client at each rate: the finding, and a table.

use super::common::{is_next, name, optional, small};
use super::form::*;
use crate::findings::words::*;
use crate::findings::{AtRate, body_words};
use crate::ledger::Document;
use crate::spec::{BASELINE_LOADER, Budget};

/// The highest rates that clients keep with responses of the smallest body; none if no client keeps one. They are ranked if the limit
/// of each was found: where the highest rate that was tried is kept, the client may keep more.
pub(super) fn finding(run: &Document, all: &[AtRate]) -> Option<String> {
    let budget = run.plan.budget;
    let smallest = all.iter().map(|it| it.body_bytes).min()?;
    let of_clients = all
        .iter()
        .filter(|it| it.client != BASELINE_LOADER && it.body_bytes == smallest);
    let of_clients: Vec<&AtRate> = of_clients.collect();
    let series =
        of_clients.chunk_by(|a, b| (&a.client, a.concurrency) == (&b.client, b.concurrency));
    let mut best: Vec<Kept> = series.filter_map(|series| kept(&budget, series)).collect();
    best.sort_by(|a, b| b.at.per_second.total_cmp(&a.at.per_second));
    let first = best.first()?;
    let next = best
        .iter()
        .find(|it| is_next(run, &first.at.client, &it.at.client));
    let ranked = first.is_limit && next.is_none_or(|next| next.is_limit);
    let mut shown: Vec<&Kept> = [Some(first), next].into_iter().flatten().collect();
    if !ranked {
        shown.sort_by_key(|it| &it.at.client);
    }
    let words: Vec<String> = shown.into_iter().map(Kept::words).collect();
    let limit = match budget.limits() {
        true => format!(" with {}", limit_words(&budget)),
        false => String::new(),
    };
    let doubt = match (ranked, words.len()) {
        (true, _) => "",
        (false, 1) => ": the limit was not found",
        (false, _) => ": not every limit was found, so they are not ranked",
    };
    Some(format!("{}{limit}{doubt}", words.join("; ")))
}

/// The highest rate that a client keeps, and whether a higher one was tried, which it did not keep.
struct Kept<'a> {
    at: &'a AtRate,
    is_limit: bool,
}

/// `series` are the rates of one client, ascending.
fn kept<'a>(budget: &Budget, series: &[&'a AtRate]) -> Option<Kept<'a>> {
    let place = series.iter().rposition(|it| it.is_within(budget))?;
    let mut higher = series[place + 1..].iter();
    Some(Kept {
        at: series[place],
        is_limit: higher.any(|it| it.rejected.is_none()),
    })
}

impl Kept<'_> {
    fn words(&self) -> String {
        let least = if self.is_limit { "" } else { "at least " };
        let rate = figure(self.at.per_second);
        format!("{} keeps {least}{rate} requests/s", self.at.client)
    }
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
    let table = Table::of("Latency at a rate", all, columns);
    table.each(all, |line, it| {
        line.look = Look::rejected(it.rejected.is_some())
    })
}
