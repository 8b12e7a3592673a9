//! `--fail-if`: rows beyond a limit, and a run that is kept whatever they are.

use crate::support::{Ending, hecaton, root, run};

/// A small sweep of the honest driver with these limits.
fn sweep(limits: &[&str]) -> Ending {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    command
        .args("sweep -c 2 -b 133 -d 0 --rounds 1 --time 50ms --quiet --client honest".split(' '));
    for limit in limits {
        command.args(["--fail-if", limit]);
    }
    let ending = run(command.arg("--out").arg(folder.path()));
    assert!(folder.path().join("run.json").exists(), "{}", ending.stderr);
    ending
}

#[test]
fn a_row_beyond_a_limit_fails_with_status_3_and_is_named() {
    sweep(&["p50 > 60s", "honest: errors > 0", "memory > 100G"]).assert(0, &[]);
    let ending = sweep(&["speed > 0", "honest: errors >= 0", "p50 > 60s"]);
    ending.assert(
        3,
        &[
            "beyond a limit of --fail-if",
            "honest, 133 bytes, 2 in flight: speed ",
            " requests/s is above 0 requests/s; ",
            "honest, 133 bytes, 2 in flight: errors 0 is not below 0",
        ],
    );
    assert!(!ending.stderr.contains("p50"), "{}", ending.stderr);
    assert!(!ending.stderr.contains("baseline"), "{}", ending.stderr);
    assert!(ending.stdout.contains("honest"), "{}", ending.stdout);
}

#[test]
fn what_is_no_limit_is_refused() {
    let refused = |arguments: &[&str]| run(hecaton("cheats").args(arguments));
    refused(&["sweep", "--fail-if", "p98 > 1ms"]).assert(2, &["no column is called `p98`"]);
    let line = ["sweep", "honest", "--fail-if", "nobody: errors > 0"];
    refused(&line).assert(2, &["--fail-if nobody: no client of that name is measured"]);
    refused(&["bench", "--fail-if", "p99 > 1ms"]).assert(2, &["a benchmark has goals"]);
}

#[test]
fn the_environment_is_named_where_it_is_wrong() {
    let mut command = hecaton("cheats");
    command.args(["shootout", "honest", "--baseline", "honest"]);
    run(command.env("HECATON_CONCURRENCY", "many")).assert(
        2,
        &["HECATON_CONCURRENCY is `many` in the environment; it must be a whole number"],
    );
}

#[test]
fn an_empty_variable_for_own_clients_is_like_none() {
    let sweep = |more: &[&str]| {
        let mut command = hecaton("cheats");
        command
            .env("HECATON_ROOT", root())
            .env("HECATON_DRIVERS", "");
        command.args(["sweep", "nobody"]);
        run(command.args(more))
    };
    sweep(&[]).assert(2, &["no client is called `nobody`"]);
    sweep(&["--drivers", "/nowhere"]).assert(2, &["/nowhere: cannot list the folder"]);
}

#[test]
fn commands_that_run_clients_show_where_own_clients_come_from() {
    for verb in ["sweep", "shootout", "compare", "bench", "audit", "doctor"] {
        let help = run(hecaton("cheats").args([verb, "--help"])).stdout;
        assert!(help.contains("--drivers <FOLDER>"), "{verb}: {help}");
    }
    for verb in ["serve", "report"] {
        let help = run(hecaton("cheats").args([verb, "--help"])).stdout;
        assert!(!help.contains("--drivers"), "{verb}: {help}");
    }
}
