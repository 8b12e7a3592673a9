//! Rounds become rows, recommendations and sentences as the ledger says.

use crate::synthetic::{
    JRUBY_MEDIUM, JRUBY_SHORT, MRI_MEDIUM, MRI_SHORT, Machine, judge, ten_ms, unwitnessed,
};
use hecaton_lab::findings::{Findings, Row};
use hecaton_lab::run::Round;
use hecaton_test_server::Delay;

fn row<'a>(findings: &'a Findings, client: &str, concurrency: usize) -> &'a Row {
    let of = |row: &&Row| row.client == client && row.load.concurrency == concurrency;
    findings.rows.iter().find(of).expect("a row")
}

fn recommended(rounds: &[Round]) -> usize {
    let findings = judge(rounds, &ten_ms());
    assert_eq!(
        findings.recommendations.len(),
        1,
        "{:?}",
        findings.rows.iter().find(|r| r.rejected.is_some())
    );
    findings.recommendations[0].load.concurrency
}

/// The rule, on the four published series: stable on the plateaus where the arg-max is chance.
#[test]
fn the_published_sweeps_get_the_advice_that_their_figures_bear() {
    let machine = Machine::default();
    assert_eq!(recommended(&machine.sweep("mri", 133, &MRI_SHORT)), 80);
    assert_eq!(recommended(&machine.sweep("mri", 13801, &MRI_MEDIUM)), 20);
    assert_eq!(recommended(&machine.sweep("jruby", 133, &JRUBY_SHORT)), 80);
    assert_eq!(
        recommended(&machine.sweep("jruby", 13801, &JRUBY_MEDIUM)),
        10
    );
}

/// A client that was measured with two values of a factor is two in the verdict, each with its own advice.
#[test]
fn a_client_with_two_values_of_a_factor_is_named_with_them() {
    let machine = Machine::default();
    let mut rounds = machine.sweep("mri", 133, &MRI_SHORT);
    let mut over_tls = machine.sweep("mri", 133, &JRUBY_SHORT);
    over_tls
        .iter_mut()
        .for_each(|round| round.cell.load.tls = true);
    rounds.extend(over_tls);
    let findings = judge(&rounds, &ten_ms());
    assert_eq!(findings.recommendations.len(), 2);
    let [first, second] = &findings.verdicts[..2] else {
        panic!("{:?}", findings.verdicts)
    };
    assert!(
        first.starts_with("mri (TLS), 133-byte bodies: use concurrency 80")
            && first.contains("× mri ["),
        "{first}"
    );
    assert!(
        second.starts_with("mri, 133-byte bodies: use concurrency 80")
            && second.contains("× mri (TLS) ["),
        "{second}"
    );
}

/// On a plateau the fastest is chance: the smallest of it is recommended each time, and the others are named.
#[test]
fn of_a_plateau_the_smallest_is_recommended_and_the_tie_is_named() {
    let plateau: [(f64, f64); 16] = std::array::from_fn(|position| match position {
        ..7 => MRI_SHORT[position],
        _ => (1500.0, 60.0),
    });
    for seed in 1..=12 {
        let machine = Machine {
            seed,
            noise: 0.03,
            ..Machine::default()
        };
        let findings = judge(&machine.sweep("mri", 133, &plateau), &ten_ms());
        let advice = &findings.recommendations[0];
        assert_eq!(advice.load.concurrency, 40, "{advice:?}");
        assert!(advice.tied.contains(&80), "{advice:?}");
        let says = &findings.verdicts[0];
        assert!(says.contains("use concurrency 40 (a tie with 60"), "{says}");
    }
}

#[test]
fn an_honest_row_holds_the_figures_of_its_rounds() {
    let findings = judge(
        &Machine {
            noise: 0.0,
            drift: 0.0,
            ..Machine::default()
        }
        .sweep("mri", 133, &MRI_SHORT),
        &ten_ms(),
    );
    assert_eq!(findings.rows.len(), 16);
    let row = row(&findings, "mri", 80);
    assert!((row.requests_per_second - 1690.68).abs() < 0.01, "{row:?}");
    assert!((row.cpu_percentage - 66.13).abs() < 0.01, "{row:?}");
    assert!(
        (row.cpu_ms_per_request.unwrap() - 0.6613 / 1.69068).abs() < 1e-3,
        "{row:?}"
    );
    assert!(
        (row.p50_ms.unwrap() - 80.0 / 1.69068 * 0.97).abs() < 1.0,
        "{row:?}"
    );
    assert!(row.p99_ms > row.p50_ms);
    assert_eq!(
        (row.connections, row.duplicates, row.peak_in_flight),
        (Some(80), Some(0), Some(80))
    );
    let shown = serde_json::to_value(row.shown_load).unwrap();
    assert_eq!(
        (shown["delay_ms"].as_f64(), row.errors, row.verified),
        (Some(10.0), 0, true)
    );
    assert!((row.peak_rss_mb - (20_000.0 + 3_200.0) * 1024.0 / 1e6).abs() < 1e-9);
    assert_eq!(
        (row.rejected.clone(), row.baseline_loader_ratio),
        (None, None)
    );
    let advice = &findings.recommendations[0];
    assert!(
        (advice.speedup_over_one.unwrap() - 1690.68 / 68.98).abs() < 0.01,
        "{advice:?}"
    );
}

#[test]
fn rejected_rows_are_shown_but_never_ranked() {
    let mut rounds = Machine::default().sweep("mri", 133, &MRI_SHORT);
    rounds
        .iter_mut()
        .filter(|r| r.cell.load.concurrency == 80)
        .for_each(|r| r.claim.sum = 1);
    let findings = judge(&rounds, &ten_ms());
    assert!(row(&findings, "mri", 80).rejected.is_some() && !row(&findings, "mri", 80).verified);
    assert_eq!(
        findings.recommendations[0].load.concurrency, 120,
        "{:?}",
        findings.recommendations
    );
    rounds.iter_mut().for_each(|r| r.claim.sum = 1);
    let findings = judge(&rounds, &ten_ms());
    assert!(findings.recommendations.is_empty());
    assert!(
        findings.verdicts[0].contains("no recommendation: the checksum"),
        "{:?}",
        findings.verdicts
    );
}

#[test]
fn without_a_ledger_nothing_is_verified_and_claims_still_have_to_agree() {
    let mut rounds = unwitnessed(Machine::default().sweep("mri", 0, &MRI_SHORT));
    let findings = judge(&rounds, &Delay::None);
    let first = row(&findings, "mri", 1);
    assert_eq!((first.verified, first.rejected.clone()), (false, None));
    assert_eq!(
        (first.connections, first.duplicates, first.peak_in_flight),
        (None, None, None)
    );
    assert_eq!(findings.recommendations[0].load.concurrency, 80);
    rounds[0].claim.errors = 1;
    assert!(
        row(&judge(&rounds, &Delay::None), "mri", 1)
            .rejected
            .is_some()
    );
}

/// Two clients with a constant ratio and a baseline loader, under drift: the ratios come out of the blocks.
#[test]
fn clients_are_compared_in_pairs_and_with_the_baseline_loader() {
    let machine = Machine::default();
    let faster = MRI_SHORT.map(|(speed, cpu)| (speed * 1.5, cpu));
    let loader = MRI_SHORT.map(|(speed, cpu)| (speed * 3.0, cpu));
    let mut rounds = machine.sweep("slow", 133, &MRI_SHORT);
    rounds.extend(machine.sweep("fast", 133, &faster));
    rounds.extend(machine.sweep("baseline-loader", 133, &loader));
    let findings = judge(&rounds, &Delay::None);
    assert!((row(&findings, "fast", 80).baseline_loader_ratio.unwrap() - 0.5).abs() < 0.01);
    assert!(
        (row(&findings, "baseline-loader", 80)
            .baseline_loader_ratio
            .unwrap()
            - 1.0)
            .abs()
            < 1e-9
    );
    assert!(
        findings
            .recommendations
            .iter()
            .all(|advice| advice.client != "baseline-loader")
    );
    let [fast, slow, _resolution] = findings.verdicts.as_slice() else {
        panic!("{:?}", findings.verdicts)
    };
    assert!(
        fast.starts_with("fast, 133-byte bodies: use concurrency 80: 2,4"),
        "{fast}"
    );
    assert!(
        fast.contains("1.50× slow [1.") && fast.contains("50\u{a0}% of the baseline loader"),
        "{fast}"
    );
    assert!(slow.contains("0.67× fast [0."), "{slow}");
    assert!(!fast.contains("limit"), "{fast}");
}

#[test]
fn close_clients_are_same_ish_and_a_busy_server_is_named_as_the_limit() {
    let machine = Machine::default();
    let near = MRI_SHORT.map(|(speed, cpu)| (speed * 1.005, cpu));
    let loader = MRI_SHORT.map(|(speed, cpu)| (speed * 1.2, cpu));
    let mut rounds = machine.sweep("one", 133, &MRI_SHORT);
    for round in &mut rounds {
        round.seen.as_mut().unwrap().cpu_ns = round.wall_ns / 100 * 95;
    }
    rounds.extend(machine.sweep("other", 133, &near));
    rounds.extend(machine.sweep("baseline-loader", 133, &loader));
    let verdicts = judge(&rounds, &Delay::None).verdicts;
    assert!(
        verdicts[0].contains("equivalent to one (1.0"),
        "{verdicts:?}"
    );
    let limited = |name: &str| {
        let own = verdicts.iter().find(|verdict| verdict.starts_with(name));
        own.unwrap()
            .contains("the server is the limit: it was busy 95\u{a0}% of a core")
    };
    // How near the baseline loader is says nothing of it: both are.
    assert_eq!(
        [limited("one, "), limited("other, ")],
        [true, false],
        "{verdicts:?}"
    );
}

#[test]
fn a_baseline_loader_slower_than_the_client_is_not_called_the_limit() {
    let machine = Machine::default();
    let mut rounds = machine.sweep("mri", 133, &MRI_SHORT);
    rounds.extend(machine.sweep(
        "baseline-loader",
        133,
        &MRI_SHORT.map(|(speed, cpu)| (speed * 0.8, cpu)),
    ));
    let verdicts = judge(&rounds, &Delay::None).verdicts;
    assert!(
        verdicts[0].contains("125\u{a0}% of the baseline loader"),
        "{verdicts:?}"
    );
    assert!(
        verdicts[0].contains("its speed is not the limit here"),
        "{verdicts:?}"
    );
}

#[test]
fn waiting_for_the_server_is_named_as_the_limit() {
    let shape = [(1, (98.0, 2.0)), (10, (980.0, 9.0))];
    let verdicts = judge(&Machine::default().rounds("mri", 133, &shape), &ten_ms()).verdicts;
    assert!(
        verdicts[0].contains("no client can do more than 1,000 requests/s at concurrency 10"),
        "{verdicts:?}"
    );
    assert!(
        verdicts[0].contains("Nothing above 10 was measured"),
        "{verdicts:?}"
    );
}

#[test]
fn few_rounds_are_said_to_carry_no_interval() {
    let findings = judge(
        &Machine {
            blocks: 3,
            ..Machine::default()
        }
        .sweep("mri", 133, &MRI_SHORT),
        &ten_ms(),
    );
    assert!(
        findings.verdicts[0].contains("[range 2") && findings.verdicts[0].contains("3 rounds]"),
        "{:?}",
        findings.verdicts
    );
    assert!(
        findings.recommendations[0]
            .speedup
            .unwrap()
            .confidence
            .is_none()
    );
}

/// Where a delay is drawn for each response, three long ones are chance.
#[test]
fn a_median_below_the_fastest_of_many_latencies_of_the_loader_is_mentioned() {
    let machine = Machine {
        blocks: 6,
        ..Machine::default()
    };
    let said = |latencies: usize| {
        let mut rounds = machine.rounds("mri", 133, &[(1, (50.0, 10.0))]);
        let mut loader = machine.rounds("baseline-loader", 133, &[(1, (25.0, 1.0))]);
        for round in &mut loader {
            round.claim.latencies_us = vec![40_000; latencies].into_iter().collect();
        }
        rounds.extend(loader);
        let found = judge(&rounds, &Delay::None);
        let row = row(&found, "mri", 1);
        assert_eq!(row.rejected, None);
        row.warnings.join("; ")
    };
    assert!(!said(3).contains("baseline loader"));
    let says = said(100);
    assert!(says.contains("baseline loader"), "{says}");
}

/// A driver may claim one latency in a hundred too short without a contradiction, but the p99 that is shown is the server's then.
#[test]
fn no_latency_is_shown_below_the_servers_own_at_the_same_rank() {
    let shown = |at_a_rate: bool| {
        let mut rounds = Machine::default().rounds("mri", 133, &[(10, (624.21, 34.81))]);
        for round in &mut rounds {
            round.lat_every = 1;
            round.per_second = at_a_rate.then_some(620.0);
            round.claim.latencies_us = (0..round.count).map(|_| 6_803).collect();
            let late = round.count / 60;
            let seen = round.seen.as_mut().unwrap();
            seen.least.add(5_000, round.count - late);
            seen.least.add(76_000, late);
        }
        let found = judge(&rounds, &Delay::None);
        row(&found, "mri", 10).p99_ms.unwrap()
    };
    assert!(shown(true) > 75.0 && shown(false) < 7.0, "{}", shown(true));
}
