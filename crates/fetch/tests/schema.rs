//! `docs/schemas/record.schema.json` is the JSON Schema of what is written: the test fails when it says anything else, and
//! `HECATON_UPDATE=1 cargo test -p hecaton-fetch --test schema` writes it anew.

use std::path::Path;

use hecaton_fetch::record::Record;
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
