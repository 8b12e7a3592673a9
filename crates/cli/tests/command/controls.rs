//! A run of more than one row measures one client twice and the baseline loader at fixed work, and shows neither as a
//! row.

use serde_json::Value;

use crate::support::{hecaton, run};

fn document(arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    command
        .args(arguments)
        .args(["--rounds", "2", "--json", "--quiet", "--out"])
        .arg(folder.path());
    let ending = run(&mut command);
    ending.assert(0, &[]);
    serde_json::from_str(&ending.stdout).unwrap()
}

/// Clients and requests of the rounds that serve as this control.
fn rounds(document: &Value, control: &str) -> Vec<(String, u64)> {
    let all = document["rounds"].as_array().unwrap().iter();
    let those = all.filter(|round| round["control"] == control);
    let words = |round: &Value| {
        (
            round["client"].as_str().unwrap().to_owned(),
            round["count"].as_u64().unwrap(),
        )
    };
    those.map(words).collect()
}

#[test]
fn a_comparison_measures_one_side_twice_and_the_machine() {
    let document = document(&["compare", "honest", "honest", "--set", "concurrency=2"]);
    let again = rounds(&document, "again");
    assert_eq!(again.len(), 2);
    assert!(
        again.iter().all(|(client, _)| client == "honest-again"),
        "{again:?}"
    );
    let reference_run = rounds(&document, "reference_run");
    assert_eq!(reference_run, vec![("baseline-loader".to_owned(), 2000); 2]);
    let rows = document["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["control"].is_null()), "{rows:?}");
    assert!(
        rows.iter().all(|row| row["client"] != "honest-again"),
        "{rows:?}"
    );
}

#[test]
fn a_sweep_of_one_client_has_no_controls() {
    let document = document(&[
        "sweep",
        "--client",
        "honest",
        "--concurrency",
        "2",
        "--body",
        "133",
        "--time",
        "50ms",
    ]);
    assert_eq!(
        (
            rounds(&document, "again").len(),
            rounds(&document, "reference_run").len()
        ),
        (0, 0)
    );
    assert!(
        document["plan"]["delay"]
            .as_str()
            .unwrap()
            .starts_with("lognormal:")
    );
}
