//! Tables of records, read back.

use serde_json::json;

use super::*;
use crate::record::{Body, Elapsed, Failure, Outcome};

pub(super) fn records() -> Vec<Record> {
    let responded = Record {
        n: 0,
        line: 2,
        columns: [("sku", "a,\"1\"\n"), ("status", "in")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .collect(),
        method: "GET".to_owned(),
        url: "http://a/".to_owned(),
        outcome: Outcome::Response,
        ok: true,
        status: Some(200),
        headers: [("content-type".to_owned(), "text/html".to_owned())].into(),
        sent: Some(true),
        attempts: 1,
        at: "2026-11-22T08:00:00.5Z".to_owned(),
        ms: Elapsed {
            total: 1.5,
            wait: 1.25,
            ..Elapsed::default()
        },
        bytes: Some(3),
        hash: Some("blake3:00".to_owned()),
        sha256: None,
        md5: None,
        body: Some(Body::Text {
            text: "h\u{e9}".to_owned(),
            cut: false,
        }),
        taken: [
            ("price", json!(9)),
            ("tags", json!(["a"])),
            ("url", json!("x")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect(),
        ..Record::default()
    };
    let failed = Record {
        n: 1,
        line: 3,
        url: "http://b/".to_owned(),
        outcome: Outcome::Error,
        error: Some(Failure {
            kind: "timeout".to_owned(),
            phase: Some("connect".to_owned()),
            message: "late".to_owned(),
        }),
        taken: [
            ("price".to_owned(), json!(9.5)),
            ("tags".to_owned(), json!(null)),
        ]
        .into_iter()
        .collect(),
        ..Record::default()
    };
    vec![
        responded,
        failed,
        Record {
            n: 2,
            line: 4,
            ..Record::default()
        },
    ]
}

pub(super) fn layout(records: &[Record]) -> Layout {
    let mut layout = Layout::default();
    records.iter().for_each(|record| layout.add(record));
    layout
}

#[test]
fn a_table_has_the_columns_of_all_records() {
    let records = records();
    let mut out = Vec::new();
    let mut table = Box::new(Csv::new(&layout(&records), &mut out).unwrap());
    records.iter().for_each(|record| table.add(record).unwrap());
    table.finish().unwrap();
    let mut reader = csv_reader(&out);
    let names: Vec<String> = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(
        names.join(" "),
        "n outcome ok line sku input_status method url location status header_content_type error phase message why sent attempts at \
         ms ms_resolve ms_connect ms_tls ms_wait ms_read bytes hash body price tags taken_url"
    );
    let rows: Vec<_> = reader.records().map(std::result::Result::unwrap).collect();
    let cell = |row: usize, name: &str| {
        rows[row]
            .get(names.iter().position(|it| it == name).unwrap())
            .unwrap()
            .to_owned()
    };
    assert_eq!(rows.len(), 3);
    for (name, value) in [
        ("sku", "a,\"1\"\n"),
        ("input_status", "in"),
        ("status", "200"),
        ("ok", "true"),
        ("ms", "1.5"),
        ("price", "9"),
        ("tags", "[\"a\"]"),
        ("taken_url", "x"),
        ("body", "h\u{e9}"),
    ] {
        assert_eq!(cell(0, name), value, "{name}");
    }
    for (name, value) in [
        ("sku", ""),
        ("outcome", "error"),
        ("error", "timeout"),
        ("phase", "connect"),
        ("price", "9.5"),
        ("status", ""),
        ("ms", ""),
    ] {
        assert_eq!(cell(1, name), value, "{name}");
    }
    assert_eq!(cell(2, "outcome"), "invalid");
}

#[test]
fn no_two_columns_differ_by_case_alone() {
    let text = |name: &str| (name.to_owned(), json!("x"));
    let record = Record {
        columns: ["URL", "sku", "SKU"]
            .map(|name| (name.to_owned(), "x".to_owned()))
            .into_iter()
            .collect(),
        taken: ["Sku", "Price"].map(text).into_iter().collect(),
        ..Record::default()
    };
    let columns = layout(&[record]).columns();
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    for name in ["input_URL", "sku", "input_SKU", "taken_Sku", "Price"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let mut lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    lower.sort_unstable();
    lower.dedup();
    assert_eq!(lower.len(), names.len());
}

fn csv_reader(bytes: &[u8]) -> ::csv::Reader<&[u8]> {
    ::csv::Reader::from_reader(bytes)
}

#[test]
fn columns_have_the_kind_of_all_their_values() {
    use crate::record::Kind;
    let of = |values: &[serde_json::Value]| {
        let records: Vec<Record> = values
            .iter()
            .map(|value| Record {
                taken: [("x".to_owned(), value.clone())].into_iter().collect(),
                ..Record::default()
            })
            .collect();
        layout(&records)
            .columns()
            .iter()
            .find(|column| column.name == "x")
            .unwrap()
            .kind
    };
    assert_eq!(of(&[json!(1), json!(null), json!(2)]), Kind::Integer);
    assert_eq!(
        of(&[json!(null), json!(1), json!(2.5), json!(1)]),
        Kind::Number
    );
    assert_eq!(of(&[json!(true), json!(false)]), Kind::Bool);
    assert_eq!(of(&[json!(true), json!(1)]), Kind::Text);
    assert_eq!(of(&[json!(u64::MAX)]), Kind::Text);
    assert_eq!(of(&[json!(null)]), Kind::Text);
}

#[test]
fn hostile_records_do_not_grow_the_table_for_ever() {
    let records: Vec<Record> = (0..3000)
        .map(|index| Record {
            columns: [(format!("c{index}"), String::new())].into_iter().collect(),
            taken: [(format!("t{index}"), json!(1))].into_iter().collect(),
            ..Record::default()
        })
        .collect();
    assert!(layout(&records).columns().len() < 2100);
}
