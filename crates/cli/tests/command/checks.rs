//! `hecaton drivers check`: each promise that a driver makes is tried, and a false one is found.

use crate::support::{Ending, hecaton, run};

const GIVES_IDS: &str = "gives each request its id";
const HTTP2: &str = "7 in flight over HTTP/2";

fn check(driver: &str) -> Ending {
    run(hecaton("cheats").args(["drivers", "check", driver]))
}

/// The line of a promise, with the reason if it is broken.
fn line(ending: &Ending, promise: &str) -> String {
    let mut lines = ending.stdout.lines().filter(|line| line.contains(promise));
    let line = lines.next().unwrap_or_else(|| panic!("{}", ending.stdout));
    line.trim().to_owned()
}

#[test]
fn ids_are_tried() {
    let honest = check("sends-each-request");
    honest.assert(0, &[]);
    assert!(line(&honest, GIVES_IDS).starts_with('✓'));
    let says = line(&check("repeats-an-id"), GIVES_IDS);
    assert!(
        says.contains("not each id from 5000000000 on arrived once"),
        "{says}"
    );
}

#[test]
fn the_version_of_http_is_tried() {
    let stays = check("stays-at-http1");
    assert_eq!(stays.status, Some(1), "{}", stays.stderr);
    let says = line(&stays, HTTP2);
    assert!(
        says.starts_with('✗') && says.contains("arrived over HTTP/1.1"),
        "{says}"
    );
}

/// A driver may have other settings of TLS for each version.
#[test]
fn whom_a_driver_trusts_is_tried_over_each_version_of_http() {
    let trusts = check("trusts-anyone-over-http2");
    let says = line(&trusts, HTTP2);
    assert!(
        says.starts_with('✗') && says.contains("must not trust"),
        "{says}"
    );
}

#[test]
fn a_time_limit_that_is_ignored_is_noticed() {
    let ignores = check("ignores-its-time-limit");
    ignores.assert(1, &["1 check failed"]);
    let says = line(&ignores, "longer than `timeout_ms`");
    assert!(
        says.starts_with('✗') && says.contains("it claims 2 done and 0 failed"),
        "{says}"
    );
}
