//! Comma-separated values (RFC 4180), for spreadsheets; the keys of records are the names of columns.

use serde_json::Value;

/// A line of all keys, then a line for each record. A missing value is an empty field. An object has no column: no
/// field can hold it.
pub(super) fn csv(records: &[Value]) -> String {
    let mut names: Vec<&String> = Vec::new();
    let objects = records.iter().filter_map(Value::as_object);
    for key in objects.flat_map(|record| record.keys()) {
        let is_object = records.iter().any(|record| record[key].is_object());
        if !is_object && !names.contains(&key) {
            names.push(key);
        }
    }
    let head: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    let line = |record: &Value| {
        names
            .iter()
            .map(|name| field(&record[name.as_str()]))
            .collect()
    };
    let lines = std::iter::once(head).chain(records.iter().map(line));
    lines.map(|cells| cells.join(",") + "\r\n").collect()
}

fn field(value: &Value) -> String {
    let text = plain(value);
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(plain).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_with_separators_or_quotes_are_quoted() {
        assert_eq!(field(&json!("a,b \"c\"")), "\"a,b \"\"c\"\"\"");
        assert_eq!(field(&json!(null)), "");
        assert_eq!(field(&json!(12.5)), "12.5");
        assert_eq!(field(&json!(["a, b", "c"])), "\"a, b; c\"");
    }

    #[test]
    fn an_object_has_no_column() {
        let records = [json!({"a": 1, "b": {"c": 2}}), json!({"a": 3, "d": 4})];
        assert_eq!(csv(&records), "a,d\r\n1,\r\n3,4\r\n");
    }
}
