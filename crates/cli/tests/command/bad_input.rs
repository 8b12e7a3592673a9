//! A wrong command line gets one sentence that says what to do, and status 2; what cannot be done, status 1.

use std::net::TcpListener;

use hecaton_test_server::ClosedPort;

use crate::support::{hecaton, run};

fn refused(arguments: &[&str], words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let ending = run(hecaton("cheats").args(arguments).current_dir(folder.path()));
    ending.assert(2, words);
    assert_eq!(ending.stdout, "");
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "{arguments:?} left something"
    );
}

/// Whatever takes a time takes none without its unit: 50 would be 50 seconds to one reader, and 50 ms to another.
#[test]
fn a_number_without_a_unit_is_no_time() {
    let times = "sweep --p99 50|sweep --time 50|sweep --delay 50|sweep --delay fixed:50|shootout --delay 50|\
                 compare a b --delay 50|compare a b --set delay=50|compare sync-async a --delay 50|serve --delay 50|\
                 fetch list --timeout 50|fetch list --connect-timeout 50|fetch list --first-byte-timeout 50|\
                 fetch list --read-timeout 50|fetch list --breaker-cooldown 50|fetch list --wait-out 50|\
                 fetch list --max-retry-after 50|fetch list --log-every 50";
    for line in times.split('|') {
        let words: Vec<&str> = line.split(' ').collect();
        refused(&words, &["50 has no unit: write 50ms or 50s"]);
    }
    let gate = ["report", "a", "b", "--fail-if-worse", "5"];
    refused(&gate, &["5 has no unit: write 5%"]);
    for line in [
        "sweep --memory 50",
        "sweep --fail-if memory>50",
        "measure --fail-if memory>50 -- true",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        refused(&words, &["50 has no unit: write 50M or 50G"]);
    }
}

/// Not when a job that is watched has ended.
#[test]
fn a_limit_of_a_status_is_read_before_the_job() {
    let line = ["fetch", "status", "nowhere", "--fail-if", "x"];
    refused(&line, &["the expression \"x\" cannot be read"]);
}

#[test]
fn clients_that_are_not_there() {
    for command in ["sweep", "shootout", "compare honest", "drivers check"] {
        let words: Vec<&str> = command.split(' ').chain(["mine"]).collect();
        refused(
            &words,
            &[
                "no client is called `mine`",
                "`--drivers FOLDER` adds your own",
            ],
        );
    }
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().to_str().unwrap();
    for line in [
        "sweep honest",
        "shootout honest",
        "compare honest honest",
        "drivers",
    ] {
        for (folder, says) in [
            ("/nowhere", "--drivers /nowhere: cannot list the folder"),
            (empty, "the folder holds no client's manifest"),
        ] {
            let words: Vec<&str> = line.split(' ').chain(["--drivers", folder]).collect();
            refused(&words, &[says]);
        }
    }
}

#[test]
fn comparisons_that_cannot_be_made() {
    refused(
        &["sweep", "--client", "honset"],
        &["no client is called `honset`", "did you mean honest?"],
    );
    refused(
        &["drivers", "check", "nobody"],
        &[
            "no client is called `nobody`",
            "`hecaton drivers` lists them all",
        ],
    );
    refused(
        &["sweep", "--concurrency", "0"],
        &["concurrency 0 sends nothing"],
    );
    refused(
        &["sweep", "--concurrency", "many"],
        &["'many'", "--concurrency", "not a whole number"],
    );
    refused(
        &["sweep", "--body", "4"],
        &["too short for the check value"],
    );
    refused(&["sweep", "--delay", "soon"], &["soon", "lognormal:"]);
    refused(&["sweep", "--time", "0"], &["'0'", "200ms"]);
    refused(
        &[
            "compare", "a", "b", "--set", "tls=on", "A:tls=on", "tls=off",
        ],
        &["tls of B stands twice"],
    );
    for command in ["sweep", "shootout"] {
        refused(
            &[command, "--clients", "honest", "--set", "tls=on", "tls=off"],
            &["tls stands twice; write tls=on,off"],
        );
    }
    refused(&["sweep", "--rounds", "0"], &["0 rounds measure nothing"]);
    refused(
        &["sweep", "--concurrency", "100000000", "--client", "honest"],
        &["open files", "ulimit"],
    );
    refused(&["sweep", "GET"], &["<URL>"]);
    refused(
        &["sweep", "localhost:3000"],
        &["`localhost:3000` has no scheme; did you mean http://localhost:3000?"],
    );
    refused(
        &["sweep", "--clients", ""],
        &["a name of a client is empty"],
    );
    refused(&["shootout", ""], &["a name of a client is empty"]);
    refused(&["compare", "--client", "honest"], &["two clients, and 1"]);
    refused(&["serve", "--body", "1"], &["8"]);
    refused(&["serve", "--tls=rusty"], &["'rusty'", "self-signed"]);
    refused(&["serve", "--tls-client"], &["--tls"]);
    refused(&["serve", "--chaos", "rest=1%"], &["rest=1%", "reset=1%"]);
    refused(
        &["shootout", "honset"],
        &["no client is called `honset`", "did you mean honest?"],
    );
    refused(
        &[
            "sweep",
            "--client",
            "honest,honset",
            "-c",
            "1",
            "-b",
            "133,2000",
        ],
        &["no client is called `honset`"],
    );
    refused(
        &["shootout", "--skip", "nobody"],
        &["no client is called `nobody`"],
    );
    refused(
        &["shootout", "honest", "--skip", "honest"],
        &["no client is left"],
    );
    refused(&["shootout", "honest", "--requests", "0"], &["0 requests"]);
    refused(
        &["shootout", "honest", "--concurrency", "0"],
        &["0 requests in flight"],
    );
    refused(
        &["shootout", "--job", "post"],
        &["no job is called post", "get-16k-json"],
    );
    refused(
        &["shootout", "honest", "--baseline", "half-pool"],
        &["half-pool is not measured"],
    );
    refused(
        &["shootout", "--requests", "9", "--per-thread", "3"],
        &["--per-thread", "--requests"],
    );
    refused(&["conquer"], &["unrecognized subcommand 'conquer'"]);
}

#[test]
fn more_in_flight_than_the_driver_can() {
    let arguments = [
        "sweep",
        "--client",
        "honest",
        "--concurrency",
        "101",
        "--body",
        "133",
    ];
    refused(
        &arguments,
        &["honest cannot keep 101 requests in flight, but 100 at most"],
    );
}

#[test]
fn targets_that_may_not_be_loaded() {
    refused(
        &["sweep", "GET", "http://192.0.2.1/"],
        &["192.0.2.1 is not this machine", "--i-own-this-host"],
    );
    refused(
        &["sweep", "GET", "gopher://127.0.0.1/"],
        &["neither http nor https"],
    );
    refused(
        &["sweep", "GET", "http://127.0.0.1/", "0"],
        &["REQUESTS is 0"],
    );
    refused(
        &["sweep", "GET", "http://127.0.0.1/", "50"],
        &["a round of 50 cannot keep 200 requests in flight"],
    );
    refused(
        &["sweep", "GET", "http://127.0.0.1/", "500", "0"],
        &["0 rounds"],
    );
    refused(
        &["sweep", "GET", "http://127.0.0.1/", "--delay", "1ms"],
        &["--delay"],
    );
}

#[test]
fn a_target_that_is_not_there() {
    let closed = ClosedPort::take().unwrap();
    let url = format!("http://{}/", closed.address());
    let folder = tempfile::tempdir().unwrap();
    let ending = run(hecaton("cheats")
        .args(["sweep", "--client", "honest", "GET", &url])
        .current_dir(folder.path()));
    ending.assert(
        1,
        &[&url, "cannot be reached", "refused", "start its server"],
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_port_in_use() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let ending = run(hecaton("cheats").args(["serve", "--listen", &address]));
    ending.assert(1, &[&address, "in use", "port 0"]);
}

#[test]
fn a_server_for_everybody_without_its_option() {
    let ending = run(hecaton("cheats").args(["serve", "--listen", "0.0.0.0:0"]));
    ending.assert(2, &["0.0.0.0:0", "--expose", "127.0.0.1"]);
    let ending = run(hecaton("cheats").args(["serve", "--faults"]));
    ending.assert(2, &["--expose"]);
}

#[test]
fn a_place_that_cannot_be_written() {
    let ending =
        run(hecaton("cheats").args(["sweep", "--client", "honest", "--out", "/proc/nowhere"]));
    ending.assert(2, &["/proc/nowhere", "--out"]);
}

#[test]
fn a_project_that_is_not_there() {
    let ending = run(hecaton("cheats")
        .args(["sweep"])
        .env("HECATON_ROOT", "/nowhere"));
    ending.assert(
        1,
        &["HECATON_ROOT is /nowhere", "scenarios/bench/sweep.toml"],
    );
}

#[test]
fn a_closed_stderr_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = hecaton("cheats");
    command.args(["sweep", "honest", "-c", "1", "-b", "133", "-r", "1"]);
    let ending = command
        .args(["-o", "run"])
        .current_dir(folder.path())
        .stderr(writer)
        .output()
        .unwrap();
    assert_eq!(ending.status.code(), Some(0));
    assert!(folder.path().join("run/run.json").exists());
}
