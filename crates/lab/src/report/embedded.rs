//! The run's data inside the page, as JSON that browsers do not run.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::findings::Findings;
use crate::ledger::Document;
use crate::run::Round;

/// What `run.json` holds, with rounds as a table without latencies, or without rounds when there is no room.
pub(super) fn raw_data(run: &Document, findings: &Findings, room: usize) -> String {
    let mut data = json!({
        "schema": run.schema,
        "command": run.command,
        "environment": run.environment,
        "plan": run.plan,
        "rows": findings.rows,
        "recommendations": findings.recommendations,
        "rounds": rounds_table(&run.rounds),
    });
    let mut text = script_safe(&data);
    let mut words =
        "The rounds are in it as a table; their latencies are in run.json beside this file.";
    if text.len() + 1_000 > room {
        data["rounds"] = Value::Null;
        text = script_safe(&data);
        words =
            "There were too many rounds to put them here; they are in run.json beside this file.";
    }
    format!(
        "<section><h2>Raw data</h2><p>The data of this page is part of it, as JSON in the element with the id \
         <code>run</code>. {words}</p></section><script type=\"application/json\" id=\"run\">{text}</script>"
    )
}

/// What is known of changes between runs; without the changes when there is no room.
pub(super) fn changes_data(mut data: Value, room: usize) -> String {
    let mut text = script_safe(&data);
    let mut words = "";
    if text.len() + 1_000 > room {
        data["rows"] = json!([]);
        text = script_safe(&data);
        words = " There were too many changes to put them there; <code>hecaton report --json</code> gives them.";
    }
    format!(
        "<section><h2>Raw data</h2><p>The data of this page is part of it, as JSON in the element with the id \
         <code>run</code>.{words} The rounds are in the documents that were compared.</p></section>\
         <script type=\"application/json\" id=\"run\">{text}</script>"
    )
}

/// JSON that cannot end its script element: `<` is written as an escape. Six digits are more than is known.
fn script_safe(data: &Value) -> String {
    shortened(data).to_string().replace('<', "\\u003c")
}

fn shortened(data: &Value) -> Value {
    match data {
        Value::Array(items) => items.iter().map(shortened).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(k, v)| (k.clone(), shortened(v)))
                .collect(),
        ),
        Value::Number(number) if number.is_f64() => number
            .as_f64()
            .and_then(|n| format!("{n:.5e}").parse::<f64>().ok())
            .into(),
        other => other.clone(),
    }
}

/// What one column of the table of rounds holds.
type Field = (&'static str, fn(&Round) -> Value);

const ROUND_FIELDS: [Field; 18] = [
    ("body_bytes", |round| round.cell.body_bytes.into()),
    ("concurrency", |round| round.cell.concurrency.into()),
    ("launch", |round| round.launch.into()),
    ("block", |round| round.block.into()),
    ("order", |round| round.order.into()),
    ("count", |round| round.count.into()),
    ("wall_us", |round| (round.wall_ns / 1000).into()),
    ("cpu_user_us", |round| (round.cpu_user_ns / 1000).into()),
    ("cpu_system_us", |round| (round.cpu_system_ns / 1000).into()),
    ("peak_rss_kib", |round| round.peak_rss_kib.into()),
    ("done", |round| round.claim.done.into()),
    ("distinct", |round| {
        round.seen.as_ref().map(|page| page.distinct).into()
    }),
    ("duplicates", |round| {
        round.seen.as_ref().map(|page| page.duplicates).into()
    }),
    ("foreign", |round| {
        round.seen.as_ref().map(|page| page.foreign).into()
    }),
    ("connections_opened", |round| {
        round
            .seen
            .as_ref()
            .map(|page| page.connections_opened)
            .into()
    }),
    ("connections_used", |round| {
        round.seen.as_ref().map(|page| page.connections_used).into()
    }),
    ("peak_in_flight", |round| {
        round.seen.as_ref().map(|page| page.peak_in_flight).into()
    }),
    ("proof_peak_in_flight", |round| {
        round.proof.as_ref().map(|page| page.peak_in_flight).into()
    }),
];

/// Rounds by client, each a list of values in the order of the columns.
fn rounds_table(rounds: &[Round]) -> Value {
    let columns: Vec<&str> = ROUND_FIELDS.iter().map(|(name, _)| *name).collect();
    let mut clients: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for round in rounds {
        let values = ROUND_FIELDS.iter().map(|(_, value)| value(round)).collect();
        clients.entry(&round.cell.client).or_default().push(values);
    }
    json!({ "columns": columns, "clients": clients })
}
