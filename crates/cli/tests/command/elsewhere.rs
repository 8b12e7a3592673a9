//! The command without a checkout, as a release's tarball has it: it measures and audits drivers of one's own.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::own_driver::blocks;
use crate::support::{Ending, document, run};

/// A folder with the command, and two drivers of the documentation that need no kit.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_hecaton"), folder.path().join("hecaton")).unwrap();
    let clients = folder.path().join("clients");
    std::fs::create_dir(&clients).unwrap();
    let [_, alone] = blocks("python").try_into().unwrap();
    let [_, of_alone, of_small] = blocks("toml").try_into().unwrap();
    let [small] = blocks("ruby").try_into().unwrap();
    for (name, text) in [
        ("alone.py", alone),
        ("alone.toml", of_alone),
        ("small.rb", small),
        ("small.toml", of_small),
    ] {
        std::fs::write(clients.join(name), text).unwrap();
    }
    folder
}

fn hecaton_in(folder: &Path, line: &str) -> Ending {
    let mut command = Command::new(folder.join("hecaton"));
    command
        .args(line.split(' '))
        .current_dir(folder)
        .env_remove("HECATON_ROOT")
        .env_remove("HECATON_DRIVERS")
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null());
    run(&mut command)
}

#[test]
fn a_driver_of_ones_own_is_checked_measured_and_audited() {
    let folder = folder();
    let own = |line: &str| hecaton_in(folder.path(), &format!("{line} --drivers clients"));
    own("drivers check alone").assert(0, &[]);
    own("drivers check alone --trust alone").assert(0, &[]);
    own("sweep alone -c 2 -b 133 -d 0 --rounds 1 --time 50ms --quiet --out run").assert(0, &[]);
    let rows = document(&folder.path().join("run"))["rows"].clone();
    let mut rows = rows.as_array().unwrap().iter();
    let row = rows.find(|row| row["client"] == "alone").unwrap();
    assert_eq!(row["verified"], true, "{row}");
    let audited = own("audit alone --case rt02,fr01 --runs 1 --format csv --out audited");
    audited.assert(0, &[]);
    assert_eq!(audited.stdout.matches("\nalone,").count(), 2);
    assert!(folder.path().join("audited/report.html").is_file());
    // Its manual needs no driver.
    hecaton_in(folder.path(), "audit --list --essential").assert(0, &[]);
    hecaton_in(folder.path(), "audit explain rt02").assert(0, &[]);
}

#[test]
fn a_driver_that_serves_audits_alone_is_checked_for_that() {
    let folder = folder();
    let own = |line: &str| hecaton_in(folder.path(), &format!("{line} --drivers clients"));
    let checked = own("drivers check small");
    assert_eq!(checked.status, Some(0), "{}", checked.stdout);
    let lines: Vec<&str> = checked.stdout.lines().collect();
    assert_eq!(lines.len(), 8, "{}", checked.stdout);
    let audited = own("audit small --case rt02,fr01 --runs 1 --format csv");
    audited.assert(0, &[]);
    for verdict in ["setup failed", "unsupported", "inconclusive", "mismatch"] {
        assert!(!audited.stdout.contains(verdict), "{}", audited.stdout);
    }
    own("sweep small -c 1 -b 133").assert(2, &["serves audits alone"]);
    let program = folder.path().join("clients/small.rb");
    let text = std::fs::read_to_string(&program).unwrap();
    for (right, wrong, says) in [
        (
            ".hexdigest(body)",
            ".hexdigest('')",
            "`sha256` of its reply",
        ),
        ("if unknown.any?", "if false", "nobody knows"),
        (
            "client.request(",
            "client.reqeust(",
            "the call failed with NoMethodError",
        ),
    ] {
        let broken = text.replace(right, wrong);
        assert_ne!(text, broken);
        std::fs::write(&program, broken).unwrap();
        let checked = own("drivers check small");
        checked.assert(1, &["1 check failed"]);
        assert!(checked.stdout.contains(says), "{}", checked.stdout);
    }
}

#[test]
fn the_projects_clients_need_a_checkout() {
    let folder = folder();
    for line in ["sweep net-http", "audit net-http", "drivers"] {
        let ending = hecaton_in(folder.path(), line);
        ending.assert(2, &["--drivers", "a checkout of Hecaton", "HECATON_ROOT"]);
    }
    let doctor = hecaton_in(folder.path(), "doctor --json");
    doctor.assert(0, &[]);
    let bench = hecaton_in(folder.path(), "bench");
    bench.assert(1, &["needs a checkout of Hecaton"]);
}
