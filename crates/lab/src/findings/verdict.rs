//! The findings in sentences: one for each client and body size.

use super::cells::Cells;
use super::recommend::Recommendation;
use super::rows::Row;
use super::stats::{Estimate, Statement};
use super::words::{figure, interval, limit_words, listed, percent, times};
use crate::spec::{Budget, other_words};

/// From this share of concurrency ÷ delay on, the server's delay is what limits the speed.
const WAITING: f64 = 0.9;

/// One sentence (with its notes) per client and body, the fastest client of each body first.
pub(super) fn verdicts(
    cells: &Cells,
    rows: &[Row],
    advice: &[Recommendation],
    budget: &Budget,
) -> Vec<String> {
    if rows.is_empty() {
        return vec!["No round was measured.".into()];
    }
    let mut bodies: Vec<usize> = rows.iter().map(|row| row.load.body_bytes).collect();
    bodies.sort_unstable();
    bodies.dedup();
    let said = |body| verdicts_for(body, cells, rows, advice, budget);
    bodies.into_iter().flat_map(said).collect()
}

fn verdicts_for(
    body: usize,
    cells: &Cells,
    rows: &[Row],
    advice: &[Recommendation],
    budget: &Budget,
) -> Vec<String> {
    let of_body = advice.iter().filter(|it| it.load.body_bytes == body);
    let with_row = of_body.filter_map(|advice| {
        let row = rows.iter().find(|row| row.cell() == advice.cell())?;
        Some((advice, row))
    });
    let mut ranked: Vec<(&Recommendation, &Row)> = with_row.collect();
    ranked.sort_by(|a, b| b.1.requests_per_second.total_cmp(&a.1.requests_per_second));
    let said = ranked.iter().enumerate().map(|(position, (advice, row))| {
        // The first is compared with all others, and these with it alone.
        let others = match position {
            0 => &ranked[1..],
            _ => &ranked[..1],
        };
        let compared = others.iter().filter_map(|(_, other)| {
            let ratio = cells.ratio(&row.cell(), &other.cell())?;
            Some(comparison(&name(other, &ranked), &ratio))
        });
        let client = name(row, &ranked);
        sentence(&client, advice, row, compared.collect(), budget)
    });
    let mut sentences: Vec<String> = said.collect();
    sentences.extend(without_advice(body, rows, &ranked, budget));
    sentences
}

/// A client's name, with the other factors of its load in parentheses if it was measured with several values of them.
fn name(row: &Row, ranked: &[(&Recommendation, &Row)]) -> String {
    let same = |(_, other): &&(_, &Row)| other.client == row.client;
    let alone = ranked.iter().filter(same).count() == 1;
    let others = other_words(&row.load, &row.usual);
    match alone || others.is_empty() {
        true => row.client.clone(),
        false => format!("{} ({others})", row.client),
    }
}

fn sentence(
    client: &str,
    advice: &Recommendation,
    row: &Row,
    compared: Vec<String>,
    budget: &Budget,
) -> String {
    let mut facts = vec![format!("{} requests/s", figure(row.requests_per_second))];
    if let Some(speedup) = advice.speedup.filter(|_| advice.load.concurrency > 1) {
        let (ratio, interval) = (times(speedup.value), interval(&speedup));
        facts.push(format!("{ratio} its speed at concurrency 1 {interval}"));
    }
    facts.extend(compared);
    if let Some(ratio) = row.baseline_loader_ratio {
        facts.push(format!("{} of the baseline loader", percent(ratio)));
    }
    format!(
        "{}, {}: use concurrency {}{}{}: {}.{}",
        client,
        body_words(advice.load.body_bytes),
        advice.load.concurrency,
        tie(advice),
        within(budget),
        facts.join("; "),
        notes(advice, row, budget)
    )
}

/// The limits that the recommended concurrency keeps; empty where nobody gave a limit.
fn within(budget: &Budget) -> String {
    match budget.limits() {
        true => format!(", which keeps {}", limit_words(budget)),
        false => String::new(),
    }
}

/// Higher concurrencies that this run cannot distinguish from the recommended one.
fn tie(advice: &Recommendation) -> String {
    let others: Vec<String> = advice.tied.iter().map(usize::to_string).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    match others.is_empty() {
        true => String::new(),
        false => format!(" (a tie with {})", listed(&others)),
    }
}

fn comparison(other: &str, ratio: &Estimate) -> String {
    let (ratio, interval, statement) = (times(ratio.value), interval(ratio), ratio.against(1.0));
    match statement {
        Statement::Same => format!("equivalent to {other} ({ratio} {interval})"),
        Statement::Unclear => format!("not clearly different from {other} ({ratio} {interval})"),
        _ => format!("{ratio} {other} {interval}"),
    }
}

fn notes(advice: &Recommendation, row: &Row, budget: &Budget) -> String {
    let mut notes = String::new();
    let share = &advice.share_of_best;
    if share.low < budget.enough() {
        notes += &format!(
            " This run cannot tell whether that is {} of the best: it is {} {} of concurrency {}.",
            percent(budget.enough()),
            times(share.value),
            interval(share),
            advice.best
        );
    }
    if waits(row) {
        let mean = row.load.delay.mean().as_secs_f64();
        notes += &format!(
            " Waiting is the limit here: with a delay of {} ms no client can do more than {} requests/s at concurrency {}.",
            figure(mean * 1e3),
            figure(row.load.concurrency as f64 / mean),
            advice.load.concurrency
        );
    } else if row
        .baseline_loader
        .is_some_and(|ratio| ratio.against(1.0) == Statement::More)
    {
        notes += " The baseline loader was slower, so its speed is not the limit here; measure longer rounds (--time) to be sure.";
    }
    let server = row.server.filter(|_| !waits(row));
    if let Some(limit) = server.and_then(|server| server.limit()) {
        notes += &format!(" Here {limit}.");
    }
    if advice.highest && advice.load.concurrency > 1 {
        notes += &format!(
            " Nothing above {} was measured; more may be faster.",
            advice.load.concurrency
        );
    }
    notes
}

/// Whether the test server's delay is what bounds this row's speed.
pub(super) fn waits(row: &Row) -> bool {
    let mean = row.load.wait().mean().as_secs_f64();
    mean > 0.0 && row.requests_per_second >= WAITING * row.load.concurrency as f64 / mean
}

/// Sentences about clients without a valid row at this body, so that none is silently left out.
fn without_advice(
    body: usize,
    rows: &[Row],
    ranked: &[(&Recommendation, &Row)],
    budget: &Budget,
) -> Vec<String> {
    let same = |a: &Row, b: &Row| (&a.client, a.load.body_bytes) == (&b.client, b.load.body_bytes);
    let is_meant = |series: &&[Row]| {
        let first = &series[0];
        let mut ranked = ranked.iter();
        let is_of_body = first.load.body_bytes == body && first.load.rate.is_none();
        let is_ranked = ranked.any(|(advice, _)| advice.client == first.client);
        is_of_body && !first.is_baseline_loader() && !is_ranked
    };
    let sentence = |series: &[Row]| {
        let is_valid = |row: &&Row| row.rejected.is_none() && row.speed.is_some();
        let measured: Vec<&Row> = series.iter().filter(is_valid).collect();
        let reason = series.iter().find_map(|row| row.rejected.clone());
        let nothing = || "a round ended without a single request done".to_owned();
        let why = match measured.is_empty() {
            true => reason.unwrap_or_else(nothing),
            false => beyond(&measured, budget),
        };
        let (client, body) = (&series[0].client, body_words(body));
        format!("{client}, {body}: no recommendation: {why}.")
    };
    rows.chunk_by(same).filter(is_meant).map(sentence).collect()
}

/// Why no row of a client is within the budget, with the least that it needs.
fn beyond(rows: &[&Row], budget: &Budget) -> String {
    let least = |value: fn(&Row) -> Option<f64>, unit: &str| {
        let known = rows.iter().filter_map(|row| Some((value(row)?, row)));
        let (value, row) = known.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let at = row.load.concurrency;
        Some(format!("{} {unit} at concurrency {at}", figure(value)))
    };
    let latency = budget.p99_ms.map(|_| {
        least(|row| row.p99_ms, "ms").map_or_else(
            || "too few latencies for a p99, so measure longer rounds (--time)".to_owned(),
            |least| format!("the lowest p99 is {least}"),
        )
    });
    let memory = budget
        .memory_mb
        .and_then(|_| least(|row| Some(row.peak_rss_mb), "MB"))
        .map(|least| format!("the least memory is {least}"));
    let needs: Vec<String> = latency.into_iter().chain(memory).collect();
    let limits = limit_words(budget);
    format!(
        "no measured concurrency keeps {limits}: {}",
        needs.join(", ")
    )
}

/// A body size in words: `133-byte bodies`; 0 stands for the bodies of a foreign server.
pub fn body_words(bytes: usize) -> String {
    if bytes == 0 {
        return "the server's own bodies".into();
    }
    format!("{}-byte bodies", super::words::count(bytes as u64))
}
