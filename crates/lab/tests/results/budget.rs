//! A budget decides which concurrency is recommended, and the verdict says what it keeps.

use hecaton_lab::findings::{Findings, judge_run};
use hecaton_lab::report;
use hecaton_lab::spec::Budget;
use serde_json::json;

use crate::synthetic::{MRI_SHORT, Machine, document};

/// The findings of a published sweep within a budget. Its p99 is about 20 ms at concurrency 20, 32 ms at 40 and 51 ms
/// at 80; it needs 20.5 MB, and 0.041 MB more for each request in flight.
fn within(budget: Budget) -> Findings {
    let rounds = Machine::default().sweep("mri", 133, &MRI_SHORT);
    let mut run = document(rounds, "10ms", json!({ "kind": "test_server" }));
    run.plan.budget = budget;
    let findings = judge_run(&run);
    let page = report::view(&run, &findings).html();
    let words = findings.verdicts[0].split(", which").next().unwrap();
    assert!(page.contains(words.trim_start_matches("mri")), "{words}");
    findings
}

fn advised(budget: Budget) -> (usize, String) {
    let mut findings = within(budget);
    let advice = &findings.recommendations[0];
    (advice.load.concurrency, findings.verdicts.swap_remove(0))
}

#[test]
fn the_recommended_concurrency_keeps_the_budget() {
    let none = Budget::default();
    assert_eq!(advised(none).0, 80);
    let (concurrency, says) = advised(Budget {
        p99_ms: Some(25.0),
        ..none
    });
    assert_eq!(concurrency, 20, "{says}");
    assert!(says.contains(", which keeps p99 under 25.0 ms: "), "{says}");
    // Of higher ones it is not said that they were not measured.
    assert!(!says.contains("Nothing above"), "{says}");
    let (concurrency, says) = advised(Budget {
        memory_mb: Some(21.0),
        ..none
    });
    assert_eq!(concurrency, 10, "{says}");
    let (concurrency, says) = advised(Budget {
        p99_ms: Some(25.0),
        memory_mb: Some(21.0),
        ..none
    });
    assert_eq!(concurrency, 10, "{says}");
    assert!(
        says.contains("p99 under 25.0 ms and memory under 21.0 MB"),
        "{says}"
    );
}

#[test]
fn a_smaller_share_of_the_best_speed_needs_fewer_requests_in_flight() {
    let share = |share| {
        advised(Budget {
            share: Some(share),
            ..Budget::default()
        })
        .0
    };
    assert_eq!((share(0.95), share(0.6), share(0.3)), (80, 20, 10));
}

#[test]
fn a_budget_that_nothing_keeps_recommends_nothing_and_says_what_is_needed() {
    let findings = within(Budget {
        p99_ms: Some(1.0),
        memory_mb: Some(5.0),
        share: None,
    });
    assert!(findings.recommendations.is_empty());
    let says = &findings.verdicts[0];
    assert!(
        says.contains("no measured concurrency keeps p99 under 1.00 ms and memory under 5.00 MB: the lowest p99 is")
            && says.contains("the least memory is 20.5 MB at concurrency 1"),
        "{says}"
    );
}
