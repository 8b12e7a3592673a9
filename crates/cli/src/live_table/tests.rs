//! Tests of the live table.

use super::*;

fn table(rounds: &[(&str, usize, u64)]) -> LiveTable {
    let mut table = LiveTable::default();
    for (client, concurrency, done) in rounds {
        let text = format!(
            r#"{{"client":"{client}","body_bytes":133,"concurrency":{concurrency},"invocation":0,"block":0,"order":0,"count":1,
            "wall_ns":1000000000,"cpu_user_ns":0,"cpu_system_ns":0,"peak_rss_kib":0,"seen":null,"probe":null,
            "claim":{{"done":{done},"errors":0,"bytes":0,"sum":0}}}}"#
        );
        table.note(&serde_json::from_str(&text).unwrap());
    }
    table
}

#[test]
fn the_table_fills_with_medians_and_what_is_missing_is_an_ellipsis() {
    let table = table(&[
        ("a", 1, 100),
        ("a", 1, 120),
        ("a", 1, 110),
        ("a", 10, 880),
        ("b", 1, 50),
    ]);
    let text = table.text(10);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].ends_with("        1       10"), "{text}");
    assert!(
        lines[1].starts_with("a ") && lines[1].contains("▁█") && lines[1].ends_with("110      880"),
        "{text}"
    );
    assert!(
        lines[2].starts_with("b ") && lines[2].ends_with("50.0        …"),
        "{text}"
    );
}

#[test]
fn loads_that_differ_in_another_factor_have_lines_of_their_own() {
    let mut table = table(&[("a", 1, 100)]);
    let text = r#"{"client":"a","body_bytes":133,"concurrency":1,"tls":true,"job":"gzip","invocation":0,"block":0,"order":0,
        "count":1,"wall_ns":1000000000,"cpu_user_ns":0,"cpu_system_ns":0,"peak_rss_kib":0,"seen":null,"probe":null,
        "claim":{"done":7,"errors":0,"bytes":0,"sum":0}}"#;
    table.note(&serde_json::from_str(text).unwrap());
    let text = table.text(10);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[1].starts_with("a ") && lines[1].ends_with(" 100"),
        "{text}"
    );
    assert!(
        lines[2].starts_with("a, TLS, gzip ") && lines[2].ends_with(" 7.00"),
        "{text}"
    );
}

#[test]
fn a_low_terminal_says_how_many_clients_it_does_not_show() {
    let rounds: Vec<(String, usize, u64)> =
        (0..9).map(|n| (format!("client-{n}"), 1, 10)).collect();
    let rounds: Vec<(&str, usize, u64)> = rounds
        .iter()
        .map(|(name, c, n)| (name.as_str(), *c, *n))
        .collect();
    let text = table(&rounds).text(5);
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(text.ends_with("and 6 more"), "{text}");
    assert_eq!(table(&rounds).text(1), "");
}
