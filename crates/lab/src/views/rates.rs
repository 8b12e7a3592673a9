//! What each client does at each rate: a table.

use super::common::{optional, small};
use super::form::*;
use crate::findings::words::*;
use crate::findings::{AtRate, body_words};
use crate::ledger::Document;

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
        col("client", 0, |it: &AtRate| it.client.clone()).words(),
        col("response", 0, |it: &AtRate| body_words(it.body_bytes)),
        col("rate", 0, |it: &AtRate| it.rate.to_string()),
        col("due\nper s", 0, |it: &AtRate| figure(it.per_second)),
        col("done\nper s", 0, |it: &AtRate| figure(it.done_per_second)),
        col("p50\nms", 1, known(|it| it.p50_ms)),
        col("p99\nms", 0, known(|it| it.p99_ms)),
        col("n", 2, |it: &AtRate| count(it.n)),
        col("sent late,\np99 ms", 1, known(|it| it.behind_p99_ms)),
        col("", 0, standing).words(),
    ];
    Table::of("Latency at a rate", all, columns).each(all, |line, it| {
        line.look = match it.rejected {
            Some(_) => Look::Rejected,
            None => Look::Plain,
        };
    })
}
