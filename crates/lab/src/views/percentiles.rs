//! Latencies from p50 to p99.9 as a chart: a line for each row.

use super::common::*;
use super::form::*;
use crate::findings::words::*;
use crate::findings::{Percentile, Percentiles, Row};

/// A row of the chart, with the name and the colour of its client.
pub(super) struct Client<'a> {
    pub(super) name: &'a str,
    pub(super) colour: Colour,
    pub(super) row: &'a Row,
}

/// The chart of some rows; none where no row has so many latencies that two percentiles are known. Each further nine is
/// as far as the last, because ten times fewer requests are slower.
pub(super) fn chart(name: String, heading: String, clients: &[Client]) -> Option<Chart> {
    let known = clients.iter().filter_map(|client| {
        let own = client.row.percentiles.as_ref()?;
        (own.at.len() > 1).then_some((client, own))
    });
    let all: Vec<(&Client, &Percentiles)> = known.collect();
    let of_clients = all.iter().flat_map(|(_, own)| &own.at);
    let mut percents: Vec<f64> = of_clients.map(|it| it.percent).collect();
    percents.sort_by(f64::total_cmp);
    percents.dedup();
    let title = match &all[..] {
        [] => return None,
        [(_, only)] => format!("latency in ms, n = {}", count(only.n)),
        _ => "latency in ms".into(),
    };
    let words: Vec<String> = all.iter().map(|(it, own)| in_words(it, own)).collect();
    let lines = all.iter().map(|(it, own)| series(it, own)).collect();
    Some(Chart::Lines(Lines {
        title: format!("Latency from p50 to p99.9, {heading}"),
        name,
        heading,
        across: Across {
            title: "percentile",
            grid: percents.iter().copied().map(across).collect(),
            log: true,
            labels: percents.iter().map(|it| format!("p{it}")).collect(),
            round: false,
        },
        plots: vec![Plot::alone(title, lines)],
        words: words.join(" "),
        ..Lines::default()
    }))
}

/// One request in so many is slower.
fn across(percent: f64) -> f64 {
    100.0 / (100.0 - percent)
}

fn series(client: &Client, own: &Percentiles) -> Series {
    let point = |it: &Percentile| Point {
        x: across(it.percent),
        y: it.ms,
        range: (it.low_ms, it.high_ms),
        hint: format!(
            "p{}: {} ms [{}–{}] of {}",
            it.percent,
            small(it.ms),
            small(it.low_ms),
            small(it.high_ms),
            count(own.n)
        ),
    };
    Series {
        name: format!("{}, n = {}", client.name, count(own.n)),
        colour: client.colour,
        points: own.at.iter().map(point).collect(),
        ..Series::default()
    }
}

fn in_words(client: &Client, own: &Percentiles) -> String {
    let each: Vec<String> = own
        .at
        .iter()
        .map(|it| format!("p{} {} ms", it.percent, small(it.ms)))
        .collect();
    format!(
        "{}: {} of {} latencies.",
        client.name,
        each.join(", "),
        count(own.n)
    )
}
