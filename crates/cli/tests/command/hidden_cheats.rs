//! Cheats that hide behind what the lab does itself: its looks, its checks, its probe, its user, its documents.

use serde_json::Value;

use crate::support::{Ending, hecaton, is_root, run};

/// The document of a sweep, or of a shootout, and how the command ended.
fn measured(line: &str, clients: &str) -> (Value, Ending) {
    let place = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    command.args(line.split(' ')).args(["--json", "--quiet"]);
    command
        .args(["--client", clients, "--out"])
        .arg(place.path());
    let ending = run(&mut command);
    let document = serde_json::from_str(&ending.stdout);
    (document.expect(&ending.stderr), ending)
}

/// Why a client's row was rejected, or why the client was left out; empty if neither is so.
fn reason(document: &Value, client: &str) -> String {
    let rows = document["rows"].as_array().unwrap().iter();
    let rejected = rows
        .filter(|row| row["client"] == client)
        .filter_map(|row| row["rejected"].as_str());
    let left_out = document["left_out"].as_array().into_iter().flatten();
    let about = format!("the driver of {client} ");
    let left_out = left_out
        .filter_map(|why| why.as_str())
        .filter(|why| why.starts_with(&about));
    left_out.chain(rejected).collect::<Vec<_>>().join("; ")
}

fn is_ranked(document: &Value, client: &str) {
    let mut rows = document["rows"].as_array().unwrap().iter();
    let row = rows.rfind(|row| row["client"] == client);
    let row = row.unwrap_or_else(|| panic!("{client} has no row"));
    assert!(row["verified"] == true, "{client}: {}", row["rejected"]);
}

/// Cheats of a sweep, and words of the reason.
const CHEATS: [(&str, &str); 4] = [
    (
        "opens-in-the-probe",
        "connections were opened ahead of the round",
    ),
    ("binds-ports", "descriptors open, and others need ports"),
    // Which of its requests goes wrong first is chance; it may also wait for ever for bytes that do not come.
    (
        "parses-no-http",
        "the checksum is wrong|requests failed|did not reply|status 503|never arrived",
    ),
    ("watches-the-lab", "though all share core"),
];

#[test]
fn cheats_that_know_how_the_lab_looks_are_caught() {
    let names = CHEATS.map(|(cheat, _)| cheat).join(",");
    let line = "sweep -c 8 -b 133 -d 0 --rounds 4 --time 150ms --patience 5s";
    let (document, _) = measured(line, &format!("honest,{names}"));
    for (cheat, words) in CHEATS {
        let alone = std::thread::available_parallelism().unwrap().get() == 1;
        if cheat == "watches-the-lab" && alone {
            continue; // there is no other core
        }
        let says = reason(&document, cheat);
        let told = words.split('|').any(|words| says.contains(words));
        // Where the system lets the lab limit another's descriptors, binding ends early and harms nobody.
        let harmless = cheat == "binds-ports" && says.is_empty();
        assert!(told || harmless, "{cheat}: {says:?}");
    }
    for client in ["honest", "baseline-loader"] {
        is_ranked(&document, client);
    }
}

/// A driver that is started as root could move and stop its rivals: it is left out, and they are measured.
#[test]
fn no_driver_gets_the_user_of_the_lab_by_ending() {
    let line = "sweep -c 2 -b 133 -d 0 --rounds 2 --time 50ms";
    let (document, ending) = measured(line, "honest,exits-to-be-trusted");
    is_ranked(&document, "honest");
    let says = reason(&document, "exits-to-be-trusted");
    if is_root() {
        assert!(
            says.contains("ended") && says.contains("--trust exits-to-be-trusted"),
            "{says}"
        );
        ending.assert(1, &["exits-to-be-trusted"]);
    } else {
        assert!(says.contains("ended"), "{says}");
    }
}

#[test]
fn who_is_trusted_is_measured_and_unverified() {
    let line = "sweep -c 2 -b 133 -d 0 --rounds 2 --time 50ms --trust honest";
    let (document, _) = measured(line, "honest");
    let rows = document["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["client"] == "honest").unwrap();
    assert_eq!(row["rejected"], Value::Null);
    if is_root() {
        assert_eq!(row["verified"], false);
        assert!(row["warnings"].to_string().contains("(--trust)"), "{row}");
    }
    let mut command = hecaton("cheats");
    command.args("sweep -c 2 --rounds 1 --client honest --trust nobody".split(' '));
    run(&mut command).assert(2, &["--trust nobody"]);
}

/// Whatever a client does in its first `prepare` is part of its start.
#[test]
fn work_in_the_first_prepare_counts() {
    let line = "sweep -c 2 -b 133 -d 0 --rounds 2 --time 50ms";
    let (document, _) = measured(line, "honest,loads-in-prepare");
    let starts = document["starts"].as_array().unwrap().iter();
    let own = starts.filter(|start| start["client"] == "loads-in-prepare");
    let first = own.map(|start| start["first_request_ns"].as_u64().unwrap());
    assert!(first.min().unwrap() >= 290_000_000);
}

#[test]
fn a_median_below_the_fastest_of_the_loader_is_refuted() {
    let line = "sweep -c 1 -b 133 -d 0 --rounds 2 --time 100ms";
    let (document, _) = measured(line, "honest,claims-no-latency");
    let says = reason(&document, "claims-no-latency");
    // Where a response was cut in two, fewer latencies are as long as that took.
    let words = [
        "fastest request of the baseline loader",
        "contradict the server's times",
    ];
    assert!(words.iter().any(|words| says.contains(words)), "{says:?}");
    is_ranked(&document, "honest");
}

#[test]
fn numbers_of_a_document_are_neither_computed_nor_found_where_they_stood() {
    let line = "shootout --concurrency 2 --per-thread 60 --rounds 2";
    let (document, _) = measured(line, "honest,computes-the-numbers,learns-the-forms");
    for cheat in ["computes-the-numbers", "learns-the-forms"] {
        let says = reason(&document, cheat);
        let told = says.contains("the checksum") || says.contains("(check value: ");
        assert!(told, "{cheat}: {says:?}");
    }
    is_ranked(&document, "honest");
}

/// Chance decides how many checks there are; a client with three in flight is late at each.
#[test]
fn who_has_three_in_flight_until_it_is_looked_at_is_caught() {
    let line = "sweep -c 8 -b 133 -d 0 --rounds 12 --time 200ms";
    let (document, _) = measured(line, "honest,three-in-flight");
    let says = reason(&document, "three-in-flight");
    assert!(says.contains("were held, and not before"), "{says:?}");
    is_ranked(&document, "honest");
}

#[test]
fn an_untrusted_server_has_a_url_like_any_other() {
    let place = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    let line = "compare looks-at-the-path trusts-anyone --set A:tls=on --set tls=on --rounds 6 --quiet --out";
    run(command.args(line.split(' ')).arg(place.path()));
    let text = std::fs::read_to_string(place.path().join("run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let says = reason(&document, "looks-at-the-path");
    assert!(says.contains("certificates are not verified"), "{says:?}");
}
