//! Drivers that crash, hang, print rubbish or are not there: one sentence, status 1, rounds kept.

use std::path::Path;

use crate::support::{Ending, document, hecaton, run};

/// A short sweep of one client at one request in flight; it breaks in its second trial.
fn sweep(client: &str, folder: &Path) -> Ending {
    let mut command = hecaton("broken");
    command.args([
        "sweep",
        "--concurrency",
        "1",
        "--body",
        "133",
        "--delay",
        "0",
        "--rounds",
        "6",
        "--time",
        "20ms",
    ]);
    command
        .args(["--quiet", "--patience", "1s", "--client", client, "--out"])
        .arg(folder);
    run(&mut command)
}

fn assert_kept(ending: &Ending, client: &str, folder: &Path) {
    assert!(ending.stderr.contains("run.json"), "{}", ending.stderr);
    let document = document(folder);
    let rounds = document["rounds"].as_array().unwrap();
    assert!(
        rounds.iter().any(|round| round["client"] == client),
        "{rounds:?}"
    );
    assert!(!folder.join("rounds.jsonl").exists());
}

#[test]
fn a_crash_is_told_with_its_last_words() {
    let place = tempfile::tempdir().unwrap();
    let ending = sweep("crashes", place.path());
    ending.assert(
        1,
        &[
            "the driver of crashes ended (exit status: 3) when asked to go",
            "| out of luck",
            "check crashes",
        ],
    );
    assert_kept(&ending, "crashes", place.path());
}

#[test]
fn a_driver_that_hangs_is_given_up() {
    let place = tempfile::tempdir().unwrap();
    let ending = sweep("hangs", place.path());
    ending.assert(
        1,
        &[
            "the driver of hangs did not answer `go` within",
            "check hangs",
        ],
    );
    assert_kept(&ending, "hangs", place.path());
}

#[test]
fn rubbish_is_quoted() {
    let place = tempfile::tempdir().unwrap();
    let ending = sweep("rubbish", place.path());
    ending.assert(
        1,
        &[
            "the driver of rubbish answered `go` with \"it went really well\"",
            "check rubbish",
        ],
    );
    assert_kept(&ending, "rubbish", place.path());
}

#[test]
fn nothing_is_left_when_nothing_was_measured() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    let ending = sweep("mute", &folder);
    ending.assert(1, &["the driver of mute did not answer `hello` within"]);
    assert!(!ending.stderr.contains("rounds are in") && !folder.exists());
}

#[test]
fn a_missing_client_is_named_with_the_command_that_installs_it() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    let hint = "install it with `bin/hecaton drivers install absent`";
    sweep("absent", &folder).assert(1, &["absent cannot run here", hint]);
    assert!(!folder.exists());

    let list = run(hecaton("broken").arg("drivers"));
    list.assert(0, &[]);
    let line = list
        .stdout
        .lines()
        .find(|line| line.starts_with("absent"))
        .unwrap();
    assert!(line.contains("missing") && line.contains(hint), "{line}");
    run(hecaton("broken").args(["drivers", "check", "absent"])).assert(1, &[hint]);
}

#[test]
fn a_check_tells_a_crash_and_goes_on() {
    let ending = run(hecaton("broken").args(["drivers", "check", "crashes"]));
    ending.assert(1, &["checks failed"]);
    let failed = ending.stdout.find("✗ 1 in flight").unwrap();
    assert!(
        ending.stdout[failed..].contains("the driver of crashes ended (exit status: 3)"),
        "{}",
        ending.stdout
    );
    assert!(
        ending.stdout[failed..].contains("✓ ends with status 0 after `bye`"),
        "{}",
        ending.stdout
    );
}

#[test]
fn a_check_that_fails_once_is_tried_again_and_told() {
    let place = tempfile::tempdir().unwrap();
    let mut command = hecaton("broken");
    // It remembers in a folder of this user.
    command
        .env("HECATON_STUMBLED", place.path().join("stumbled"))
        .env("HECATON_USERS", "off");
    let ending = run(command.args(["drivers", "check", "stumbles"]));
    ending.assert(0, &[]);
    let told = "the second time; at first: the driver of stumbles ended (exit status: 3)";
    assert!(ending.stdout.contains(told), "{}", ending.stdout);
}

#[test]
fn a_check_without_a_hello_is_short() {
    let ending = run(hecaton("broken").args(["drivers", "check", "mute", "--patience", "100ms"]));
    ending.assert(1, &["1 check failed"]);
    assert!(
        ending
            .stdout
            .contains("✗ says hello: the driver of mute did not answer"),
        "{}",
        ending.stdout
    );
    assert!(
        ending.stdout.contains("the rest was not tried"),
        "{}",
        ending.stdout
    );
}
