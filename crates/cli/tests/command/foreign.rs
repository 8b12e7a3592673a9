//! A sweep of a server that is not ours: measured, and stamped unverified.

use crate::support::{document, hecaton, run};
use hecaton_test_server::{Options, TestServer};
use serde_json::Value;

#[test]
fn rows_are_unverified_and_requests_are_counted_as_asked() {
    let server = TestServer::start(Options::default()).unwrap();
    let url = format!("{}/bytes/100", server.base_url());
    let place = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    command.args([
        "sweep",
        "GET",
        &url,
        "20",
        "3",
        "--client",
        "honest",
        "--concurrency",
        "1,4",
    ]);
    let ending = run(command
        .args(["--json", "--quiet", "--out"])
        .arg(place.path()));
    ending.assert(0, &[]);
    let printed: Value = serde_json::from_str(&ending.stdout).unwrap();
    assert_eq!(printed, document(place.path()));

    let rows = printed["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        assert_eq!(row["verified"], false);
        assert_eq!(
            (&row["connections"], &row["errors"]),
            (&Value::Null, &Value::from(0))
        );
    }
    let rounds = printed["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 12);
    for round in rounds {
        assert_eq!(
            (&round["seen"], &round["probe"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(
            (&round["claim"]["done"], &round["claim"]["bytes"]),
            (&Value::from(20), &Value::from(2000))
        );
    }
    // Two clients, three rounds each: 20 requests and as many more as are in flight, to open connections.
    assert_eq!(server.summary().requests, 2 * 3 * (20 + 1 + 20 + 4));
}

#[test]
fn the_raw_loader_reads_chunks_statuses_and_heads() {
    let server = TestServer::start(Options::default()).unwrap();
    for (method, path, done, bytes) in [
        ("GET", "/chunked/3", 10, 240),
        ("GET", "/status/500", 0, 0),
        ("HEAD", "/bytes/100", 10, 0),
        ("GET", "/close", 10, 0),
    ] {
        let place = tempfile::tempdir().unwrap();
        let mut command = hecaton("cheats");
        command.args([
            "sweep",
            method,
            &format!("{}{path}", server.base_url()),
            "10",
            "1",
            "--client",
            "baseline-loader",
        ]);
        run(command
            .args(["--concurrency", "2", "--quiet", "--out"])
            .arg(place.path()))
        .assert(0, &[]);
        let claim = &document(place.path())["rounds"][0]["claim"];
        assert_eq!(
            (&claim["done"], &claim["errors"]),
            (&Value::from(done), &Value::from(10 - done)),
            "{path}"
        );
        if path != "/close" {
            assert_eq!(claim["bytes"], bytes, "{path}");
        }
    }
}
