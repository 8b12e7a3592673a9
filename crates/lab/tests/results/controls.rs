//! The controls of a run: the smallest difference it can show, a client that took part twice, and the reference run.

use hecaton_lab::findings::{Findings, noisy_row};
use hecaton_lab::plan::Control;
use hecaton_lab::run::{Noise, Round};
use hecaton_test_server::Delay;

use crate::synthetic::{Machine, judge};

/// Two clients at one load, the first of them twice, and the reference run.
fn rounds(noise: f64, again: f64) -> Vec<Round> {
    let machine = Machine {
        noise,
        ..Machine::default()
    };
    let rounds = |name: &str, speed: f64, control: Option<Control>| {
        let machine = Machine {
            seed: name.len() as u64 * 77 + 5,
            ..machine
        };
        let mut rounds = machine.rounds(name, 133, &[(10, (speed, 50.0))]);
        for round in &mut rounds {
            round.cell.control = control;
        }
        rounds
    };
    let mut all = rounds("first", 1000.0, None);
    all.extend(rounds("second", 1500.0, None));
    all.extend(rounds("first-again", 1000.0 * again, Some(Control::Again)));
    all.extend(rounds(
        "baseline-loader",
        9000.0,
        Some(Control::ReferenceRun),
    ));
    all
}

fn judged(noise: f64, again: f64) -> Findings {
    judge(&rounds(noise, again), &Delay::None)
}

#[test]
fn controls_are_no_rows_and_say_what_the_run_can_resolve() {
    let calm = judged(0.01, 1.0);
    let names: Vec<&str> = calm.rows.iter().map(|row| row.client.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    let rough = judged(0.05, 1.0);
    let resolution = |findings: &Findings| findings.controls.resolution.unwrap();
    assert!(
        (0.025..0.05).contains(&resolution(&calm)),
        "{:?}",
        calm.controls
    );
    assert!(
        (0.07..0.25).contains(&resolution(&rough)),
        "{:?}",
        rough.controls
    );
    let again = calm.controls.again.as_ref().unwrap();
    assert_eq!((again.client.as_str(), again.apart), ("first", false));
    let said = calm.verdicts.join(" ");
    assert!(
        said.contains("This run cannot tell differences below 4\u{a0}% from chance."),
        "{said}"
    );
    assert!(
        said.contains("first was measured twice; the two differ only by chance: 1.0"),
        "{said}"
    );
}

#[test]
fn a_client_that_differs_from_itself_spoils_small_differences() {
    let findings = judged(0.01, 1.3);
    assert!(findings.controls.again.as_ref().unwrap().apart);
    assert!(
        findings.controls.resolution.unwrap() > 0.25,
        "{:?}",
        findings.controls
    );
    assert!(
        findings
            .verdicts
            .join(" ")
            .contains("do not trust small differences")
    );
}

#[test]
fn the_reference_run_shows_that_the_machine_changed() {
    let mut rounds = rounds(0.01, 1.0);
    assert!(judge(&rounds, &Delay::None).controls.reference_run.unwrap() < 0.1);
    for round in rounds.iter_mut().filter(|round| round.block > 5) {
        round.wall_ns = round.wall_ns * 3 / 2;
    }
    let findings = judge(&rounds, &Delay::None);
    assert!((0.4..0.7).contains(&findings.controls.reference_run.unwrap()));
    assert!(
        findings
            .verdicts
            .join(" ")
            .contains("The machine's speed changed during the run")
    );
}

#[test]
fn five_rounds_resolve_nothing() {
    let mut rounds = rounds(0.01, 1.0);
    rounds.retain(|round| round.block < 5);
    let findings = judge(&rounds, &Delay::None);
    assert_eq!(findings.controls.resolution, None);
    assert!(!findings.verdicts.join(" ").contains("cannot be told"));
}

#[test]
fn a_row_has_a_noise_of_its_own() {
    let mut rounds = rounds(0.01, 1.0);
    for round in &mut rounds {
        let wall = round.wall_ns;
        let first = round.cell.client == "first";
        let (foreign_ns, stolen_ns) = match round.block % 4 {
            0 if first => (wall / 10, 0),
            1 if first => (0, wall / 20),
            _ => (wall / 50, 9_000_000),
        };
        round.noise = Some(Noise {
            foreign_ns,
            stolen_ns,
        });
    }
    let share = |client: &str| {
        let found = rounds.iter().find(|round| round.cell.client == client);
        noisy_row(&rounds, &found.unwrap().cell, 2)
    };
    assert_eq!((share("first"), share("second")), (Some(0.5), Some(0.0)));
}
