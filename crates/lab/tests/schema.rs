//! `docs/schemas/run.schema.json` is the JSON Schema of what is written: the test fails when it says anything else, and
//! `HECATON_UPDATE=1 cargo test -p hecaton-lab --test schema` writes it anew.

use std::path::Path;

use hecaton_lab::report::FullDocument;
use schemars::generate::SchemaSettings;

#[test]
fn the_kept_schema_is_that_of_the_types() {
    let mut schema = SchemaSettings::draft07()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<FullDocument>();
    schema.insert("title".to_owned(), "The format of run.json".into());
    let schema = format!("{:#}\n", schema.to_value());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas/run.schema.json");
    if std::env::var_os("HECATON_UPDATE").is_some() {
        std::fs::write(&path, &schema).expect("the schema can be written");
    }
    let remaining = std::fs::read_to_string(&path).unwrap_or_default();
    let hint = "docs/schemas/run.schema.json is out of date: run HECATON_UPDATE=1 cargo test -p hecaton-lab --test schema";
    assert!(remaining == schema, "{hint}\n{schema}");
}
