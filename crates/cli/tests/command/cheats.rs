//! Every cheating driver is rejected, with the reason that fits; the honest one is not.

use crate::support::{hecaton, is_root, run};
use std::path::Path;

use serde_json::Value;

/// A cheat, and words of the reason for which it is rejected.
const CHEATS: [(&str, &str); 5] = [
    ("body-unread", "bodies were not read to their end"),
    ("half-pool", "only 2 of 4 requests were in flight at once"),
    ("duplicates", "1 request was sent more than once"),
    ("counts-without-sending", "requests never arrived"),
    ("warms-up-in-secret", "1 request not planned"),
];

#[test]
fn a_sweep_rejects_cheats_and_ranks_the_honest() {
    let folder = tempfile::tempdir().unwrap();
    let document = sweep(folder.path(), "4", "5ms", &CHEATS, &["honest"]);
    assert_eq!(document["rows"].as_array().unwrap().len(), CHEATS.len() + 2);
    for client in ["honest", "baseline-loader"] {
        assert_eq!(
            (
                &row(&document, client)["verified"],
                &row(&document, client)["rejected"]
            ),
            (&Value::Bool(true), &Value::Null)
        );
    }
    for (cheat, words) in CHEATS {
        let row = row(&document, cheat);
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
    // Where others disturb every round, nothing is recommended.
    assert!(recommended == ["honest"] || recommended.is_empty());
}

/// An honest client may keep fewer connections than it has requests in flight. Its own time contains the connections that it opens again.
#[test]
fn who_does_not_keep_its_connections_is_ranked_with_a_sign() {
    let folder = tempfile::tempdir().unwrap();
    let document = sweep(folder.path(), "4", "5ms", &[], &["honest", "reconnects"]);
    let opened = |client: &str| {
        row(&document, client)["opened_per_request"]
            .as_f64()
            .unwrap()
    };
    assert!(
        opened("honest") < 0.5 && opened("reconnects") == 1.0,
        "{document}"
    );
    for (client, warned) in [("honest", false), ("reconnects", true)] {
        let row = row(&document, client);
        assert_eq!(
            (&row["verified"], &row["rejected"]),
            (&Value::Bool(true), &Value::Null)
        );
        let says = row["warnings"].to_string();
        assert_eq!(
            says.contains("connections are not kept alive"),
            warned,
            "{says}"
        );
    }
    let shown = |locale: &str| {
        let mut report = hecaton("cheats");
        report.arg("report").arg(folder.path());
        run(report.env("LC_ALL", locale)).stdout
    };
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    for (text, sign) in [(shown("C.UTF-8"), "↻"), (shown("C"), "@"), (page, "↻")] {
        let meaning = format!("{sign} does not keep its connections");
        assert!(text.contains(&meaning), "{text}");
        let has_sign = |client: &str| {
            text.lines()
                .any(|line| line.contains(client) && line.contains(sign))
        };
        assert!(has_sign("reconnects"), "{text}");
    }
    let check = run(hecaton("cheats").args(["drivers", "check", "reconnects"]));
    check.assert(1, &["checks failed"]);
    assert!(
        check.stdout.contains("connections are not kept alive"),
        "{}",
        check.stdout
    );
}

/// The document of a sweep over cheats and others.
fn sweep(
    folder: &Path,
    concurrency: &str,
    delay: &str,
    cheats: &[(&str, &str)],
    others: &[&str],
) -> Value {
    let rounds = if delay == "0" { "3" } else { "1" };
    let all = cheats.iter().map(|(cheat, _)| cheat).chain(others);
    let clients: Vec<&str> = all.copied().collect();
    let line =
        format!("sweep -c {concurrency} -b 133 -d {delay} --rounds {rounds} --time 100ms --client");
    swept(folder, &line, &clients.join(","))
}

/// The document of the sweep of a line that ends in `--client`.
fn swept(folder: &Path, line: &str, clients: &str) -> Value {
    let mut command = hecaton("cheats");
    command.args(line.split(' ')).arg(clients);
    let ending = run(command.args(["--json", "--quiet", "--out"]).arg(folder));
    ending.assert(0, &[]);
    assert_eq!(ending.stderr, "");
    serde_json::from_str(&ending.stdout).unwrap()
}

/// Cheats that no sweep has caught. Chance decides how often a cheat gets into a position that gives it away, and a
/// busy machine makes that rarer. Cheats that were missed are therefore measured again, each time in rounds twice as
/// long.
fn missed<'a>(
    concurrency: &str,
    mut cheats: Vec<(&'a str, &'a str)>,
    times_ms: impl IntoIterator<Item = u32>,
) -> Vec<(&'a str, &'a str)> {
    for ms in times_ms {
        if cheats.is_empty() {
            break;
        }
        let folder = tempfile::tempdir().unwrap();
        let line = format!("sweep -c {concurrency} -b 133 -d 0 --rounds 12 --time {ms}ms --client");
        let clients = cheats
            .iter()
            .fold("honest".to_owned(), |all, (cheat, _)| all + "," + cheat);
        let document = swept(folder.path(), &line, &clients);
        assert_eq!(row(&document, "honest")["verified"], true);
        cheats = passed(&document, &cheats);
    }
    cheats
}

fn row<'a>(document: &'a Value, client: &str) -> &'a Value {
    let mut rows = document["rows"].as_array().unwrap().iter();
    rows.find(|row| row["client"] == client).unwrap()
}

/// Cheats of these that were not rejected for their reason.
fn passed<'a>(document: &Value, cheats: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let caught = |(cheat, words): &(&str, &str)| {
        let reason = row(document, cheat)["rejected"]
            .as_str()
            .unwrap_or_default();
        assert!(!reason.contains(['\u{1b}', '\u{7}']), "{cheat}: {reason:?}");
        // On a machine of one core there is none to leave, and without a user of their own others may have opened
        // connections.
        let alone = match *cheat {
            "leaves-its-core" => std::thread::available_parallelism().unwrap().get() == 1,
            // Where a busy machine makes responses take as long as one that the server held, a flat claim contradicts
            // nothing.
            "claims-flat-latencies" => row(document, cheat)["p50_ms"].as_f64() >= Some(1.0),
            "connects-ahead" | "opens-ahead" => !is_root(),
            _ => false,
        };
        alone || words.split('|').any(|words| reason.contains(words))
    };
    cheats
        .iter()
        .filter(|cheat| !caught(cheat))
        .copied()
        .collect()
}

/// Cheats where no response is delayed, and words of the reasons. One of them is reported. Which one depends on the
/// load of the machine.
const CHEATS_WITHOUT_DELAY: [(&str, &str); 13] = [
    ("pipelines", "requests were pipelined"),
    (
        "few-used-deep",
        "of 8 requests were in flight at once|contradict the server's times",
    ),
    (
        "claims-one-latency",
        "to be timed, but the driver claims 1 latency",
    ),
    ("claims-flat-latencies", "contradict the server's times"),
    ("claims-no-latency", "contradict the server's times"),
    ("leaves-its-core", "though all share core"),
    (
        "opens-ahead",
        "connections were opened ahead of the round|that carried nothing yet",
    ),
    ("writes-to-terminals", "all went well"),
    ("sends-on-early", "requests were pipelined"),
    ("begins-early", "requests were pipelined"),
    ("claims-a-twentieth", "contradict the server's times"),
    ("connects-ahead", "that carried nothing yet"),
    // It forgets the 503 that the server sent, too.
    (
        "misnames-failures",
        "gives the kinds of|the driver accounts for",
    ),
];

/// Clients that are as they are, or that nobody can refute, and words of what is said of them.
const WRONGED: [(&str, &str); 5] = [
    ("releases-late", "connections for 8 requests at once"),
    // Where its responses are late, it behaves.
    (
        "every-second-in-time",
        "of 8 requests were in flight on average",
    ),
    ("retires-connections", ""), // how many, depends on how fast the machine is
    (LESS, "claims too little|contradict the server's times"),
    // Its rivals are measured as if it were not there.
    ("frames-rivals", ""),
];

/// Its lie is refuted only if responses were held for longer than they take, which a busy machine may do.
const LESS: &str = "claims-a-constant-less";

#[test]
fn without_a_delay_cheats_are_caught_and_the_clumsy_are_ranked_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let wronged = WRONGED.map(|(client, _)| client);
    let others: Vec<&str> = wronged.into_iter().chain(["honest"]).collect();
    let document = sweep(folder.path(), "8", "0", &CHEATS_WITHOUT_DELAY, &others);
    let missed = missed("8", passed(&document, &CHEATS_WITHOUT_DELAY), TIMES_MS);
    assert!(missed.is_empty(), "{missed:?}");
    for client in ["honest", "baseline-loader"] {
        let row = row(&document, client);
        assert!(row["verified"] == true, "{client}: {}", row["rejected"]);
    }
    let mut without_warning: Vec<_> = WRONGED.into_iter().collect();
    without_warning.retain(|(client, words)| !has_warning(&document, client, words));
    for _ in TIMES_MS {
        if without_warning.is_empty() {
            break;
        }
        let again = tempfile::tempdir().unwrap();
        let document = sweep(again.path(), "8", "0", &without_warning, &["honest"]);
        without_warning.retain(|(client, words)| !has_warning(&document, client, words));
    }
    assert!(without_warning.is_empty(), "{without_warning:?}");
}

/// How long the rounds are that are made again.
const TIMES_MS: [u32; 4] = [100, 200, 400, 800];

/// Whether a client is ranked with any of these words; it must not be rejected, but for a lie that is refuted.
fn has_warning(document: &Value, client: &str, words: &str) -> bool {
    let row = row(document, client);
    let is_refuted = client == LESS && row["verified"] == false;
    assert!(
        row["verified"] == true || is_refuted,
        "{client}: {}",
        row["rejected"]
    );
    let said = if is_refuted {
        &row["rejected"]
    } else {
        &row["warnings"]
    };
    words.split('|').any(|word| said.to_string().contains(word))
}

/// The delays decide how long a wave lasts, and the machine little: a wave waits for its slowest, and so half of it is
/// in flight.
#[test]
fn a_client_that_sends_in_waves_is_ranked_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let line = "sweep -c 8 -b 133 -d uniform:1ms..200ms --rounds 3 --time 2s --client";
    let document = swept(folder.path(), line, "sends-in-waves,honest");
    let words = "of 8 requests were in flight on average";
    assert!(
        has_warning(&document, "sends-in-waves", words),
        "{document}"
    );
    assert_eq!(row(&document, "honest")["verified"], true);
}

/// Where the system gives no control groups and no users, `/proc` still shows that others were woken.
#[test]
fn without_groups_and_users_of_their_own_it_is_seen_that_others_were_woken() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    command
        .env("HECATON_CGROUPS", "off")
        .env("HECATON_USERS", "off");
    command.args([
        "sweep",
        "--concurrency",
        "4",
        "--body",
        "133",
        "--delay",
        "0",
        "--rounds",
        "3",
        "--time",
        "200ms",
    ]);
    command.args(["--client", "honest", "--client", "stops-rivals"]);
    command
        .args(["--json", "--quiet", "--out"])
        .arg(folder.path());
    let ending = run(&mut command);
    ending.assert(0, &[]);
    let document: Value = serde_json::from_str(&ending.stdout).unwrap();
    let warnings = row(&document, "stops-rivals")["warnings"].to_string();
    assert!(
        warnings.contains("that should have waited ran meanwhile"),
        "{warnings}"
    );
    assert_eq!(row(&document, "baseline-loader")["verified"], true);
}

/// A driver that verifies certificates only in the check gets another server later.
#[test]
fn who_trusts_anyone_while_it_is_measured_is_caught() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    command.args([
        "compare",
        "looks-once",
        "trusts-anyone",
        "--set",
        "A:tls=on",
        "--set",
        "tls=on",
    ]);
    command
        .args(["--rounds", "6", "--quiet", "--out"])
        .arg(folder.path());
    run(&mut command);
    let text = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    for client in ["looks-once", "trusts-anyone"] {
        let reason = row(&document, client)["rejected"]
            .as_str()
            .unwrap_or_default();
        assert!(
            reason.contains("certificates are not verified"),
            "{client}: {reason:?}"
        );
    }
}

/// Cheats of a shootout, and words of the reason: values of the JSON that are wrong, and claims that the server's log
/// refutes.
const CHEATS_OF_A_SHOOTOUT: [(&str, &str); 6] = [
    ("requests-plain", "without the `Accept: application/json`"),
    ("json-guessed", "the checksum"),
    ("scans-for-the-check-value", "the checksum"),
    ("knows-the-shape", "the checksum"),
    ("json-mistaken", "requests failed (check value: "),
    ("half-pool", "only 2 of 4 requests were in flight at once"),
];

#[test]
fn a_shootout_ranks_only_who_read_the_value_and_did_what_was_claimed() {
    let folder = tempfile::tempdir().unwrap();
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
        .arg(folder.path())
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
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
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
    cheat.assert(1, &["checks failed", "The driver protocol"]);
    assert!(cheat.stdout.contains("✓ 1 in flight"), "{}", cheat.stdout);
    assert!(
        cheat.stdout.contains("only 4 of 7 requests were in flight"),
        "{}",
        cheat.stdout
    );

    let careless = run(hecaton("cheats").args(["drivers", "check", "trusts-anyone"]));
    careless.assert(1, &["The driver protocol"]);
    let words = "it must not trust"; // said by a trial, or by the check after it
    assert!(careless.stdout.contains(words), "{}", careless.stdout);
}

#[test]
fn a_run_of_which_nothing_holds_fails_and_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = |force: &[&str]| {
        let mut command = hecaton("cheats");
        command.args("sweep --concurrency 4 --body 133 --delay 0 --rounds 1 --time 20ms --client duplicates --out".split(' '));
        run(command.arg(folder.path()).args(force))
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
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    let (_, command) = page.split_once("Measure it again").unwrap();
    let command = command.split("</code>").next().unwrap();
    assert!(
        command.contains("--client</span> duplicates") && !command.contains("--out"),
        "{command}"
    );
}
