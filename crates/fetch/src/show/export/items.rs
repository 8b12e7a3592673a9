//! A row for each item of a list that `--take NAME[]=…` took.

use serde_json::Value;

use crate::record::Record;

/// The records whose rows are written: the record itself, or one for each item of its list. That has the number of the
/// input, the page, and the members of the item.
pub(super) fn rows(mut record: Record, list: Option<&str>) -> Vec<Record> {
    let Some(list) = list else {
        return vec![record];
    };
    let Some(Value::Array(items)) = record.taken.remove(list) else {
        return Vec::new();
    };
    let row = |item| Record {
        n: record.n,
        page: record.page,
        taken: match item {
            Value::Object(members) => members,
            other => [(list.to_owned(), other)].into_iter().collect(),
        },
        ..Record::default()
    };
    items.into_iter().map(row).collect()
}
