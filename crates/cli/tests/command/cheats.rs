//! Every cheating driver is rejected, with the reason that fits; the honest one is not.

use crate::support::{hecaton, run};
use serde_json::Value;

/// A cheat, and words of the reason for which it is rejected.
const CHEATS: [(&str, &str); 6] = [
    ("body-unread", "bodies were not read to their end"),
    ("half-pool", "only 2 of 4 requests were in flight at once"),
    ("reconnects", "connections are not kept alive"),
    ("duplicates", "1 request was sent more than once"),
    ("counts-without-sending", "requests never arrived"),
    ("warms-up-in-secret", "1 request that nobody asked for"),
];

#[test]
fn a_sweep_rejects_cheats_and_ranks_the_honest() {
    let place = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    command.args([
        "sweep",
        "--concurrency",
        "4",
        "--body",
        "133",
        "--delay",
        "5ms",
        "--rounds",
        "1",
    ]);
    command
        .args([
            "--time", "100ms", "--json", "--quiet", "--client", "honest", "--out",
        ])
        .arg(place.path());
    for (cheat, _) in CHEATS {
        command.args(["--client", cheat]);
    }
    let ending = run(&mut command);
    ending.assert(0, &[]);
    assert_eq!(ending.stderr, "");
    let document: Value = serde_json::from_str(&ending.stdout).unwrap();
    assert_eq!(document["rows"].as_array().unwrap().len(), CHEATS.len() + 2);
    let row = |client: &str| {
        let rows = document["rows"].as_array().unwrap();
        rows.iter()
            .find(|row| row["client"] == client)
            .unwrap()
            .clone()
    };
    for client in ["honest", "raw"] {
        assert_eq!(
            (&row(client)["verified"], &row(client)["rejected"]),
            (&Value::Bool(true), &Value::Null)
        );
    }
    for (cheat, words) in CHEATS {
        let row = row(cheat);
        assert_eq!(row["verified"], false, "{cheat}");
        let reason = row["rejected"].as_str().unwrap();
        assert!(reason.contains(words), "{cheat}: {reason}");
    }
    let recommended: Vec<&Value> = document["recommendations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| &line["client"])
        .collect();
    assert_eq!(recommended, ["honest"]);
}

#[test]
fn a_check_finds_the_cheat_and_passes_the_honest() {
    let honest = run(hecaton("cheats").args(["drivers", "check", "honest"]));
    honest.assert(0, &[]);
    assert!(
        !honest.stdout.contains('✗') && honest.stdout.matches('✓').count() > 10,
        "{}",
        honest.stdout
    );

    let cheat = run(hecaton("cheats").args(["drivers", "check", "half-pool"]));
    cheat.assert(1, &["checks failed", "docs/driver-protocol.md"]);
    assert!(cheat.stdout.contains("✓ 1 in flight"), "{}", cheat.stdout);
    assert!(
        cheat.stdout.contains("only 4 of 7 requests were in flight"),
        "{}",
        cheat.stdout
    );
}
