//! A run is watched without a person: by a scraper, and by its log.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::support::{World, end_of, ending};

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The samples that Prometheus' own parser finds in a text, a line each; none if that parser is not installed.
fn parsed(text: &str) -> Option<String> {
    let python = std::env::var("HECATON_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let program = "import sys\n\
                   try: from prometheus_client.openmetrics.parser import text_string_to_metric_families as read\n\
                   except ImportError: sys.exit(77)\n\
                   for family in read(sys.stdin.read()):\n\
                   \x20for sample in family.samples: print(family.type, sample.name, sample.labels.get('outcome', '-'), sample.value)";
    let mut command = Command::new(python);
    command
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let ended = end_of(child);
    if ended.status == Some(77) {
        eprintln!("not checked: Python has no prometheus_client");
        return None;
    }
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    Some(ended.stdout)
}

#[test]
fn a_scraper_sees_how_far_a_run_is_and_a_log_has_lines_of_json() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let urls = (0..40).map(|n| format!("{base}/delay/1?{n}"));
    let slow = [format!("{base}/delay/3600000"), "not a URL".to_owned()];
    let list = world.write("urls.txt", urls.chain(slow));
    let arguments = [
        "--metrics",
        "127.0.0.1:0",
        "--log-every",
        "100ms",
        "--timeout",
        "2h",
    ];
    let mut child = world.fetch(&list, &arguments).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let address = lines.find_map(|line| {
        let rest = line.strip_prefix("metrics: http://")?;
        Some(rest.strip_suffix("/metrics")?.to_owned())
    });
    let address = address.unwrap();
    // Once a line of the log says that all inputs but one are done, the metrics say so too.
    let line = lines.find_map(|line| {
        let line: serde_json::Value = serde_json::from_str(&line).ok()?;
        let is_waiting = line["records"] == 41 && line["in_flight"] == 1;
        is_waiting.then_some(line)
    });
    let line = line.unwrap();
    for (key, value) in [
        ("inputs", 42),
        ("ok", 40),
        ("in_flight", 1),
        ("parts", 1),
        ("parts_done", 0),
    ] {
        assert_eq!(line[key], value, "{key}: {line}");
    }
    let response = get(&address, "/metrics");
    let (head, text) = response.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains("application/openmetrics-text; version=1.0.0"),
        "{head}"
    );
    for sample in [
        "hecaton_fetch_records_total{outcome=\"response\"} 40\n",
        "hecaton_fetch_records_total{outcome=\"invalid\"} 1\n",
        "hecaton_fetch_inputs 42\n",
        "hecaton_fetch_in_flight 1\n",
    ] {
        assert!(text.contains(sample), "{text}");
    }
    if let Some(found) = parsed(text) {
        assert!(
            found.contains("counter hecaton_fetch_records_total response 40"),
            "{found}"
        );
        assert_eq!(found.lines().count(), 16, "{found}");
    }
    assert!(get(&address, "/").starts_with("HTTP/1.1 404 "));
    // A client that sends nonsense and goes away does not disturb the next one.
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(&[b'x'; 20_000]).unwrap_or_default();
    drop(stream);
    assert!(get(&address, "/metrics?x").ends_with("# EOF\n"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn silent_clients_do_not_delay_a_scraper() {
    let world = World::new();
    let list = world.write(
        "urls.txt",
        [format!("{}/delay/3600000", world.server.base_url())].into_iter(),
    );
    let arguments = ["--metrics", "127.0.0.1:0", "--timeout", "2h"];
    let mut run = world.fetch(&list, &arguments).spawn().unwrap();
    let mut said = BufReader::new(run.stderr.take().unwrap()).lines();
    let address = said.find_map(|line| {
        let line = line.unwrap();
        let rest = line.strip_prefix("metrics: http://")?;
        rest.strip_suffix("/metrics").map(str::to_owned)
    });
    let address = address.expect("an address");
    // Each is waited for, for as long as it is connected.
    let silent: Vec<_> = (0..5)
        .map(|_| TcpStream::connect(&address).unwrap())
        .collect();
    assert!(get(&address, "/metrics").contains("200 OK"));
    for mut stream in silent {
        stream.set_nonblocking(true).unwrap();
        let read = stream.read(&mut [0; 1]);
        let is_waited_for = read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(is_waited_for, "the scraper was served behind it");
    }
    run.kill().unwrap();
    run.wait().unwrap();
}

#[test]
fn an_address_that_cannot_be_used_is_refused_before_anything_is_sent() {
    let world = World::new();
    let list = world.list(0..3);
    for bad in ["nonsense", "127.0.0.1"] {
        let refused = ending(&mut world.fetch(&list, &["--metrics", bad]));
        assert_eq!(refused.status, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains("--metrics"), "{}", refused.stderr);
    }
    assert_eq!(world.server.summary().requests, 0);
}
