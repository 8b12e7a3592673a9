//! `hecaton measure`: a program without a driver, by the log of its server.

use serde_json::Value;

use crate::support::{Ending, hecaton, run};

/// Requests three pages on one connection, one of them twice.
const THREE: &str = r#"
require "socket"
socket = TCPSocket.new(*ENV.fetch("HECATON_URL").delete_prefix("http://").split(":"))
[1, 2, 2].each do |id|
  socket.write("GET /r/#{id} HTTP/1.1\r\nHost: x\r\n\r\n")
  socket.read(socket.gets("\r\n\r\n")[/content-length: (\d+)/i, 1].to_i)
end
"#;

/// Requests two bodies that no buffer holds, and leaves them when they have begun; then takes a page whole.
const LEAVES: &str = r#"
require "socket"
2.times.map { TCPSocket.new(*ARGV[0].delete_prefix("http://").split(":")) }
  .each { |socket| socket.write("GET #{ARGV[1]} HTTP/1.1\r\nHost: x\r\n\r\n") }
  .each { |socket| socket.readpartial(10) }
  .each(&:close)
socket = TCPSocket.new(*ARGV[0].delete_prefix("http://").split(":"))
socket.write("GET /r/1 HTTP/1.1\r\nHost: x\r\n\r\n")
socket.read(socket.gets("\r\n\r\n")[/content-length: (\d+)/i, 1].to_i)
"#;

fn measure(options: &[&str], program: &[&str]) -> Ending {
    let mut command = hecaton("cheats");
    run(command.arg("measure").args(options).arg("--").args(program))
}

#[test]
fn the_log_of_each_run_counts_what_the_program_sent() {
    let ending = measure(&["-r", "2", "--json", "-b", "200"], &["ruby", "-e", THREE]);
    ending.assert(0, &[]);
    let shown: Value = serde_json::from_str(&ending.stdout).unwrap();
    let runs = shown["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for run in runs {
        let server = &run["server"];
        let counts = [
            "requests",
            "duplicates",
            "connections",
            "reused",
            "peak_in_flight",
            "body_bytes_out",
        ];
        let counts = counts.map(|name| server[name].as_u64().unwrap());
        assert_eq!(
            counts,
            [3, 1, 1, 2, 1, 600],
            "each run has a server of its own"
        );
        assert!(run["cpu_ns"].as_u64() > Some(0) && run["wall_ns"].as_u64() > Some(0));
        assert!(run["peak_rss_kb"].as_u64() > Some(0));
    }
}

/// Each column of `--fail-if`, with a limit that the program is within and one that it is not.
#[test]
fn a_run_beyond_a_limit_ends_with_status_3() {
    let limits = [
        ("time > 1000s", "time > 0.001ms"),
        ("cpu > 1000s", "cpu > 0.001ms"),
        ("requests > 3", "requests < 4"),
        ("speed < 0", "speed > 0"),
        ("in-flight > 1", "in-flight < 2"),
        ("connections > 1", "connections >= 1"),
        ("reused < 2", "reused < 3"),
        ("duplicates > 1", "duplicates > 0"),
        ("whole < 3", "whole > 2"),
        ("cut > 0", "cut <= 0"),
        ("bytes > 600", "bytes >= 600"),
        ("memory > 100G", "memory > 1M"),
    ];
    let ran = |limits: &[&str]| {
        let mut options = vec!["-r", "1", "-b", "200"];
        options.extend(limits.iter().flat_map(|limit| ["--fail-if", limit]));
        measure(&options, &["ruby", "-e", THREE])
    };
    let within: Vec<_> = limits.iter().map(|(within, _)| *within).collect();
    ran(&within).assert(0, &[]);
    let beyond: Vec<_> = limits.iter().map(|(_, beyond)| *beyond).collect();
    let named = limits.map(|(_, beyond)| format!("run 1: {} ", beyond.split(' ').next().unwrap()));
    let ending = ran(&beyond);
    ending.assert(3, &named.each_ref().map(String::as_str));
    ending.assert(3, &["run 1: requests 3 is below 4"]);
    assert!(ending.stdout.contains("Unverified"), "{}", ending.stdout);
    ran(&["p99 > 1ms"]).assert(2, &["no column is called `p99`", "in-flight"]);
    let example = "time > 2s";
    ran(&["time 2s"]).assert(2, &[&format!("as in '{example}'")]);
    ran(&[example]).assert(0, &[]);
}

#[test]
fn responses_that_the_program_left_are_shown() {
    for (path, elsewhere) in [("/bytes/100000000", true), ("/r/2", false)] {
        let options = ["-r", "1", "-b", "20000000"];
        let ending = measure(&options, &["ruby", "-e", LEAVES, "{url}", path]);
        ending.assert(0, &[]);
        let figure = |name: &str| {
            let mut lines = ending.stdout.lines();
            let line = lines.find_map(|line| line.strip_prefix(name)?.split_whitespace().last());
            let figure = line.expect(&ending.stdout).replace(',', "");
            figure.parse::<u64>().expect(&ending.stdout)
        };
        assert_eq!(figure("requests  "), 3, "{}", ending.stdout);
        assert_eq!(figure("responses written whole"), 1);
        assert_eq!(figure("responses cut short"), 2);
        assert_eq!(figure("connections"), 3);
        let bytes = figure("bytes of bodies written");
        assert!((20_000_020..60_000_000).contains(&bytes), "{bytes}");
        let said = ending.stdout.contains("2 of the requests were for other");
        assert_eq!(said, elsewhere, "{}", ending.stdout);
        for words in ["run 1", "Unverified", "MB of memory"] {
            assert!(ending.stdout.contains(words), "{}", ending.stdout);
        }
        assert!(!ending.stdout.contains("median"), "{}", ending.stdout);
    }
}

#[test]
fn other_paths_and_several_runs_are_said() {
    let get = "require 'net/http'; puts Net::HTTP.get_response(URI(ARGV[0])).code";
    let ending = measure(&["--show-output"], &["ruby", "-e", get, "{url}/status/404"]);
    ending.assert(0, &[]);
    assert_eq!(
        ending.stdout.matches("404\n").count(),
        3,
        "{}",
        ending.stdout
    );
    for words in ["median", "run 3", "3 of the requests were for other paths"] {
        assert!(ending.stdout.contains(words), "{}", ending.stdout);
    }
    assert!(!ending.stdout.contains("got 404"), "{}", ending.stdout);
}

#[test]
fn a_path_that_the_server_does_not_have_is_said() {
    let get = "require 'net/http'; Net::HTTP.get(URI(ARGV[0]))";
    let ending = measure(&["-r", "1"], &["ruby", "-e", get, "{url}/users/1"]);
    ending.assert(0, &[]);
    for words in [
        "1 of the requests was for another path",
        "1 of the requests got 404",
        "/r/1, /r/2",
    ] {
        assert!(ending.stdout.contains(words), "{}", ending.stdout);
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    measure(&[], &["true"]).assert(2, &["sent no request", "{url}", "HECATON_URL"]);
    measure(&[], &["false"]).assert(1, &["ended with status 1"]);
    measure(&[], &["sh", "-c", "kill -9 $$"]).assert(1, &["a signal ended"]);
    measure(&[], &["no-such-program"]).assert(1, &["cannot start `no-such-program`"]);
    measure(&[], &["echo a b"]).assert(1, &["sh -c"]);
    measure(&["-r", "0"], &["true"]).assert(2, &["--runs"]);
}

#[test]
fn a_program_without_dashes_before_it_is_refused_with_the_right_line() {
    for (line, meant) in [
        (
            "ruby x.rb {url} -r 5",
            "hecaton measure -- ruby x.rb '{url}' -r 5",
        ),
        (
            "-r 2 curl --silent {url}",
            "hecaton measure -r 2 -- curl --silent '{url}'",
        ),
        ("-r 2 make -- all", "hecaton measure -r 2 -- make -- all"),
    ] {
        let ending = run(hecaton("cheats").arg("measure").args(line.split(' ')));
        ending.assert(2, &["write `--` between", meant]);
    }
    for (line, unknown) in [
        ("-r 1 --out x -- curl {url}", "measure has no option --out"),
        ("-r1 -- curl {url}", "measure has no option -r1"),
    ] {
        let ending = run(hecaton("cheats").arg("measure").args(line.split(' ')));
        ending.assert(2, &[unknown, "hecaton measure --help"]);
    }
    run(hecaton("cheats").arg("measure")).assert(2, &["hecaton measure [OPTIONS] -- <COMMAND>..."]);
}
