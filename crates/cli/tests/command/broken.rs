//! Drivers that crash, hang, print rubbish or are not there: one sentence, status 1, and the rounds remain.

use std::path::Path;

use crate::support::{Ending, document, hecaton, is_root, root, run};

/// How long a driver that hangs is waited for: longer than the honest need where other programs load the machine.
const PATIENCE: &str = "15s";

/// A short sweep of clients, separated by commas, at one request in flight. Each process has two rounds, and a driver
/// that breaks does so in the second.
fn sweep(clients: &str, folder: &Path) -> Ending {
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
        "12",
        "--time",
        "20ms",
    ]);
    command
        .args([
            "--quiet",
            "--patience",
            PATIENCE,
            "--client",
            clients,
            "--out",
        ])
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
fn a_crash_is_reported_with_its_last_words() {
    let temporary = tempfile::tempdir().unwrap();
    let ending = sweep("crashes", temporary.path());
    ending.assert(
        1,
        &[
            "the driver of crashes ended (exit status: 3) during `go`",
            "| out of luck",
            "check crashes",
        ],
    );
    assert_kept(&ending, "crashes", temporary.path());
}

#[test]
fn a_driver_that_hangs_is_given_up() {
    let temporary = tempfile::tempdir().unwrap();
    let ending = sweep("hangs", temporary.path());
    ending.assert(
        1,
        &[
            "the driver of hangs did not reply to `go` within",
            "(its process slept then)",
            "check hangs",
        ],
    );
    assert_kept(&ending, "hangs", temporary.path());
}

#[test]
fn rubbish_is_quoted() {
    let temporary = tempfile::tempdir().unwrap();
    let ending = sweep("rubbish", temporary.path());
    ending.assert(
        1,
        &[
            "the driver of rubbish replied to `go` with \"it went really well\"",
            "check rubbish",
        ],
    );
    assert_kept(&ending, "rubbish", temporary.path());
}

/// Ways to break, and words of the reason for which the rows until then are rejected.
const WAYS: [(&str, &str); 5] = [
    ("crashes", "ended (exit status: 3) during `go`"),
    ("hangs", "did not reply to `go` within"),
    ("rubbish", "replied to `go` with \"it went really well\""),
    ("endless", "a line may have 1 MiB at most"),
    ("mute", "did not reply to `hello` within"),
];

#[test]
fn who_breaks_is_rejected_and_the_others_are_measured_to_the_end() {
    let temporary = tempfile::tempdir().unwrap();
    let names = WAYS.map(|(name, _)| name).join(",");
    let ending = sweep(&format!("{names},floods,honest"), temporary.path());
    ending.assert(1, &["the others were measured", "check mute"]);
    let document = document(temporary.path());
    let rows = document["rows"].as_array().unwrap();
    let of = |client: &str| rows.iter().find(|row| row["client"] == client);
    let rounds = |client: &str| {
        let rounds = document["rounds"].as_array().unwrap().iter();
        rounds.filter(|round| round["client"] == client).count()
    };
    for client in ["honest", "baseline-loader"] {
        let row = of(client).unwrap();
        assert!(row["verified"] == true && rounds(client) >= 12, "{row}");
    }
    for (client, words) in WAYS {
        let left_out = document["left_out"].to_string().replace("\\\"", "\"");
        let reason = of(client).map(|row| row["rejected"].to_string().replace("\\\"", "\""));
        assert!(
            reason.unwrap_or(left_out).contains(words),
            "{client}: {document}"
        );
    }
    let floods = of("floods").unwrap();
    assert!(floods["rejected"].is_null(), "{floods}");
    let says = floods["warnings"].to_string();
    assert!(
        says.contains("MiB of error output; 8 MiB are kept"),
        "{says}"
    );
    assert!(document["unfinished"].is_null());
}

#[test]
fn a_comparison_ends_with_the_rounds_of_the_one_that_holds() {
    let temporary = tempfile::tempdir().unwrap();
    for broken in ["crashes", "mute"] {
        let mut command = hecaton("broken");
        command.args([
            "compare", "honest", broken, "-c", "1", "--rounds", "12", "--quiet",
        ]);
        command.args(["--patience", PATIENCE, "--force", "--out"]);
        let ending = run(command.arg(temporary.path()));
        ending.assert(1, &[broken, "broke and was left out"]);
        let rounds = document(temporary.path())["rounds"].to_string();
        assert_eq!(rounds.matches("\"client\":\"honest\"").count(), 12);
    }
}

#[test]
fn nothing_is_left_when_nothing_was_measured() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("run");
    let ending = sweep("mute", &folder);
    ending.assert(1, &["the driver of mute did not reply to `hello` within"]);
    assert!(!ending.stderr.contains("rounds are in") && !folder.exists());
}

#[test]
fn a_missing_client_is_named_with_the_command_that_installs_it() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("run");
    let hint = "install it with `bin/hecaton drivers install absent --drivers ";
    sweep("absent", &folder).assert(1, &["absent cannot run here", hint]);
    assert!(!folder.exists());

    let list = run(hecaton("broken").arg("drivers"));
    list.assert(0, &[]);
    let line = list
        .stdout
        .lines()
        .find(|line| line.starts_with("absent"))
        .unwrap();
    assert!(line.ends_with("missing"), "{line}");
    let group = "1 missing of ruby: bin/hecaton drivers install ruby\n  absent\n";
    assert!(list.stdout.contains(group), "{}", list.stdout);
    run(hecaton("broken").args(["drivers", "check", "absent"])).assert(1, &[hint]);
}

#[test]
fn a_check_reports_a_crash_and_continues() {
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
fn several_are_checked_in_one_go_and_those_that_fail_are_named() {
    let temporary = tempfile::tempdir().unwrap();
    let broken = root().join("tests/drivers/broken");
    for file in [
        "absent.toml",
        "crashes.toml",
        "crashes.rb",
        "mute.toml",
        "mute.rb",
        "broken.rb",
    ] {
        std::fs::copy(broken.join(file), temporary.path().join(file)).unwrap();
    }
    let mut command = hecaton("broken");
    command.env("HECATON_DRIVERS", temporary.path());
    let ending = run(command.args(["drivers", "check", "ruby", "--patience", "100ms", "-j", "2"]));
    ending.assert(1, &["2 of 3 drivers failed: crashes, mute"]);
    let lists = ending
        .stdout
        .split('\n')
        .filter(|line| !line.starts_with(' '));
    let mut heads: Vec<&str> = lists.filter_map(|line| line.split(' ').next()).collect();
    heads.sort_unstable();
    assert_eq!(
        heads.join(" ").trim(),
        "crashes mute –",
        "{}",
        ending.stdout
    );
}

#[test]
fn a_check_that_fails_once_is_tried_again_and_reported() {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = hecaton("broken");
    // It remembers in a folder of this user.
    command
        .env("HECATON_STUMBLED", temporary.path().join("stumbled"))
        .env("HECATON_USERS", "off");
    let ending = run(command.args(["drivers", "check", "stumbles"]));
    ending.assert(0, &[]);
    let reported = "the second time; at first: the driver of stumbles ended (exit status: 3)";
    assert!(ending.stdout.contains(reported), "{}", ending.stdout);
}

#[test]
fn a_check_without_a_hello_is_short() {
    let ending = run(hecaton("broken").args(["drivers", "check", "mute", "--patience", "100ms"]));
    ending.assert(1, &["1 check failed"]);
    assert!(
        ending
            .stdout
            .contains("✗ says hello: the driver of mute did not reply"),
        "{}",
        ending.stdout
    );
    assert!(
        ending.stdout.contains("the rest was not tried"),
        "{}",
        ending.stdout
    );
}

/// As root each driver runs as a user of its own, to whom a private folder is closed.
#[test]
fn a_driver_that_its_own_user_may_not_start_runs_as_the_labs_only_if_it_is_trusted() {
    let temporary = tempfile::tempdir().unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(temporary.path(), mode).unwrap();
    let program = root().join("tests/drivers/broken/honest.rb");
    let program = program.canonicalize().unwrap();
    let manifest = std::fs::read_to_string(program.with_extension("toml")).unwrap();
    let manifest = manifest.replace("\"honest\"", "\"private\"").replace(
        "[\"ruby\", \"honest.rb\"]",
        &format!("[\"ruby\", {program:?}, \"--as=private\"]"),
    );
    std::fs::write(temporary.path().join("private.toml"), manifest).unwrap();
    let sweep = |more: &[&str]| {
        let mut command = hecaton("broken");
        command.env("HECATON_DRIVERS", temporary.path());
        let words = "sweep --client private -c 1 -b 133 -d 0 --rounds 1 --time 20ms --quiet --out";
        command
            .args(words.split(' '))
            .arg(temporary.path().join("run"));
        run(command.args(more))
    };
    if is_root() {
        sweep(&[]).assert(1, &["cannot be started", "--trust private"]);
    }
    sweep(&["--trust", "private"]).assert(0, &[]);
    let document = document(&temporary.path().join("run"));
    let mut rows = document["rows"].as_array().unwrap().iter();
    let row = rows.find(|row| row["client"] == "private").unwrap();
    assert!(document["starts"][0]["user"].is_null(), "{document}");
    // Without root every driver runs as the lab's own user, trusted or not, and its row is as verified as all others.
    assert_eq!(row["verified"], !is_root(), "{row}");
}

/// A driver of one's own in Python, whose command `version` or whose program needs a module that is not there.
fn without_module(folder: &Path, in_version: bool) {
    let import = "import nothing_of_this_name";
    let version = if in_version { import } else { "print(1)" };
    let manifest = format!(
        "client = \"mine\"\nlanguage = \"python\"\nhomepage = \"https://example.com\"\napproach = \"tuned\"\n\
         version = [\"python3\", \"-c\", \"{version}\"]\nrun = [\"python3\", \"mine.py\"]\ncan = [\"http1\"]\n"
    );
    std::fs::write(folder.join("mine.toml"), manifest).unwrap();
    std::fs::write(folder.join("mine.py"), import).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder, mode).unwrap();
}

#[test]
fn a_missing_module_of_ones_own_driver_is_the_first_thing_that_is_said() {
    let temporary = tempfile::tempdir().unwrap();
    let cause = "ModuleNotFoundError: No module named 'nothing_of_this_name'";
    let sweep = || {
        let mut command = hecaton("broken");
        command.env("HECATON_DRIVERS", temporary.path());
        let words = "sweep mine -c 1 -b 133 -d 0 --rounds 1 --time 20ms --quiet --out";
        let run_folder = temporary.path().join("run");
        run(command.args(words.split(' ')).arg(run_folder))
    };
    without_module(temporary.path(), true);
    let ending = sweep();
    let folder = temporary.path().display().to_string();
    ending.assert(1, &["mine cannot run here: python3 ended", cause, &folder]);
    for wrong in ["Traceback", "bin/setup"] {
        assert!(!ending.stderr.contains(wrong), "{}", ending.stderr);
    }

    without_module(temporary.path(), false);
    let ending = sweep();
    let first = ending.stderr.lines().next().unwrap();
    assert!(
        first.starts_with("hecaton: the driver of mine ended") && first.ends_with(cause),
        "{}",
        ending.stderr
    );
    ending.assert(
        1,
        &[&format!("`hecaton drivers check mine --drivers {folder}`")],
    );
    ending.assert(1, &["before its first word"]);
    assert!(!ending.stderr.contains("cannot read"), "{}", ending.stderr);

    let program = temporary.path().join("mine.py");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&program, mode).unwrap();
    if is_root() {
        let closed = format!("which cannot read {}", program.display());
        sweep().assert(1, &["before its first word", &closed, "--trust mine"]);
    }
}
