//! Runs side by side for machines: JSON, and comma-separated values.

use serde_json::{Value, json};

use super::Beside;
use crate::findings::Change;
use crate::report::csv::lines;

/// The runs without their rounds, and every change.
pub fn json(pairs: &[Beside]) -> Value {
    let first = pairs.first().map(|pair| pair.old);
    let runs = first.into_iter().chain(pairs.iter().map(|pair| pair.new));
    let runs: Vec<Value> = runs
        .map(|(name, run)| {
            json!({ "name": name, "command": run.command, "environment": run.environment, "plan": run.plan })
        })
        .collect();
    json!({ "schema": crate::ledger::SCHEMA, "runs": runs, "rows": records(pairs) })
}

/// A line of names, then one for each change of each pair of runs (RFC 4180); empty where there is no value.
pub fn csv(pairs: &[Beside]) -> String {
    lines(&records(pairs))
}

fn records(pairs: &[Beside]) -> Vec<Value> {
    let of = |pair: &Beside| -> Vec<Value> {
        let rows = pair.found.rows.iter();
        rows.map(|change| record(change, pair)).collect()
    };
    pairs.iter().flat_map(of).collect()
}

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
        "against_ceiling": change.against_ceiling,
        "change": change.direction().words(),
        "rejected_before": old.rejected,
        "rejected_after": new.rejected,
    });
    let cell = serde_json::to_value(new.cell()).expect("a cell is plain data");
    if let Some(fields) = record.as_object_mut() {
        for part in [cell, own] {
            fields.extend(part.as_object().cloned().unwrap_or_default());
        }
    }
    record
}
