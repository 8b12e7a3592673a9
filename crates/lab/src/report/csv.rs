//! The rows as comma-separated values (RFC 4180), for spreadsheets; the keys of `run.json` are the names of columns.

use serde_json::Value;

use super::compared::{batches_csv, judged};
use super::json::standing;
use super::ranked;
use crate::findings::{Entry, Findings, Ranking, Row};
use crate::ledger::Document;

/// A line of names, then one for each row; empty where there is no value. A shootout's rows stand in its order and have
/// its figures too. Of batches there are only their averages, as [`batches_csv`] writes them.
pub fn csv(run: &Document, findings: &Findings) -> String {
    if let Some(averages) = judged(run, findings).and_then(|found| batches_csv(&found)) {
        return averages;
    }
    let rows: Vec<Value> = match ranked(run, findings) {
        Some(ranking) => standings(&ranking),
        None => findings.rows.iter().map(record).collect(),
    };
    lines(&rows)
}

/// A line of all keys, then one for each record.
pub(super) fn lines(rows: &[Value]) -> String {
    let mut names: Vec<&String> = Vec::new();
    for key in rows
        .iter()
        .filter_map(Value::as_object)
        .flat_map(|row| row.keys())
    {
        if !names.contains(&key) {
            names.push(key);
        }
    }
    let head = names
        .iter()
        .map(|name| name.as_str())
        .collect::<Vec<_>>()
        .join(",");
    let lines = rows.iter().map(|row| {
        names
            .iter()
            .map(|name| field(&row[name.as_str()]))
            .collect::<Vec<_>>()
            .join(",")
    });
    std::iter::once(head)
        .chain(lines)
        .map(|line| line + "\r\n")
        .collect()
}

/// The entries of a shootout: the ranked in their order, then the ceiling, then the rejected.
fn standings(ranking: &Ranking) -> Vec<Value> {
    let all = ranking
        .ranked
        .iter()
        .chain(&ranking.outside)
        .chain(&ranking.rejected);
    let one = |entry: &Entry| {
        let mut fields = record(&entry.row);
        if let (Some(fields), Value::Object(own)) =
            (fields.as_object_mut(), standing(entry, ranking))
        {
            fields.extend(own.into_iter().filter(|(key, _)| key != "client"));
        }
        fields
    };
    all.map(one).collect()
}

fn record(row: &Row) -> Value {
    serde_json::to_value(row).expect("a row is plain data")
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_would_end_a_field_is_quoted() {
        assert_eq!(field(&json!("a,b \"c\"")), "\"a,b \"\"c\"\"\"");
        assert_eq!(field(&json!(null)), "");
        assert_eq!(field(&json!(12.5)), "12.5");
        assert_eq!(field(&json!("plain")), "plain");
    }
}
