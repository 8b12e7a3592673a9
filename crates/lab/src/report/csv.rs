//! The rows as comma-separated values (RFC 4180), for spreadsheets; the keys of `run.json` are the names of columns.

use serde_json::Value;

use crate::findings::{Findings, Row};

/// A line of names, then one for each row; empty where there is no value.
pub fn csv(findings: &Findings) -> String {
    let rows: Vec<Value> = findings.rows.iter().map(record).collect();
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
