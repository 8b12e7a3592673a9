//! The other views of a run: Markdown, CSV, and charts as files.

use hecaton_lab::ledger::Document;
use hecaton_lab::report;
use hecaton_test_server::Delay;
use serde_json::json;

use crate::synthetic::{MRI_SHORT, Machine, document, judge};

/// One client and its baseline loader; `speed` is how fast the client is against its usual, `machine` how fast all are.
fn sweep(seed: u64, speed: f64, machine: f64) -> Document {
    let rounds = |client: &str, factor: f64| {
        let shape = MRI_SHORT.map(|(rate, cpu)| (rate * factor * machine, cpu));
        Machine {
            seed,
            ..Machine::default()
        }
        .sweep(client, 133, &shape)
    };
    let mut all = rounds("typhoeus", speed);
    all.extend(rounds("baseline-loader", 1.6));
    document(all, "0", json!({ "kind": "test_server" }))
}

#[test]
fn markdown_has_a_line_for_every_row_and_the_command() {
    let run = sweep(1, 1.0, 1.0);
    let text = report::view(&run, &judge(&run.rounds, &Delay::None)).markdown();
    let rows = text
        .lines()
        .filter(|line| line.starts_with("| typhoeus") || line.starts_with("| baseline"));
    assert_eq!(rows.count(), 32, "{text}");
    assert!(text.contains(&run.command), "{text}");
    assert!(text.contains("| ---: |"), "{text}");
}

#[test]
fn csv_has_the_keys_of_the_document_and_a_line_for_every_row() {
    let run = sweep(1, 1.0, 1.0);
    let text = report::view(&run, &judge(&run.rounds, &Delay::None)).csv();
    let lines: Vec<&str> = text.split("\r\n").collect();
    assert!(
        lines[0].starts_with("client,body_bytes,delay_ms,concurrency,requests_per_second,"),
        "{}",
        lines[0]
    );
    assert_eq!(lines.len(), 1 + 32 + 1);
    let columns = lines[0].split(',').count();
    assert!(
        lines[1..33]
            .iter()
            .all(|line| line.split(',').count() == columns),
        "{text}"
    );
}

#[test]
fn charts_are_whole_documents_with_their_colours() {
    let run = sweep(1, 1.0, 1.0);
    let files = report::view(&run, &judge(&run.rounds, &Delay::None)).drawings();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "all-133.svg",
            "percentiles-133.svg",
            "typhoeus-133.svg",
            "baseline-133.svg"
        ]
    );
    for (name, chart) in &files {
        assert!(
            chart.starts_with("<svg") && chart.contains("xmlns="),
            "{name}"
        );
        assert!(chart.contains("--s0:") && chart.contains("<path"), "{name}");
    }
}

#[test]
fn a_client_does_not_choose_where_its_chart_is_written() {
    let mut run = sweep(1, 1.0, 1.0);
    for round in &mut run.rounds {
        round.cell.client = "../../etc/x".into();
    }
    let files = report::view(&run, &judge(&run.rounds, &Delay::None)).drawings();
    assert!(
        files.iter().all(|(name, _)| !name.contains('/')),
        "{files:?}"
    );
}

#[test]
fn the_title_of_a_kept_benchmark_is_its_result() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    let bench = hecaton_lab::ledger::bench(&folder.join("2026-11-22-bench"));
    let bench = bench.unwrap().unwrap();
    let parts = bench.parts.iter().map(|part| report::Part {
        title: &part.title,
        subject: &part.subject,
        run: &part.run,
    });
    let page = report::bench(&parts.collect::<Vec<_>>(), &[], &[]).html();
    assert!(page.contains("<h1>The gem is the fastest in 5 of 5 parts</h1>"));
}

#[test]
fn a_run_with_an_access_log_is_not_said_to_have_none() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    let run = hecaton_lab::ledger::read(&folder.join("2026-11-24-own-service")).unwrap();
    let page = report::view(&run, &judge(&run.rounds, &run.plan.delay)).html();
    assert!(page.contains("UNVERIFIED: the access log confirms numbers of requests"));
    assert!(!page.contains("the server has no log"));
}

/// The headings of a page's tables, each in one line.
fn headings(page: &str) -> Vec<String> {
    let cells = page.split("<th ").skip(1);
    let cells = cells.filter_map(|cell| cell.split_once('>')?.1.split_once("</th>"));
    cells
        .map(|(title, _)| title.replace("<br>", " "))
        .filter(|title| !title.is_empty())
        .collect()
}

#[test]
fn the_tutorial_of_the_lab_explains_every_column_of_the_kept_pages() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let tutorial = std::fs::read_to_string(docs.join("lab.md")).unwrap();
    let explained: Vec<&str> = tutorial
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" |"))
        .map(|(title, _)| title)
        .collect();
    for (name, run) in hecaton_lab::ledger::runs_below(&docs.join("results")).unwrap() {
        let page = report::view(&run, &judge(&run.rounds, &run.plan.delay)).html();
        let headings = headings(&page);
        assert!(headings.len() > 10, "{name}: {headings:?}");
        for heading in headings {
            let is_there = explained.iter().any(|title| title.contains(&heading));
            assert!(is_there, "{name}: docs/lab.md does not explain {heading:?}");
        }
    }
}

#[test]
fn kept_runs_are_read_and_every_speed_is_in_every_view() {
    let results = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    let runs = hecaton_lab::ledger::runs_below(&results).unwrap();
    assert!(runs.len() > 5, "only {} runs", runs.len());
    for (name, run) in runs {
        // Whatever they were called when the run was written.
        assert!(
            !run.plan.clients.iter().any(|client| client == "raw")
                && !run.environment.clients.contains_key("raw"),
            "{name}"
        );
        let verified = run.plan.target == hecaton_lab::spec::Target::TestServer;
        assert_eq!(
            run.rounds.iter().any(|round| round.probe.is_some()),
            verified,
            "{name}"
        );
        let findings = judge(&run.rounds, &run.plan.delay);
        let view = report::view(&run, &findings);
        let (text, page) = (view.markdown(), view.html());
        // Of batches and round trips the views show times.
        let sweeps = run.plan.comparison.is_none();
        for row in findings.rows.iter().filter(|_| sweeps) {
            let speed = hecaton_lab::findings::words::figure(row.requests_per_second);
            let reference = row.rejected.is_some() && run.plan.baseline.is_some();
            assert!(
                page.contains(&speed),
                "{name}: {speed} of {} is not in the page",
                row.client
            );
            assert!(
                reference || text.contains(&speed),
                "{name}: {speed} of {}",
                row.client
            );
        }
        assert!(
            view.csv().lines().count() > 1 && page.contains("class=\"verdicts\""),
            "{name}"
        );
    }
}
