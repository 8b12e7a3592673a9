//! `docs/schemas/record.schema.json` and the table of fields in `docs/fetch.md` are made of the declaration of records:
//! a test fails when they say anything else, and `HECATON_UPDATE=1 cargo test -p hecaton-fetch --test schema` writes
//! them anew.

use std::path::Path;

use hecaton_fetch::record::{FIELDS, Field, Name, Record, Used};
use schemars::generate::SchemaSettings;

#[test]
fn the_kept_schema_is_that_of_the_types() {
    // As records are read: what is zero, as a phase that took no time, is left out where they are written.
    let mut schema = SchemaSettings::draft07()
        .into_generator()
        .into_root_schema_for::<Record>();
    schema.insert("title".to_owned(), "The format of records".into());
    let schema = format!("{:#}\n", schema.to_value());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas/record.schema.json");
    if std::env::var_os("HECATON_UPDATE").is_some() {
        std::fs::write(&path, &schema).expect("the schema can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let hint = "docs/schemas/record.schema.json is out of date: run HECATON_UPDATE=1 cargo test -p hecaton-fetch --test schema";
    assert!(kept == schema, "{hint}\n{schema}");
}

/// Where the table of fields begins and ends.
const BOUNDS: [&str; 2] = [
    "<!-- The fields of a record: `tests/schema.rs` writes them. -->",
    "<!-- End of the fields. -->",
];

#[test]
fn the_table_of_fields_is_that_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fetch.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BOUNDS[0]).expect("where the table begins");
    let (_, after) = rest.split_once(BOUNDS[1]).expect("where it ends");
    let rows: String = FIELDS.iter().map(row).collect();
    let head =
        "| key | meaning | in expressions | columns of a table |\n| --- | --- | --- | --- |\n";
    let made = [
        before, BOUNDS[0], "\n\n", head, &rows, "\n", BOUNDS[1], after,
    ]
    .concat();
    if std::env::var_os("HECATON_UPDATE").is_some() {
        std::fs::write(&path, &made).expect("the page can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "docs/fetch.md is out of date: run HECATON_UPDATE=1 cargo test -p hecaton-fetch --test schema\n{rows}"
    );
}

fn row(field: &Field) -> String {
    let about: Vec<&str> = field.about.iter().map(|line| line.trim()).collect();
    let code = |names: Vec<String>| {
        let names = names.into_iter().map(|name| format!("`{name}`"));
        names.collect::<Vec<_>>().join(", ")
    };
    let named = |name: &&Name| name.used != Used::InTables;
    let mut named: Vec<String> = field
        .names
        .iter()
        .filter(named)
        .map(|name| name.name.to_owned())
        .collect();
    let mut columns: Vec<String> = field.names.iter().map(Name::column).collect();
    match field.key {
        "columns" => (named, columns) = (vec!["column.NAME".into()], vec!["NAME".into()]),
        "headers" => (named, columns) = (vec!["header.NAME".into()], vec!["header_NAME".into()]),
        "taken" => (named, columns) = (vec!["taken.NAME".into()], vec!["NAME".into()]),
        "body" => named = vec!["body".into(), "json:/POINTER".into()],
        _ => {}
    }
    format!(
        "| `{}` | {} | {} | {} |\n",
        field.key,
        about.join(" "),
        code(named),
        code(columns)
    )
}
