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

/// Cheats of a shootout, and words of the reason: values of the JSON that are wrong, and claims that the ledger refutes.
const CHEATS_OF_A_SHOOTOUT: [(&str, &str); 4] = [
    ("json-guessed", "the sum of the tokens"),
    ("json-mistaken", "10 of 10 requests failed (token: 10)"),
    ("half-pool", "only 2 of 4 requests were in flight at once"),
    ("reconnects", "connections are not kept alive"),
];

#[test]
fn a_shootout_ranks_only_who_read_the_value_and_did_what_was_claimed() {
    let place = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    command
        .args([
            "shootout",
            "honest",
            "--concurrency",
            "4",
            "--per-thread",
            "5",
        ])
        .args([
            "--rounds", "2", "--delay", "5ms", "--json", "--quiet", "--out",
        ])
        .arg(place.path())
        .args(CHEATS_OF_A_SHOOTOUT.map(|(cheat, _)| cheat));
    let ending = run(&mut command);
    ending.assert(0, &[]);
    assert_eq!(ending.stderr, "");
    let document: Value = serde_json::from_str(&ending.stdout).unwrap();
    let clients = document["ranking"]["clients"].as_array().unwrap();
    let of = |name: &str| {
        clients
            .iter()
            .find(|client| client["client"] == name)
            .unwrap()
    };
    assert_eq!(
        (&of("honest")["place"], &of("honest")["not_ranked"]),
        (&1.into(), &Value::Null)
    );
    for (cheat, words) in CHEATS_OF_A_SHOOTOUT {
        let reason = of(cheat)["not_ranked"].as_str().unwrap_or("it is ranked");
        assert!(
            of(cheat)["place"].is_null() && reason.contains(words),
            "{cheat}: {reason}"
        );
    }
    let page = std::fs::read_to_string(place.path().join("report.html")).unwrap();
    assert!(page.contains("honest is the only one that could be ranked"));
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

    let careless = run(hecaton("cheats").args(["drivers", "check", "trusts-anyone"]));
    careless.assert(1, &["docs/driver-protocol.md"]);
    let words = "an authority that it was not told to trust: 5 requests had to fail";
    assert!(careless.stdout.contains(words), "{}", careless.stdout);
}

#[test]
fn a_run_of_which_nothing_holds_fails_and_is_not_written_over() {
    let place = tempfile::tempdir().unwrap();
    let sweep = |force: &[&str]| {
        let mut command = hecaton("cheats");
        command.args("sweep --concurrency 4 --body 133 --delay 0 --rounds 1 --time 20ms --client duplicates --out".split(' '));
        run(command.arg(place.path()).args(force))
    };
    let ending = sweep(&[]);
    ending.assert(1, &["every row was rejected"]);
    assert!(
        ending.stdout.contains("Verdict") && ending.stdout.contains("Rejected"),
        "{}",
        ending.stdout
    );
    sweep(&[]).assert(2, &["holds a run already", "--force"]);
    sweep(&["--force"]).assert(1, &["every row was rejected"]);
    let page = std::fs::read_to_string(place.path().join("report.html")).unwrap();
    let (_, command) = page.split_once("Measure it again").unwrap();
    let command = command.split("</code>").next().unwrap();
    assert!(
        command.contains("--client duplicates") && !command.contains("--out"),
        "{command}"
    );
}
