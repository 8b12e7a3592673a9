//! Requests at a rate: who keeps it, who cheats, and who cannot.

use std::path::Path;

use serde_json::Value;

use crate::support::{Ending, hecaton, run};

fn sweep(line: &str, folder: &Path) -> Ending {
    let mut command = hecaton("cheats");
    command.args(line.split(' '));
    run(command.args(["--json", "--quiet", "--out"]).arg(folder))
}

fn document(line: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let ending = sweep(line, folder.path());
    serde_json::from_str(&ending.stdout).expect(&ending.stderr)
}

fn rows<'a>(document: &'a Value, list: &str, client: &str) -> Vec<&'a Value> {
    let all = document[list].as_array().unwrap().iter();
    all.filter(|row| row["client"] == client).collect()
}

#[test]
fn every_request_is_sent_when_it_is_due_and_the_server_says_how_late() {
    let document = document(
        "sweep -c 8 -b 133 -d 0 --rate 40,poisson:60 --rounds 2 --time 500ms --client honest",
    );
    for client in ["honest", "baseline-loader"] {
        let rates = rows(&document, "rates", client);
        assert_eq!(rates.len(), 2, "{document}");
        for (at, requested) in rates.iter().zip([("40", 40.0), ("poisson:60", 60.0)]) {
            assert_eq!(
                (at["rate"].as_str(), at["per_second"].as_f64()),
                (Some(requested.0), Some(requested.1))
            );
            assert_eq!(at["rejected"], Value::Null, "{at}");
        }
        for round in rows(&document, "rounds", client) {
            let per_second = round["per_second"].as_f64().unwrap();
            assert_eq!(round["count"].as_f64().unwrap(), per_second / 2.0);
            let counted = |list: &Value| -> u64 {
                let pairs = list.as_array().unwrap().iter();
                pairs.map(|pair| pair[1].as_u64().unwrap()).sum()
            };
            assert_eq!(
                counted(&round["seen"]["behind"]),
                round["count"].as_u64().unwrap()
            );
            assert_eq!(round["seen"]["early"], Value::Null);
            // A round lasts as long as its last request is due, however fast its client is.
            if per_second == 40.0 {
                assert!(round["wall_ns"].as_u64().unwrap() >= 19 * 25_000_000);
            }
        }
    }
}

/// With one connection and responses of 50 ms, at 40 a second each request waits for all before it. The server's own
/// times refute a driver that leaves this wait out of its latencies, and a driver that sends before requests are due.
#[test]
fn who_leaves_waiting_out_and_who_ignores_the_rate_are_rejected() {
    let document = document(
        "sweep -c 1 -b 133 -d fixed:50ms --rate 40 --rounds 2 --time 1s --client honest,omits-its-delay,trims-its-tail,ignores-the-rate",
    );
    let reason = |client: &str| rows(&document, "rows", client)[0]["rejected"].to_string();
    assert_eq!(reason("honest"), "null");
    for client in ["omits-its-delay", "trims-its-tail"] {
        let says = reason(client);
        assert!(
            says.contains("after the request was due"),
            "{client}: {says}"
        );
    }
    let says = reason("ignores-the-rate");
    assert!(says.contains("arrived before they were due"), "{says}");
    let honest = rows(&document, "rates", "honest")[0];
    // The last of 40 requests is due after 0.975 s, and waits for 39 responses of 50 ms.
    assert!(
        honest["behind_p99_ms"].as_f64().unwrap() > 500.0,
        "{honest}"
    );
    assert!(honest["p50_ms"].as_f64().unwrap() > 400.0, "{honest}");
}

#[test]
fn a_share_is_one_of_the_clients_own_speed() {
    let document = document(
        "sweep -c 4 -b 133 -d fixed:20ms --rate 25%,50% --rounds 2 --time 300ms --p99 10s --client honest",
    );
    let rates = rows(&document, "rates", "honest");
    let per_second: Vec<f64> = rates
        .iter()
        .map(|at| at["per_second"].as_f64().unwrap())
        .collect();
    // Four in flight do no more than 200 a second where each response takes 20 ms.
    assert!(
        (per_second[1] / per_second[0] - 2.0).abs() < 1e-6 && per_second[1] <= 100.0,
        "{per_second:?}"
    );
}

#[test]
fn who_cannot_send_at_a_rate_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    let line = "sweep -c 2 -b 133 -d 0 --rate 50 --rounds 2 --time 100ms --client sends-in-waves --quiet --out";
    command.args(line.split(' ')).arg(folder.path().join("run"));
    run(&mut command).assert(2, &["sends-in-waves cannot send requests at a rate"]);
    for (line, words) in [
        ("sweep --rate 0 --client honest", "`0` is not a rate"),
        ("sweep --share 0.9 --rate 50 --client honest", "--rate"),
    ] {
        run(hecaton("cheats").args(line.split(' '))).assert(2, &[words]);
    }
}

/// A check has the same rules as a sweep. One more finds a driver that waits for responses at a rate, which a sweep
/// only shows as late.
#[test]
fn a_check_finds_who_ignores_a_rate_and_who_waits_for_responses() {
    for (client, words) in [
        ("ignores-the-rate", "arrived before they were due"),
        (
            "waits-at-a-rate",
            "1 requests were in flight at once, though 7 were due",
        ),
    ] {
        let ending = run(hecaton("cheats").args(["drivers", "check", client]));
        ending.assert(1, &["The driver protocol"]);
        assert!(ending.stdout.contains(words), "{}", ending.stdout);
    }
}
