//! A sweep of a server that is not ours: measured, and stamped unverified.

use std::net::TcpListener;

use crate::service::{Service, with_ruby};
use crate::support::{document, hecaton, run};
use hecaton_test_server::{Options, TestServer};
use serde_json::Value;

#[test]
fn rows_are_unverified_and_requests_are_counted_as_requested() {
    let server = TestServer::start(Options::default()).unwrap();
    let url = format!("{}/bytes/100", server.base_url());
    let folder = tempfile::tempdir().unwrap();
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
    let ending = run(command.args(["--json", "--out"]).arg(folder.path()));
    ending.assert(
        0,
        &[
            "1 client, 12 rounds, seed ",
            ": a request takes your service ",
        ],
    );
    let printed: Value = serde_json::from_str(&ending.stdout).unwrap();
    assert_eq!(printed, document(folder.path()));

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
    // Two clients, three rounds each: 20 requests and as many more as are in flight, to open connections; and one try
    // of each process. The first process has also timed the service with four waves, with one in flight and with four.
    let timed = 4 * (1 + 4);
    assert_eq!(
        server.summary().requests,
        2 * 3 * (20 + 1 + 20 + 4 + 1) + timed
    );
}

/// Seconds of the announcement `about 2 min 3 s:`.
fn announced(stderr: &str) -> u64 {
    let about = |line: &str| {
        line.strip_prefix("about ")?
            .split_once(':')
            .map(|(time, _)| time.to_owned())
    };
    let time = stderr
        .lines()
        .find_map(about)
        .unwrap_or_else(|| panic!("{stderr}"));
    let words: Vec<&str> = time.split(' ').collect();
    let pairs = words.chunks(2);
    pairs
        .map(|pair| pair[0].parse::<u64>().unwrap() * if pair[1] == "min" { 60 } else { 1 })
        .sum()
}

/// Two clients send 20 requests in each of three rounds, and one more to open the connection. At 50 ms each that is 6.3 s at
/// least, however fast the machine is.
#[test]
fn the_announced_time_knows_how_long_the_service_takes() {
    let service = Service::start(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        200
    });
    let folder = tempfile::tempdir().unwrap();
    let line = format!("sweep {} 20 3 --client net-http -c 1 --out", service.url);
    let ending = run(with_ruby(&line).arg(folder.path()));
    ending.assert(0, &["1 client, 6 rounds, seed"]);
    let announced = announced(&ending.stderr);
    assert!(announced > 6, "{announced} s: {}", ending.stderr);
}

#[test]
fn the_baseline_loader_reads_chunks_statuses_and_heads() {
    let server = TestServer::start(Options::default()).unwrap();
    for (method, path, done, bytes) in [
        ("GET", "/chunked/3", 10, 240),
        ("HEAD", "/bytes/100", 10, 0),
        ("GET", "/close", 10, 0),
    ] {
        let folder = tempfile::tempdir().unwrap();
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
            .arg(folder.path()))
        .assert(0, &[]);
        let claim = &document(folder.path())["rounds"][0]["claim"];
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

#[test]
fn failures_of_a_service_are_a_figure_and_no_end() {
    let service = Service::start(|number| if number % 20 == 19 { 503 } else { 200 });
    let folder = tempfile::tempdir().unwrap();
    let line = format!(
        "sweep {} 100 3 --client net-http -c 2 --json --quiet --out",
        service.url
    );
    let ending = run(with_ruby(&line).arg(folder.path()));
    ending.assert(0, &[]);
    let printed: Value = serde_json::from_str(&ending.stdout).unwrap();
    let mut rows = printed["rows"].as_array().unwrap().iter();
    let row = rows.find(|row| row["client"] == "net-http").unwrap();
    assert_eq!(row["rejected"], Value::Null);
    let errors = row["errors"].as_u64().unwrap();
    assert!((10..=20).contains(&errors), "{row}");
    let says = row["warnings"].to_string();
    assert!(
        says.contains("of 300 requests failed") && says.contains("status 503"),
        "{says}"
    );
}

#[test]
fn a_status_everywhere_ends_a_run_at_once_with_a_sentence() {
    let service = Service::start(|_| 404);
    let folder = tempfile::tempdir().unwrap();
    let line = format!("sweep {} --client net-http --quiet --out", service.url);
    let ending = run(with_ruby(&line).arg(folder.path()));
    ending.assert(1, &["responds with status 404", &service.url]);
    assert_eq!(service.requests().len(), 1);
    let service = Service::start(|_| 401);
    let line = format!("sweep {} --client net-http --quiet --out", service.url);
    let ending = run(with_ruby(&line).arg(folder.path().join("401")));
    ending.assert(
        1,
        &[
            "responds with status 401",
            "send credentials",
            "Authorization",
        ],
    );
    assert_eq!(service.requests().len(), 1);
}

#[test]
fn the_expected_statuses_are_successes_and_no_others() {
    let sweep = |expect: &str| {
        let service = Service::start(|number| if number % 2 == 1 { 404 } else { 200 });
        let folder = tempfile::tempdir().unwrap();
        let line = format!(
            "sweep {} 40 2 --client net-http -c 1 --json --quiet",
            service.url
        );
        let mut command = with_ruby(&line);
        let ending = run(command
            .args(["--expect", expect, "--out"])
            .arg(folder.path().join("run")));
        let errors = serde_json::from_str::<Value>(&ending.stdout)
            .ok()
            .and_then(|printed| printed["rows"][0]["errors"].as_u64());
        (ending, errors)
    };
    let (ending, errors) = sweep("status == 200 or status == 404");
    ending.assert(0, &[]);
    assert_eq!(errors, Some(0));
    // Every second request of the two rounds.
    assert_eq!(sweep("status == 200").1, Some(40));
    let (ending, _) = sweep("status == 204");
    ending.assert(1, &["responds with status", "`status == 204` was expected"]);
    sweep("status = 200").0.assert(2, &["status == 200"]);
}

#[test]
fn urls_of_a_file_take_turns() {
    let service = Service::start(|_| 200);
    let folder = tempfile::tempdir().unwrap();
    let urls = folder.path().join("urls");
    std::fs::write(&urls, format!("# two\n{0}/a\n{0}/b\n", service.url)).unwrap();
    let line = format!(
        "sweep @{} 40 1 --client net-http -c 2 --quiet --out",
        urls.display()
    );
    run(with_ruby(&line).arg(folder.path().join("run"))).assert(0, &[]);
    let requests = service.requests();
    let of = |path: &str| {
        let begins = format!("GET /api/{path} ");
        requests
            .iter()
            .filter(|request| request.starts_with(&begins))
            .count()
    };
    assert_eq!(of("a") + of("b"), requests.len());
    assert!(
        of("a") >= 20 && of("b") >= 20,
        "{} and {}",
        of("a"),
        of("b")
    );
    let page = std::fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert!(page.contains("and 1 URL more in turn"), "{page}");
}

#[test]
fn header_fields_and_a_body_are_sent_and_their_values_kept_in_no_file() {
    let service = Service::start(|_| 200);
    let folder = tempfile::tempdir().unwrap();
    let body = folder.path().join("body.json");
    std::fs::write(&body, "{\"a\": 1}").unwrap();
    let line = format!(
        "sweep {} 10 1 --client net-http -c 1 --data @{} --quiet",
        service.url,
        body.display()
    );
    let mut command = with_ruby(&line);
    command.args(["-H", "X-Key: a secret", "-H", "Accept: text/html"]);
    run(command.arg("--out").arg(folder.path().join("run"))).assert(0, &[]);
    let requests = service.requests();
    // Of both clients: their tries, the connections that are opened, and the round; and four that time the service.
    assert_eq!(requests.len(), 2 * (1 + 1 + 10) + 4);
    for request in requests.iter() {
        let reported = request.starts_with("POST /api ") && request.ends_with("{\"a\": 1}");
        let fields = request.contains("X-Key: a secret") || request.contains("X-KEY: a secret");
        assert!(
            reported && fields && request.contains("text/html"),
            "{request}"
        );
    }
    for name in ["run.json", "report.html"] {
        let text = std::fs::read_to_string(folder.path().join("run").join(name)).unwrap();
        assert!(
            text.contains("X-Key") && !text.contains("a secret"),
            "{name}"
        );
    }
}

#[test]
fn a_service_over_tls_is_trusted_by_its_own_certificates() {
    let server = TestServer::start(Options {
        tls: Some(hecaton_test_server::Tls::default()),
        ..Options::default()
    })
    .unwrap();
    let url = format!("{}/bytes/100", server.base_url());
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, server.ca_pem().unwrap()).unwrap();
    let line = format!("sweep {url} 20 1 --client net-http -c 1 --quiet");
    let refused = run(with_ruby(&line)
        .arg("--out")
        .arg(folder.path().join("without")));
    refused.assert(1, &["gets no response", "--ca FILE"]);
    let mut command = with_ruby(&line);
    command.arg("--ca").arg(&ca).arg("--out");
    run(command.arg(folder.path().join("with"))).assert(0, &[]);
}

#[test]
fn a_service_at_an_ipv6_address_is_measured() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        return eprintln!("not tried: this machine has no IPv6");
    };
    let service = Service::on(listener, |_| 200, |_, _, _| ());
    let folder = tempfile::tempdir().unwrap();
    let line = format!(
        "sweep {} 20 1 --client net-http,hecaton-net-http,typhoeus -c 1 --quiet --out",
        service.url
    );
    run(with_ruby(&line).arg(folder.path().join("run"))).assert(0, &[]);
    let document = document(&folder.path().join("run"));
    for row in document["rows"].as_array().unwrap() {
        assert_eq!(
            (&row["rejected"], &row["errors"]),
            (&Value::Null, &0.into()),
            "{row}"
        );
    }
}

#[test]
fn two_clients_are_compared_at_a_service_and_any_number_is_ranked() {
    let service = Service::start(|_| 200);
    let folder = tempfile::tempdir().unwrap();
    let line = format!(
        "compare net-http net-http --set keepalive=off --rounds 6 --url {} --quiet --out",
        service.url
    );
    run(with_ruby(&line).arg(folder.path().join("compare"))).assert(0, &[]);
    let compared = document(&folder.path().join("compare"));
    assert_eq!(compared["plan"]["target"]["url"], service.url.as_str());
    let line = format!(
        "shootout net-http --requests 60 --rounds 6 --url {} --quiet --out",
        service.url
    );
    run(with_ruby(&line).arg(folder.path().join("shootout"))).assert(0, &[]);
    let ranked = document(&folder.path().join("shootout"));
    assert_eq!(ranked["ranking"]["clients"][0]["place"], 1);
    let mut command = with_ruby("compare net-http net-http --set tls=on --rounds 6 --url");
    run(command.arg(&service.url)).assert(2, &["only keepalive and concurrency"]);
}

/// Every request waits while the service stalls for a second, once. A client in the closed loop sends none meanwhile,
/// so no more of its latencies are long than are in flight. At a rate, so are those of all requests that are due
/// meanwhile.
#[test]
fn a_service_that_stalls_shows_at_a_rate_and_not_in_the_closed_loop() {
    const IN_FLIGHT: u64 = 4;
    let long = |rate: &str| -> u64 {
        let begun = std::sync::Mutex::new(());
        let service = Service::start(move |number| {
            let _turn = begun.lock().unwrap();
            // Once in the round of each of the two clients: the first has the requests from 22 on, the second those from
            // 226 on.
            if number == 60 || number == 264 {
                std::thread::sleep(std::time::Duration::from_secs(1));
            }
            200
        });
        let folder = tempfile::tempdir().unwrap();
        let mut command = with_ruby(&format!(
            "sweep {} 200 1 --client net-http -c {IN_FLIGHT} --quiet{rate}",
            service.url
        ));
        run(command.arg("--out").arg(folder.path())).assert(0, &[]);
        let document = document(folder.path());
        let mut rounds = document["rounds"].as_array().unwrap().iter();
        let round = rounds.find(|round| round["client"] == "net-http").unwrap();
        let latencies = round["claim"]["latencies_us"].as_array().unwrap().iter();
        let long = latencies.filter(|pair| pair[0].as_u64() >= Some(500_000));
        long.map(|pair| pair[1].as_u64().unwrap()).sum()
    };
    // More if the machine stands still too, which is not so each time.
    let mut closed = (0..5).map(|_| long(""));
    assert!(closed.any(|closed| (1..=IN_FLIGHT).contains(&closed)));
    // 100 a second: those due in the first half of the second wait for more than half a second.
    let at_a_rate = long(" --rate 100");
    assert!(at_a_rate >= 45, "{at_a_rate}");
}

#[test]
fn options_of_a_service_need_a_url() {
    run(hecaton("cheats").args(["sweep", "honest", "-H", "A: b"])).assert(2, &["--header", "URL"]);
    let line = "sweep http://127.0.0.1:9/ 5 --time 1s --client honest";
    run(hecaton("cheats").args(line.split(' '))).assert(2, &["REQUESTS and --time"]);
}

/// With `--server-pid`, the CPU time of a service on this machine is not counted as noise. Without it, the noise is unknown.
#[test]
fn a_named_service_is_told_from_other_programs() {
    let service = Service::start(|_| 200);
    let pid = std::process::id().to_string();
    for named in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("sweep {} 40 1 --client net-http -c 1 --quiet", service.url);
        let mut command = with_ruby(&line);
        if named {
            command.args(["--server-pid", &pid]);
        }
        let ending = run(command.arg("--out").arg(folder.path().join("run")));
        ending.assert(0, &[]);
        for round in document(&folder.path().join("run"))["rounds"]
            .as_array()
            .unwrap()
        {
            let known = [&round["noise"], &round["server_cpu_ns"]].map(|value| !value.is_null());
            assert_eq!(known, [named; 2], "{round}");
        }
        let says = ending
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(named || !says.contains("NOISY"), "{says}");
    }
}
