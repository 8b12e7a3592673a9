//! A row for each item of a list that `--take NAME[]=…` took.

use serde_json::Value;

use crate::record::Record;

/// Calls `row` with the record, or with a record for each item of its list. That has the number of the input, the page,
/// and the members of the item.
pub(super) fn each_row<E>(
    mut record: Record,
    list: Option<&str>,
    mut row: impl FnMut(&Record) -> Result<(), E>,
) -> Result<(), E> {
    let Some(list) = list else {
        return row(&record);
    };
    let Some(Value::Array(items)) = record.taken.remove(list) else {
        return Ok(());
    };
    items.into_iter().try_for_each(|item| {
        row(&Record {
            n: record.n,
            page: record.page,
            taken: match item {
                Value::Object(members) => members,
                other => [(list.to_owned(), other)].into_iter().collect(),
            },
            ..Record::default()
        })
    })
}
