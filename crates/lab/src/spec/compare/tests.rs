//! Valid and invalid comparisons, and the sweeps that they become.

use std::path::Path;

use super::*;
use crate::spec::Control;

fn scenario() -> CompareScenario {
    CompareScenario::load(&Project::built_in()).unwrap()
}

fn catalogue() -> Catalogue {
    Catalogue::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drivers")).unwrap()
}

fn pair(a: &str, b: &str, settings: &[&str]) -> Result<(Sweep, Comparison), Usage> {
    let request = PairRequest {
        clients: [a.into(), b.into()],
        settings: settings.iter().map(|text| text.parse().unwrap()).collect(),
        ..PairRequest::default()
    };
    scenario().pair(request, &catalogue())
}

#[test]
fn settings_are_of_b_unless_they_say_otherwise() {
    let settings = [
        "keepalive=off",
        "A:concurrency=20",
        "b:delay=fixed:5ms",
        "body=2000",
    ];
    let (sweep, comparison) = pair("net-http", "net-http", &settings).unwrap();
    let Comparison::Pair { a, b } = comparison else {
        panic!("{comparison:?}");
    };
    assert_eq!(
        (a.load.keepalive, a.load.concurrency, a.load.body_bytes),
        (true, 20, 133)
    );
    assert_eq!(
        (b.load.keepalive, b.load.concurrency, b.load.body_bytes),
        (false, 10, 2000)
    );
    assert_eq!(b.load.delay, "5ms".parse().unwrap());
    // Two sides and the baseline loader of each, in one process of every client.
    assert_eq!(sweep.cells.len(), 4);
    assert_eq!(sweep.client_names(), ["net-http", BASELINE_LOADER]);
    assert_eq!(sweep.concurrency(), [10, 20]);
}

#[test]
fn equal_sides_are_refused_with_what_to_do() {
    let error = pair("net-http", "net-http", &["keepalive=on"]).unwrap_err();
    assert!(error.0.contains("--set"), "{error}");
}

#[test]
fn what_is_no_setting_is_refused_with_a_sentence() {
    for (text, words) in [
        ("keepalive", "has no value"),
        ("keepalive=yes", "on or off"),
        ("concurrency=many", "not a number"),
        ("colour=red", "cannot be set"),
        ("delay=soon", "not a delay"),
    ] {
        let error = text.parse::<Setting>().unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn the_loader_does_not_take_part_in_what_it_cannot_do() {
    let (sweep, _) = pair("hecaton-ruby", "hecaton-ruby", &["tls=on"]).unwrap();
    assert_eq!(sweep.cells.len(), 3);
    assert!(sweep.cells_of("hecaton-ruby").any(|cell| cell.load.tls));
    assert!(!sweep.cells_of(BASELINE_LOADER).any(|cell| cell.load.tls));
}

#[test]
fn the_reference_run_is_the_same_work_whatever_is_measured() {
    let (mut sweep, _) = pair("hecaton-ruby", "hecaton-ruby", &["concurrency=2"]).unwrap();
    for cell in &mut sweep.cells {
        cell.load.rate = Some("40".parse().unwrap());
        cell.load.round_trip_ms = Some(100);
        cell.load.mode = Some(Mode::Sync);
    }
    let twice = sweep.cells[0].clone();
    let sweep = sweep.with_controls(Some(twice));
    let of_machine = |cell: &&Cell| cell.control == Some(Control::ReferenceRun);
    let load = sweep.controls.iter().find(of_machine).unwrap().load;
    let expected = Load {
        body_bytes: load.body_bytes,
        concurrency: 10,
        requests: Some(2000),
        ..Load::PLAIN
    };
    assert_eq!(load, expected);
}

#[test]
fn every_round_trip_is_measured_both_ways_over_tls() {
    let (sweep, _) = scenario()
        .keepalive("hecaton-ruby", Some(6), None, &catalogue())
        .unwrap();
    assert_eq!(sweep.cells.len(), 8);
    assert!(sweep.cells.iter().all(|cell| cell.load.tls));
    let trips = |keepalive: bool| -> Vec<u64> {
        let of = sweep
            .cells
            .iter()
            .filter(|cell| cell.load.keepalive == keepalive);
        of.filter_map(|cell| cell.load.round_trip_ms).collect()
    };
    assert_eq!(trips(true), [0, 1, 20, 100]);
    assert_eq!(trips(false), [0, 1, 20, 100]);
}

#[test]
fn a_client_that_forgets_connections_has_none_to_compare() {
    let error = scenario()
        .keepalive("rest-client", None, None, &catalogue())
        .unwrap_err();
    assert!(error.0.contains("does not keep connections"), "{error}");
}

#[test]
fn batches_are_sent_both_ways_at_every_size() {
    assert_eq!(sizes(60), [1, 2, 5, 10, 20, 30, 40, 50, 60]);
    assert_eq!(sizes(1), [1]);
    let request = SyncAsyncRequest {
        client: "typhoeus".into(),
        most: Some(10),
        loops: Some(3),
        ..SyncAsyncRequest::default()
    };
    let (sweep, _) = scenario().sync_async(request, &catalogue()).unwrap();
    assert_eq!(sweep.rounds, 3);
    for cell in &sweep.cells {
        let size = cell.load.requests.unwrap() as usize;
        let expected = match cell.load.mode.unwrap() {
            Mode::Sync => 1,
            Mode::Async => size,
        };
        assert_eq!(cell.load.concurrency, expected);
    }
}
