//! Cheats that hide behind what the lab does itself: its looks, its checks, its probe, its user, its documents.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{hecaton, is_root, measured, root, run};

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
    let row = row.unwrap_or_else(|| panic!("{client} has no row: {}", document["left_out"]));
    assert!(row["verified"] == true, "{client}: {}", row["rejected"]);
}

/// The warnings of a client's row.
fn warnings(document: &Value, client: &str) -> String {
    let mut rows = document["rows"].as_array().unwrap().iter();
    let row = rows.find(|row| row["client"] == client).unwrap();
    row["warnings"].to_string()
}

/// Cheats of a sweep, and words of the reason.
const CHEATS: [(&str, &str); 3] = [
    // It runs as a user who may not read the lab's memory, so it knows no sum.
    ("reads-the-lab", "the checksum is wrong"),
    // Which of its requests goes wrong first is chance; it may also wait for ever for bytes that do not come.
    (
        "parses-no-http",
        "the checksum is wrong|requests failed|did not reply|status 503|never arrived",
    ),
    (
        "uses-http-1.0",
        "arrived over HTTP/1.0, though HTTP/1.1 was required",
    ),
];

#[test]
fn cheats_that_know_how_the_lab_looks_are_caught() {
    let names = CHEATS.map(|(cheat, _)| cheat).join(",");
    let line = "sweep -c 8 -b 133 -d 0 --rounds 4 --time 150ms";
    let (document, _) = measured(line, &format!("honest,{names}"));
    for (cheat, words) in CHEATS {
        let says = reason(&document, cheat);
        let reported = words.split('|').any(|words| says.contains(words));
        assert!(reported, "{cheat}: {says:?}");
    }
    for client in ["honest", "baseline-loader"] {
        is_ranked(&document, client);
    }
}

/// The largest number before these words in the error output of a driver that was measured beside an honest one.
fn most_in_log(cheat: &str, words: &str) -> u32 {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    let line = "sweep -c 2 -b 133 -d 0 --rounds 2 --time 50ms --json --quiet --out";
    command.args(line.split(' ')).arg(folder.path());
    let ending = run(command.args(["--client", &format!("honest,{cheat}")]));
    let document: Value = serde_json::from_str(&ending.stdout).expect(&ending.stderr);
    is_ranked(&document, "honest");
    let log = folder.path().join(format!("drivers/{cheat}-0.log"));
    let log = std::fs::read_to_string(log).unwrap();
    let numbers = log.lines().filter_map(|line| line.strip_suffix(words));
    let numbers = numbers.map(|number| number.trim().parse().unwrap());
    numbers.max().expect(&log)
}

#[test]
fn nobody_takes_the_ports_of_others() {
    let bound = most_in_log("binds-ports", "ports bound");
    assert!(bound <= 4096, "{bound}");
}

/// Only for a user of its own can the system limit how many processes a driver has.
#[test]
fn nobody_takes_all_process_ids() {
    if !is_root() {
        return eprintln!("not tried: drivers have no users of their own");
    }
    let started = most_in_log("fills-the-process-table", "processes started");
    assert!(started <= 1032, "{started}");
}

/// Users are claimed where no driver can claim any, so the drivers that start after it get theirs.
#[test]
fn no_driver_takes_the_users_of_others() {
    let line = "sweep -c 2 -b 133 -d 0 --rounds 2 --time 50ms";
    let (document, _) = measured(line, "takes-the-users,honest");
    is_ranked(&document, "honest");
    let starts = document["starts"].as_array().unwrap();
    let have_users = starts.iter().all(|start| start["user"].is_u64());
    assert!(starts.len() > 3 && have_users == is_root(), "{starts:?}");
}

/// A run whose disk a driver fills ends, and names the driver that wrote most. The disk is a small one in memory, which only root
/// can make.
#[test]
fn who_fills_the_disk_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "mount -t tmpfs -o size=4m small \"$0\" || exit 77\nexport TMPDIR=\"$0\"\nexec \"$@\"";
    let lab = hecaton("cheats");
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", script])
        .arg(folder.path());
    command.arg(lab.get_program());
    let variables = lab.get_envs();
    command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    let line = "sweep -c 1 -b 133 -d 0 --rounds 4 --time 50ms --client honest,fills-the-disk --quiet --out";
    command.args(line.split(' ')).arg(folder.path().join("run"));
    let ending = run(command.stdin(Stdio::null()));
    if ending.status == Some(77) || ending.stderr.contains("unshare") {
        return eprintln!("not tried: no disk can be mounted here");
    }
    ending.assert(
        1,
        &["the disk is full; the driver of fills-the-disk has written the most"],
    );
}

/// At one request in flight, nothing waits for others, and still the proof beside a round shows what is sent too early.
#[test]
fn one_in_flight_is_one_in_flight() {
    let line = "sweep -c 1 -b 133 -d 0 --rounds 4 --time 500ms";
    let (document, _) = measured(line, "honest,two-in-flight,sends-on-early");
    is_ranked(&document, "honest");
    for (cheat, words) in [
        ("two-in-flight", "2 requests were in flight at once"),
        ("sends-on-early", "requests were pipelined"),
    ] {
        let says = reason(&document, cheat);
        assert!(says.contains(words), "{cheat}: {says:?}");
    }
}

/// A driver that is started as root could move and stop its rivals: it is left out, and they are measured.
#[test]
fn no_driver_gets_the_user_of_the_lab_by_ending() {
    let line = "sweep -c 2 -b 133 -d 0 --rounds 2 --time 50ms";
    let (document, ending) = measured(line, "honest,exits-to-be-trusted");
    is_ranked(&document, "honest");
    let says = reason(&document, "exits-to-be-trusted");
    assert!(says.contains("ended"), "{says}");
    if is_root() {
        ending.assert(1, &["exits-to-be-trusted"]);
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

/// A driver whose clock has steps of 10 ms is ranked, and has no latencies below that. A latency that is no whole number is refused, with
/// the name of its key.
#[test]
fn a_clock_with_steps_of_10_ms_is_enough() {
    let line = "sweep -c 1 -b 133 -d 0 --rounds 2 --time 100ms";
    let (document, ending) = measured(line, "honest,has-a-coarse-clock,claims-fractions");
    is_ranked(&document, "has-a-coarse-clock");
    let says = warnings(&document, "has-a-coarse-clock");
    assert!(says.contains("shorter latencies are unknown"), "{says}");
    let mut rows = document["rows"].as_array().unwrap().iter();
    let row = rows.find(|row| row["client"] == "has-a-coarse-clock");
    let median = row.unwrap()["p50_ms"].as_f64();
    assert!(median.is_none_or(|ms| ms >= 10.0), "{median:?}");
    let says = reason(&document, "claims-fractions");
    assert!(says.contains("lat_us: a time is a whole number"), "{says}");
    ending.assert(1, &["claims-fractions"]);
}

#[test]
fn numbers_of_a_document_are_neither_computed_nor_found_where_they_stood() {
    let line = "shootout --concurrency 2 --per-thread 60 --rounds 2";
    let (document, _) = measured(line, "honest,computes-the-numbers,learns-the-forms");
    for cheat in ["computes-the-numbers", "learns-the-forms"] {
        let says = reason(&document, cheat);
        let reported = says.contains("the checksum") || says.contains("(check value: ");
        assert!(reported, "{cheat}: {says:?}");
    }
    is_ranked(&document, "honest");
}

#[test]
fn an_untrusted_server_has_a_url_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    let line = "compare looks-at-the-path trusts-anyone --set A:tls=on --set tls=on --rounds 6 --quiet --out";
    run(command.args(line.split(' ')).arg(folder.path()));
    let text = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let says = reason(&document, "looks-at-the-path");
    assert!(says.contains("certificates are not verified"), "{says:?}");
}

/// Connections that a client opened at the end of the probe are closed before its round begins, so it gains nothing.
#[test]
fn no_connection_of_a_round_of_new_ones_is_older_than_the_round() {
    let line = "sweep -c 4 -b 133 -d 0 --rounds 3 --time 100ms";
    let (document, _) = measured(line, "honest,opens-in-the-probe");
    let rounds = document["rounds"].as_array().unwrap().iter();
    let own = rounds.filter(|round| round["client"] == "opens-in-the-probe");
    let mut rounds = 0;
    for round in own {
        let seen = |key: &str| round["seen"][key].as_u64().unwrap();
        assert!(seen("connections_opened") >= seen("distinct"), "{round}");
        assert!(seen("distinct") > 0);
        rounds += 1;
    }
    assert_eq!(rounds, 3);
}

/// Delays are drawn for each round anew: what was slow in one is not what is slow in the next.
#[test]
fn to_send_slow_ids_first_gains_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    let line = "sweep -c 24 -b 133 -d uniform:1ms..60ms --rounds 3 --time 200ms --quiet --client sends-the-slowest-first --out";
    run(command.args(line.split(' ')).arg(folder.path())).assert(0, &[]);
    let logs = std::fs::read_dir(folder.path().join("drivers")).unwrap();
    let texts = logs.map(|log| std::fs::read_to_string(log.unwrap().path()).unwrap());
    let text: String = texts.collect();
    let again = text
        .lines()
        .filter_map(|line| line.strip_suffix(" were slow again"));
    let again: Vec<u32> = again
        .map(|line| line.split(' ').next().unwrap().parse().unwrap())
        .collect();
    // Of twelve among at least 72, two are by chance. The first of all are sometimes slow for another reason: they open
    // connections.
    let often = again.iter().filter(|slow| **slow >= 8).count();
    assert!(again.len() >= 3 && 3 * often <= again.len(), "{text}");
}

/// A client that gets faster in one step, when its rounds are over, is even in all of them. On a busy machine an honest client
/// may get cheaper too, so one of three runs must tell the two apart.
#[test]
fn who_warms_up_in_one_step_after_its_rounds_is_called_still_warming() {
    let expected = ["warms-up-in-one-step,"];
    let mut called = Vec::new();
    while called.len() < 3 && called.last().is_none_or(|last| *last != expected) {
        called.push(still_warming());
    }
    assert_eq!(called.pop().unwrap(), expected, "{called:?}");
}

/// The first word of each warning that processes were still warming up.
fn still_warming() -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    command.env("HECATON_ROOT", root()); // its warm-up is as long as usual
    let line = "sweep -c 1 -b 133 -d 0 --rounds 2 --time 50ms --quiet --client honest,warms-up-in-one-step --out";
    let ending = run(command.args(line.split(' ')).arg(folder.path()));
    // Lines are wrapped at the width of a terminal.
    let words: Vec<&str> = ending.stdout.split_whitespace().collect();
    let text = words.join(" ");
    let before = text.match_indices("processes were still warming up");
    let first = |at: usize| text[..at].rsplit(' ').nth(5).unwrap().to_owned();
    before.map(|(at, _)| first(at)).collect()
}

/// Many clients take a 103 for the last response. That is their fault and no cheat: they are sent none, and their rows
/// say so.
#[test]
fn who_reads_no_interim_response_is_ranked_with_a_warning() {
    let line = "sweep -c 2 -b 133 -d 0 --rounds 2 --time 100ms";
    let (document, _) = measured(line, "honest,reads-no-interim,reads-hints-to-the-end");
    let table = [
        ("honest", false),
        ("reads-no-interim", true),
        ("reads-hints-to-the-end", true),
    ];
    for (client, warned) in table {
        is_ranked(&document, client);
        let mut rows = document["rows"].as_array().unwrap().iter();
        let row = rows.find(|row| row["client"] == client).unwrap();
        let says = row["warnings"].to_string();
        assert_eq!(says.contains("interim responses (103)"), warned, "{says}");
    }
}

#[test]
fn resumed_sessions_are_reported_and_not_held_against_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    let line = "compare resumes-sessions verifies --set A:tls=on --set tls=on --set A:keepalive=off --set keepalive=off --rounds 6 --quiet --out";
    run(command.args(line.split(' ')).arg(folder.path()));
    let text = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    is_ranked(&document, "resumes-sessions");
    for (client, warned) in [("resumes-sessions", true), ("verifies", false)] {
        let mut rows = document["rows"].as_array().unwrap().iter();
        let row = rows.find(|row| row["client"] == client).unwrap();
        let says = row["warnings"].to_string();
        assert_eq!(says.contains("resumed a session"), warned, "{says}");
    }
}

/// The check value stands nowhere in the coded bytes, so who does not decode them has none.
#[test]
fn who_reads_the_tail_of_gzip_has_no_check_value() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    let line = "compare decodes-gzip reads-the-tail-of-gzip --set A:job=gzip job=gzip --rounds 3 --quiet --out";
    run(command.args(line.split(' ')).arg(folder.path()));
    let text = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    is_ranked(&document, "decodes-gzip");
    let says = reason(&document, "reads-the-tail-of-gzip");
    let reported = says.contains("the checksum") || says.contains("requests failed");
    assert!(reported, "{says:?}");
}

/// A client's figures include its work between rounds. The cheat works there, by its own clock of CPU time.
#[test]
fn work_while_no_clock_runs_is_a_figure() {
    let line = "sweep -c 1 -b 133 -d 0 --rounds 2 --time 50ms";
    let (document, _) = measured(line, "honest,works-between-rounds");
    let rounds = document["rounds"].as_array().unwrap().iter();
    let of = |key: fn(&serde_json::Value) -> u64| -> u64 {
        let own = rounds
            .clone()
            .filter(|round| round["client"] == "works-between-rounds");
        own.map(key).sum()
    };
    let beside = of(|round| round["beside"]["cpu_ns"].as_u64().unwrap());
    let within = of(|round| {
        round["cpu_user_ns"].as_u64().unwrap() + round["cpu_system_ns"].as_u64().unwrap()
    });
    assert!(
        within > 0 && beside > within,
        "{beside} beside, {within} within"
    );
    is_ranked(&document, "honest");
    is_ranked(&document, "works-between-rounds");
    let mut rows = document["rows"].as_array().unwrap().iter();
    let row = rows.find(|row| row["client"] == "works-between-rounds");
    let outside = row.unwrap()["cpu_outside_percentage"].as_f64().unwrap();
    assert!(outside > 50.0, "{outside}");
}

#[test]
fn connections_that_are_closed_after_the_round_are_mentioned() {
    let line = "sweep -c 4 -b 133 -d 0 --rounds 2 --time 100ms";
    let (document, _) = measured(line, "honest,closes-each,closes-later");
    for (client, warned) in [("closes-each", false), ("closes-later", true)] {
        is_ranked(&document, client);
        let says = warnings(&document, client);
        assert_eq!(
            says.contains("still open when the round ended"),
            warned,
            "{says}"
        );
    }
}

/// A batch is short, and one in three has a response in another form.
#[test]
fn batches_need_a_client_that_parses_http() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    let line = "compare sync-async parses-no-http -m 6 -l 12 --delay 0 --quiet --out";
    let ending = run(command.args(line.split(' ')).arg(folder.path()));
    // Where it waits for bytes that do not come, there is no document.
    let document = std::fs::read_to_string(folder.path().join("run.json")).ok();
    let document = document.and_then(|text| serde_json::from_str(&text).ok());
    let says = document.map_or(ending.stderr, |document| {
        reason(&document, "parses-no-http")
    });
    let words = [
        "the checksum",
        "requests failed",
        "did not reply",
        "never arrived",
    ];
    assert!(words.iter().any(|words| says.contains(words)), "{says:?}");
}

#[test]
fn who_looks_at_no_name_in_a_certificate_is_caught() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    let line =
        "compare trusts-any-name trusts-once --set A:tls=on --set tls=on --rounds 6 --quiet --out";
    run(command.args(line.split(' ')).arg(folder.path()));
    let text = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let says = reason(&document, "trusts-any-name");
    assert!(
        says.contains("its certificate is for another host"),
        "{says:?}"
    );
    is_ranked(&document, "trusts-once");

    let checked = run(hecaton("cheats").args(["drivers", "check", "trusts-any-name"]));
    checked.assert(1, &["The driver protocol"]);
    assert!(
        checked.stdout.contains("is for another host"),
        "{}",
        checked.stdout
    );
}
