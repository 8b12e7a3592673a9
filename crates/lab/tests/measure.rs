//! An experiment is measured without the command: the caller gets its progress, and what was measured is saved.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hecaton_lab::ledger::read;
use hecaton_lab::measure::{Conditions, Progress, measure};
use hecaton_lab::run::{Cell, Interrupted, Round};
use hecaton_lab::spec::{Catalogue, Experiment, Kind, Project, Sweep, SweepRequest, SweepScenario};
use hecaton_test_server::Delay;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Three rounds of one client at two concurrencies.
fn experiment() -> Experiment {
    let scenario = SweepScenario {
        clients: vec!["honest".into()],
        concurrency: vec![1, 2],
        body_bytes: vec![133],
        baseline_loader: false,
        delay: Delay::None,
        rounds: 3,
        invocations: 1,
        round_seconds: 0.02,
        warm_up_seconds: 0.0,
        ..SweepScenario::load(&Project::built_in()).unwrap()
    };
    let catalogue = Catalogue::load(&root().join("tests/drivers/cheats")).unwrap();
    let sweep = Sweep::new(SweepRequest::default(), &scenario, &catalogue).unwrap();
    Experiment::new(sweep, Kind::Sweep)
}

fn conditions(folder: &Path) -> Conditions {
    Conditions {
        root: Some(root()),
        folder: folder.to_path_buf(),
        program: "hecaton".into(), // nothing here takes it for the baseline loader
        command: "a test".into(),
        server: None,
        patience: Duration::from_secs(20),
        trusted: Vec::new(),
        stop: Arc::new(AtomicBool::new(false)),
    }
}

#[test]
fn an_experiment_can_be_measured_from_any_program() {
    let temporary = tempfile::tempdir().unwrap();
    let (mut planned, mut done) = (0, 0);
    let (mut left, mut lasts) = (Vec::new(), Vec::new());
    let measured = measure(
        &experiment(),
        &conditions(temporary.path()),
        &mut |progress| match progress {
            Progress::Begun(rounds, _) => planned = rounds,
            Progress::Measured(_) => done += 1,
            Progress::Said(says) => panic!("{says}"),
            Progress::ServiceTimed(..) => panic!("it is the test server"),
            Progress::Left(time, all) => {
                left.push(time);
                lasts.extend(all);
            }
        },
    );
    let measured = measured.unwrap();
    assert_eq!((planned, done), (6, 6));
    // Announced once, when each cell has had a round; the rest gets shorter as rounds are made.
    assert_eq!((left.len(), lasts.len()), (6, 1));
    assert!(
        lasts[0] > left[1] && left[5] < left[1],
        "{left:?} {lasts:?}"
    );
    assert_eq!(measured.findings.rows.len(), 2);
    measured.nobody_broke().unwrap();
    let written = read(&measured.finish().unwrap()).unwrap();
    let cells = |rounds: &[Round]| -> Vec<(Cell, u64)> {
        let one = |round: &Round| (round.cell.clone(), round.wall_ns);
        rounds.iter().map(one).collect()
    };
    assert!(cells(&written.rounds) == cells(&measured.document.rounds));
    assert_eq!(
        (written.command.as_str(), written.unfinished),
        ("a test", None)
    );
}

#[test]
fn what_was_measured_until_it_was_stopped_remains() {
    let temporary = tempfile::tempdir().unwrap();
    let conditions = conditions(temporary.path());
    let stop = conditions.stop.clone();
    let stopped = measure(&experiment(), &conditions, &mut |progress| {
        if matches!(progress, Progress::Measured(_)) {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let error = stopped.err().expect("it was stopped");
    assert!(error.is::<Interrupted>());
    assert!(format!("{error:#}").contains("INCOMPLETE 1/6"), "{error:#}");
    let remaining = read(temporary.path()).unwrap();
    assert_eq!((remaining.rounds.len(), remaining.unfinished), (1, Some(6)));
}
