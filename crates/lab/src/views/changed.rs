//! Runs side by side as a view: the first next to each of the others.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::bench::known;
use super::common::optional;
use super::form::*;
use crate::findings::stats::Estimate;
use crate::findings::words::*;
use crate::findings::*;
use crate::ledger::Document;

/// Most rows that are drawn: the largest changes.
const MOST: usize = 40;

/// The whole view of several runs.
pub fn changed(pairs: &[Beside]) -> View {
    let first = pairs.first().map(|pair| pair.old);
    let runs: Vec<(&str, &Document)> = first
        .into_iter()
        .chain(pairs.iter().map(|pair| pair.new))
        .collect();
    let mut sections: Vec<Section> = pairs
        .iter()
        .enumerate()
        .flat_map(|(position, pair)| of_pair(pair, position, pairs.len() > 1))
        .collect();
    sections.extend(of_all(&runs));
    let records: Vec<Value> = pairs
        .iter()
        .flat_map(|pair| pair.found.rows.iter().map(|it| record(it, pair)))
        .collect();
    let finding = match pairs {
        [pair] => pair.verdict().into_iter().next(),
        _ => None,
    };
    View {
        finding: finding.unwrap_or_default(),
        question: "What changed?",
        job: match runs.len() as u64 {
            2 => "2 runs: the first is compared with the second".into(),
            all => format!("{all} runs: the first is compared with each of the others"),
        },
        sections,
        json: json(&runs, &records),
        records,
        ..View::default()
    }
}

/// The changes between two runs.
fn of_pair(pair: &Beside, position: usize, is_titled: bool) -> Vec<Section> {
    let sentences = || Verdict::list(&pair.verdict());
    let side = |when: &str, name: &str, run: &Document| {
        let words = format!("{name}, {}, {}", moment(&run.environment.date), run.command);
        [when.to_owned(), words]
    };
    let sides = vec![
        side("before", pair.old.0, pair.old.1),
        side("after", pair.new.0, pair.new.1),
    ];
    let title = match is_titled {
        true => format!("{} after {}", pair.new.0, pair.old.0),
        false => String::new(),
    };
    let mut sections = vec![
        Section::new(title, Media::PAPER, vec![sentences()]),
        Section::new("", Media::TEXT, vec![Block::List(Tone::Plain, sides)]),
    ];
    if pair.found.rows.iter().any(|change| change.ratio.is_some()) {
        let chart = Block::Charts(vec![Chart::Bars(bars(pair, position))]);
        sections.push(Section::new("After ÷ before", Media::PAGE, vec![chart]));
    }
    if !pair.found.rows.is_empty() {
        let name = "All changes";
        let table = || vec![Block::Table(table(pair, name))];
        sections.push(Section::new("", Media::TEXT, table()));
        sections.push(Section::new(name, Media::PAGE, table()));
    }
    sections.push(Section::new("Verdict", Media::TERMINAL, vec![sentences()]));
    sections
}

/// The page's sections about all runs.
fn of_all(runs: &[(&str, &Document)]) -> [Section; 3] {
    let page = |title: &str, block: Block| Section::new(title, Media::PAGE, vec![block]);
    [
        page("The runs", Block::Table(table_of_runs(runs))),
        page("What else is not the same", otherwise(runs)),
        page("How to read this", Block::Note(how_to_read())).folded(),
    ]
}

/// The runs and the rows, for machines.
fn json(runs: &[(&str, &Document)], records: &[Value]) -> Value {
    let runs: Value = runs
        .iter()
        .map(|(name, run)| run_record(name, run))
        .collect();
    json!({ "schema": crate::ledger::SCHEMA, "runs": runs, "rows": records })
}

/// Every change; loads are columns of their own where rows differ in more than concurrency.
fn table(pair: &Beside, name: &str) -> Table {
    let rows = &pair.found.rows;
    let plain = rows
        .iter()
        .all(|row| load(&row.new, false) == format!("concurrency {}", row.new.load.concurrency));
    let several = rows
        .iter()
        .any(|row| row.new.load.body_bytes != rows[0].new.load.body_bytes);
    let mut columns = vec![col("client", 0, |it: &Change| it.new.client.clone()).words()];
    if several {
        columns.push(col("body\nbytes", 0, |it: &Change| {
            count(it.new.load.body_bytes)
        }));
    }
    columns.push(match plain {
        true => col("concur-\nrency", 0, |it: &Change| {
            count(it.new.load.concurrency)
        }),
        false => col("load", 0, |it: &Change| load(&it.new, false)).words(),
    });
    #[rustfmt::skip]
    columns.extend([
        col("requests/s\nbefore", 3, |it: &Change| figure(it.old.requests_per_second)),
        col("requests/s\nafter", 3, |it: &Change| figure(it.new.requests_per_second)),
        col("change", 0, |it: &Change| optional(it.ratio.as_ref(), with_interval)).intervals(2),
        col("verdict", 0, |it: &Change| it.direction().words().into()).words(),
    ]);
    Table::of(name, rows, columns).each(rows, |line, it| {
        use Direction::{Rejected, Slower};
        line.look = Look::rejected(matches!(it.direction(), Slower | Rejected));
    })
}

/// A point for each row: all of them, or the largest changes.
fn bars(pair: &Beside, position: usize) -> Bars {
    let rows = pair.found.rows.iter().enumerate();
    let size = |ratio: Estimate| ratio.value.ln().abs();
    let mut rows: Vec<(usize, &Change, Estimate)> = rows
        .filter_map(|(n, it)| Some((n, it, it.ratio?)))
        .collect();
    let all = rows.len();
    rows.sort_by(|a, b| size(b.2).total_cmp(&size(a.2)));
    rows.truncate(MOST);
    rows.sort_by_key(|(n, ..)| *n);
    let left_out = match all - rows.len() {
        0 => String::new(),
        n => format!(" {} only in the table.", plural(n as u64, "smaller change")),
    };
    let bars = rows
        .iter()
        .map(|(_, change, ratio)| bar(pair, change, ratio));
    Bars {
        name: format!("change-{}", position + 1),
        title: "How many times faster each row became".into(),
        same: Some(EQUIVALENT),
        groups: Group::all(bars.collect()),
        caption: format!(
            "Requests per second, after ÷ before. Lines are intervals; the band holds what counts as the same. Squares are slower, \
             triangles faster, circles neither.{left_out}"
        ),
        ..Bars::default()
    }
}

fn bar(pair: &Beside, change: &Change, ratio: &Estimate) -> Bar {
    let direction = change.direction();
    Bar {
        name: pair.name(change),
        value: ratio.value,
        range: (ratio.low, ratio.high),
        label: format!("{} {}", with_interval(ratio), direction.words()),
        colour: match direction {
            Direction::Slower => Colour::Of(1),
            Direction::Faster => Colour::Of(2),
            _ => Colour::Grey,
        },
        ..Bar::default()
    }
}

/// A ratio with its interval, if it has one.
fn with_interval(ratio: &Estimate) -> String {
    let value = times(ratio.value);
    match ratio.confidence {
        Some(_) => format!("{value} {}", interval(ratio)),
        None => value,
    }
}

fn run_record(name: &str, run: &Document) -> Value {
    json!({ "name": name, "command": run.command, "environment": run.environment, "plan": run.plan })
}

/// A change for machines.
fn record(change: &Change, pair: &Beside) -> Value {
    let Change {
        old, new, ratio, ..
    } = change;
    let mut record = json!({ "before": pair.old.0, "after": pair.new.0 });
    let own = json!({
        "requests_per_second_before": old.requests_per_second,
        "requests_per_second_after": new.requests_per_second,
        "ratio": ratio.map(|ratio| ratio.value),
        "ratio_low": ratio.map(|ratio| ratio.low),
        "ratio_high": ratio.map(|ratio| ratio.high),
        "confidence": ratio.and_then(|ratio| ratio.confidence),
        "against_loader": change.against_loader,
        "change": change.direction().words(),
        "rejected_before": old.rejected,
        "rejected_after": new.rejected,
    });
    if let Some(fields) = record.as_object_mut() {
        let shown = new.shown_load.without_mean_delay();
        for part in [json!({ "client": new.client }), json!(shown), own] {
            fields.extend(part.as_object().cloned().unwrap_or_default());
        }
    }
    record
}

/// Reasons to trust or to doubt each run.
fn table_of_runs(runs: &[(&str, &Document)]) -> Table {
    let trusted = |run: &Document| trust(run, &judge_run(run));
    type Named<'a> = (&'a str, &'a Document);
    let words = |title: &str, value: fn(&Named) -> String| col(title, 0, value).words();
    #[rustfmt::skip]
    let columns = vec![
        words("run", |it| it.0.to_owned()),
        col("date", 0, |it: &Named| moment(&it.1.environment.date)),
        col("rounds", 0, |it: &Named| it.1.plan.rounds.to_string()),
        col("verified", 0, |it: &Named| {
            let trust = trusted(it.1);
            format!("{} of {} rows", trust.verified, trust.rows)
        }),
        col("noisy rounds", 0, |it: &Named| optional(trusted(it.1).noisy, |noisy| percent(noisy.either))),
        words("command", |it| it.1.command.clone()),
    ];
    Table::of("The runs", runs, columns)
}

/// Differences between the runs: machine, versions, plan.
fn otherwise(runs: &[(&str, &Document)]) -> Block {
    let facts: Vec<BTreeMap<String, String>> = runs
        .iter()
        .map(|(_, run)| known(run).into_iter().collect())
        .collect();
    let mut keys: Vec<&String> = facts.iter().flat_map(BTreeMap::keys).collect();
    keys.sort();
    keys.dedup();
    keys.retain(|key| facts.iter().any(|own| own.get(*key) != facts[0].get(*key)));
    if keys.is_empty() {
        return Block::Note(
            "Nothing: machine, versions and plans are the same, as far as they are known.".into(),
        );
    }
    let mut columns = vec![col("what", 0, |key: &&String| (*key).clone()).words()];
    for ((name, _), own) in runs.iter().zip(&facts) {
        let value = |key: &&String| optional(own.get(*key), String::clone);
        columns.push(col(name, 0, value).words());
    }
    Block::Table(Table::of("What else is not the same", &keys, columns))
}

fn how_to_read() -> String {
    format!(
        "The runs were made at different times, so no rounds are paired: a change is the Hodges–Lehmann shift of the logarithms \
         of all their rounds, with the interval of the rank-sum test (Mann, Whitney and Wilcoxon) of at least 95 %. Where both \
         runs have the baseline loader, each round counts as its share of the baseline loader's round in the same block, which leaves out what \
         the machine itself changed. Equivalent means that the whole interval lies within ±{:.0} %. With fewer than four rounds on each side \
         nothing is said.",
        EQUIVALENT * 100.0
    )
}
