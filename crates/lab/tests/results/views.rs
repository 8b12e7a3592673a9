//! The other views of a run: Markdown, CSV, and charts as files.

use hecaton_lab::findings::judge_run;
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

/// The page of a kept benchmark.
fn bench(name: &str) -> String {
    let bench = hecaton_lab::ledger::bench(&results().join(name));
    let bench = bench.unwrap().unwrap();
    let parts = bench.parts.iter().map(|part| report::Part {
        title: &part.title,
        subject: &part.subject,
        run: &part.run,
    });
    report::bench(&parts.collect::<Vec<_>>(), &[], &[]).html()
}

/// The page of a kept run.
fn page(name: &str) -> String {
    page_of(&kept(name))
}

fn kept(name: &str) -> Document {
    hecaton_lab::ledger::read(&results().join(name)).unwrap()
}

fn page_of(run: &Document) -> String {
    report::view(run, &judge_run(run)).html()
}

/// The title of a page.
fn title(page: &str) -> &str {
    let (_, rest) = page.split_once("<h1>").unwrap();
    rest.split_once("</h1>").unwrap().0
}

fn results() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results")
}

#[test]
fn the_title_of_a_kept_benchmark_is_its_result() {
    let page = bench("2026-11-22-bench");
    assert!(page.contains("<h1>The gem is the fastest in 5 of 5 parts</h1>"));
    assert!(page.contains("7 parts, each a run of its own; 2 have no other client"));
    assert!(bench("2026-11-24-bench").contains("1 part, a run of its own"));
}

#[test]
fn the_title_of_a_sweep_compares_with_a_client_that_does_not_run_this_projects_engine() {
    let titles = [
        (
            "2026-11-24-bench/current",
            "current-hecaton: 104,050 requests/s at concurrency 50, 2.29× as fast as current-curb",
        ),
        (
            "2026-11-22-bench/tls",
            "hecaton-ruby: 68,527 requests/s at concurrency 50",
        ),
        (
            "2026-11-24-http2",
            "go-net-http-tuned (TLS): 4,505 requests/s at concurrency 50, as fast as hecaton-ruby (TLS, HTTP/2)",
        ),
    ];
    for (run, expected) in titles {
        assert_eq!(title(&page(run)), expected, "{run}");
    }
}

#[test]
fn the_title_of_a_sweep_at_rates_compares_likewise() {
    let mut run = kept("2026-11-24-rate");
    let shown = |run: &Document| title(&page_of(run)).to_owned();
    // Both keep the highest rate that was tried, so neither limit is known, and their order is that of their names.
    assert_eq!(
        shown(&run),
        "curb keeps at least 4,404 requests/s; hecaton-ruby keeps at least 4,481 requests/s with p99 under 50.0 ms: \
         not every limit was found, so they are not ranked"
    );
    // What is faster than a budget that only the lower rates keep has a limit.
    let at_highest = run.rounds.iter_mut().filter(|round| {
        round
            .cell
            .load
            .rate
            .is_some_and(|rate| rate.to_string() == "95%")
    });
    at_highest.for_each(|round| round.wall_ns *= 2);
    let limited = shown(&run);
    assert!(
        !limited.contains("at least") && !limited.contains("not ranked"),
        "{limited}"
    );
}

#[test]
fn a_ratio_is_the_same_wherever_a_page_has_it() {
    let sweep = page("2026-11-22-sweep");
    assert!(title(&sweep).ends_with(", 5.36× as fast as typhoeus"));
    assert!(sweep.contains("; 5.36× typhoeus ["));
    let shootout = page("2026-11-24-shootout");
    assert!(shootout.contains("hecaton-rust reaches 89\u{a0}% of it"));
}

#[test]
fn signs_and_the_baseline_loader_are_explained_above_the_bars() {
    let page = bench("2026-11-24-bench");
    let (chart, _) = page.split_once("</svg>").unwrap();
    assert!(chart.contains("faraday-net-http\u{a0}*"));
    assert!(chart.contains(">*: a new connection for each request<"));
    assert!(chart.contains(">baseline loader: the lab&#39;s own driver, which parses nothing<"));
}

#[test]
fn a_sweep_of_one_concurrency_has_bars_and_no_line_of_single_points() {
    let page_of_many = page("2026-11-22-bench/one");
    assert!(page_of_many.contains("<h2>13,801-byte bodies at concurrency 1</h2>"));
    let drawn = page_of_many.split("<details").next().unwrap();
    assert!(drawn.contains("class=\"beam") && !drawn.contains("over concurrency"));
    let page_of_one = page("2026-11-22-bench/ten-thousand");
    assert!(
        !page_of_one
            .split("<details")
            .next()
            .unwrap()
            .contains("<svg")
    );
}

#[test]
fn a_sweep_of_one_concurrency_has_no_speed_up_and_units_in_both_widths() {
    let page = page("2026-11-22-bench/one");
    let (shown, _) = page.split_once("<details").unwrap();
    assert!(!shown.contains("speed-up") && !shown.contains("1.00×"));
    let units = shown.matches(">requests/s</text>").count();
    assert_eq!(units, 2 * 2, "two bodies, beside and above the bars");
}

#[test]
fn a_page_says_the_delay_in_words() {
    let pages = [
        ("2026-11-22-many-at-once", "(no delay)"),
        ("2026-11-22-bench/ten-thousand", "(delay 100 ms)"),
        ("2026-11-22-waiting", "(delay p50 15 ms, p99 30 ms)"),
    ];
    for (run, words) in pages {
        assert!(page(run).contains(words), "{run}");
    }
}

#[test]
fn names_beside_bars_are_whole() {
    let page = page("2026-11-24-builds");
    for name in ["requests@old", "requests@new"] {
        assert_eq!(
            page.matches(&format!(">{name}</text>")).count(),
            2,
            "{name}"
        );
    }
}

#[test]
fn what_a_sweep_says_of_each_client_is_folded_also_where_clients_have_options() {
    for name in ["2026-11-24-http2", "2026-11-24-gzip", "2026-11-22-sweep"] {
        let page = page(name);
        let (shown, folded) = page.split_once("Each client in words").unwrap();
        assert!(!shown.contains(": use concurrency"), "{name}");
        assert!(folded.contains(": use concurrency"), "{name}");
    }
}

#[test]
fn a_run_with_an_access_log_is_not_said_to_have_none() {
    let page = page("2026-11-29-own-service");
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
            view.csv().lines().count() > 1 && (page.contains("class=\"verdicts\"") || !sweeps),
            "{name}"
        );
    }
}
