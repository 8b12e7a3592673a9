//! The document, the terminal's text and the page: the figures are in them, and nothing from outside becomes markup.

use crate::synthetic::{
    JRUBY_MEDIUM, JRUBY_SHORT, MRI_MEDIUM, MRI_SHORT, Machine, document, judge, ten_ms, unwitnessed,
};
use hecaton_lab::ledger::Document;
use hecaton_lab::report::{self, Style};
use serde_json::{Value, json};

const WIDE: Style = Style {
    width: 100,
    color: false,
    unicode: true,
};

/// Three clients, two bodies, six rounds: as much as the default sweep measures. Some rows are rejected.
fn whole_sweep() -> Document {
    let machine = Machine {
        blocks: 6,
        noise: 0.02,
        ..Machine::default()
    };
    let loader = |shape: [(f64, f64); 16]| shape.map(|(speed, cpu)| (speed * 1.25, cpu * 0.2));
    let mut rounds = machine.sweep("typhoeus", 133, &MRI_SHORT);
    rounds.extend(machine.sweep("typhoeus", 13801, &MRI_MEDIUM));
    rounds.extend(machine.sweep("typhoeus-jruby", 133, &JRUBY_SHORT));
    rounds.extend(machine.sweep("typhoeus-jruby", 13801, &JRUBY_MEDIUM));
    rounds.extend(machine.sweep("baseline-loader", 133, &loader(JRUBY_SHORT)));
    rounds.extend(machine.sweep("baseline-loader", 13801, &loader(JRUBY_MEDIUM)));
    for round in rounds
        .iter_mut()
        .filter(|r| r.cell.client == "typhoeus" && r.cell.load.concurrency == 200)
    {
        round.probe.as_mut().unwrap().peak_in_flight = 128;
    }
    document(rounds, "10ms", json!({ "kind": "test_server" }))
}

fn foreign_sweep() -> Document {
    let rounds = unwitnessed(Machine::default().sweep("typhoeus", 0, &MRI_SHORT));
    let target = json!({ "kind": "foreign", "method": "GET", "url": "http://example.com/", "requests": 500 });
    document(rounds, "0", target)
}

/// The sentence about a client says what its row cannot: what limits it, and that more may be faster.
#[test]
fn the_page_says_each_clients_sentence_where_it_is_unfolded() {
    let run = whole_sweep();
    let findings = judge(&run.rounds, &ten_ms());
    let page = report::view(&run, &findings).html();
    let (_, folded) = page
        .split_once("<summary>Each client in words</summary>")
        .expect("a folded section of sentences");
    let (folded, _) = folded.split_once("</details>").unwrap();
    let of_clients = findings
        .verdicts
        .iter()
        .filter(|it| it.starts_with("typhoeus"));
    assert_eq!(of_clients.clone().count(), 4, "{:?}", findings.verdicts);
    for verdict in of_clients {
        let (_, words) = verdict.split_once(", ").unwrap();
        let words = words.split('(').next().unwrap_or_default().trim();
        assert!(folded.contains(words), "{words} is missing in {folded}");
    }
}

/// Where the browser's test finds a page when no sweep has been made.
fn keep(name: &str, page: &str) {
    std::fs::write(
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name),
        page,
    )
    .unwrap();
}

#[test]
fn the_document_has_exactly_the_promised_keys() {
    let run = whole_sweep();
    let findings = judge(&run.rounds, &ten_ms());
    let text = serde_json::to_string(&report::document(&run, &findings)).unwrap();
    assert!(
        text.starts_with("{\"schema\":1,\"command\":"),
        "{}",
        &text[..60]
    );
    let value: Value = serde_json::from_str(&text).unwrap();
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        keys(&value),
        words("schema command environment plan rounds rows recommendations")
    );
    assert_eq!(
        keys(&value["rows"][0]),
        words(
            "client body_bytes delay_ms concurrency requests_per_second cpu_percentage cpu_ms_per_request cpu_outside_percentage p50_ms p99_ms \
             percentiles peak_rss_mb errors connections opened_per_request duplicates peak_in_flight baseline_loader_ratio verified rejected"
        )
    );
    assert_eq!(
        keys(&value["recommendations"][0]),
        words("client body_bytes concurrency tied speedup_over_one")
    );
    assert_eq!(value["rows"].as_array().unwrap().len(), 96);
    assert_eq!(value["rounds"].as_array().unwrap().len(), 576);
    assert_eq!(value["recommendations"].as_array().unwrap().len(), 4);
    let rejected = value["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| !row["rejected"].is_null());
    assert_eq!(rejected.count(), 2);
}

fn words(keys: &str) -> Vec<String> {
    keys.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn the_terminal_shows_tables_charts_verdicts_and_rejections() {
    let run = whole_sweep();
    let findings = judge(&run.rounds, &ten_ms());
    let text = report::view(&run, &findings).terminal(&WIDE);
    keep("terminal.txt", &text);
    for words in [
        "133-byte bodies, delay 10 ms",
        "13,801-byte bodies",
        "requests",
        "Verdict",
        "Rejected: shown, not ranked",
    ] {
        assert!(text.contains(words), "{words} is missing in\n{text}");
    }
    for verdict in &findings.verdicts {
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains(&verdict.split_whitespace().collect::<Vec<_>>().join(" ")),
            "{verdict}"
        );
    }
    assert_eq!(text.matches("only 128 of 200 requests").count(), 2);
    assert_eq!(
        text.matches('◀').count(),
        4 + 2,
        "one mark for each recommendation, and what it means"
    );
    assert!(
        text.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)),
        "a chart in braille"
    );
    for line in text.lines() {
        assert!(
            line.chars().count() <= 100,
            "{} columns: {line}",
            line.chars().count()
        );
    }
    assert!(!text.contains('\x1b') && !text.contains("UNVERIFIED"));
}

#[test]
fn every_width_and_every_style_fits() {
    let run = whole_sweep();
    let findings = judge(&run.rounds, &ten_ms());
    for width in [60, 80, 100, 120] {
        let plain = report::view(&run, &findings).terminal(&Style {
            width,
            color: false,
            unicode: false,
        });
        assert!(
            plain.is_ascii(),
            "{:?}",
            plain.chars().find(|c| !c.is_ascii())
        );
        assert!(!plain.contains('?'), "a character without a plain form");
        let longest = plain.lines().max_by_key(|line| line.len()).unwrap();
        assert!(
            longest.len() <= width,
            "{} of {width} columns: {longest}",
            longest.len()
        );
    }
    let coloured = report::view(&run, &findings).terminal(&Style {
        color: true,
        ..WIDE
    });
    keep("terminal.ansi", &coloured);
    assert_eq!(
        coloured.matches("\x1b[0m").count() * 2,
        coloured.matches("\x1b[").count(),
        "every colour ends"
    );
    assert_eq!(
        without_colours(&coloured),
        report::view(&run, &findings).terminal(&WIDE)
    );
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        plain + part.split_once('m').map_or("", |(_, rest)| rest)
    })
}

#[test]
fn a_server_without_a_ledger_gets_a_stamp_everywhere() {
    let run = foreign_sweep();
    let findings = judge(&run.rounds, &hecaton_test_server::Delay::None);
    let text = report::view(&run, &findings).terminal(&WIDE);
    assert!(
        text.contains("UNVERIFIED") && text.matches(" ~").count() >= 16,
        "{text}"
    );
    let page = report::view(&run, &findings).html();
    keep("foreign.html", &page);
    assert!(
        page.contains("UNVERIFIED: the server has no log")
            && page.contains("GET http://example.com/")
    );
}

#[test]
fn the_page_is_whole_small_and_alone() {
    let run = whole_sweep();
    let findings = judge(&run.rounds, &ten_ms());
    let page = report::view(&run, &findings).html();
    keep("report.html", &page);
    assert!(page.len() <= 225_000, "{} bytes", page.len());
    for verdict in &findings.verdicts {
        // The page has the advice for each client in a table.
        let words = verdict.split(',').next().unwrap_or_default();
        assert!(page.contains(words), "{verdict}");
    }
    assert_eq!(
        page.matches("<svg class=\"panel\"").count(),
        6 + 2 + 2,
        "a chart per client and body, and two of all for each body"
    );

    for plot in [
        "requests/s",
        "CPU % of one core",
        "p99 dashed",
        "peak memory in MB",
    ] {
        assert!(page.matches(plot).count() >= 6, "{plot}");
    }
    assert_eq!(
        page.matches(">1 of 16 rejected<").count(),
        2,
        "the truth table"
    );
    assert_eq!(
        page.matches("class=\"cross\"").count(),
        2,
        "rejected rows stay visible"
    );
    assert_eq!(page.matches("<tr class=\"use\">").count(), 4);
    for outside in ["src=", "href=", "@import", "url(", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(
        page.contains("--seed</span> 18446744073709551615"),
        "the command repeats this very run"
    );
}

#[test]
fn nothing_from_outside_becomes_markup() {
    const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror='a'>\"&";
    let mut rounds = Machine {
        blocks: 6,
        ..Machine::default()
    }
    .sweep(EVIL, 133, &MRI_SHORT);
    for round in rounds
        .iter_mut()
        .filter(|round| round.cell.load.concurrency == 2)
    {
        round.claim.errors = 1;
        round.claim.errors_by.insert(EVIL.into(), 1);
        round.claim.done -= 1;
    }
    let mut run = document(
        rounds,
        "10ms",
        json!({ "kind": "foreign", "method": EVIL, "url": EVIL, "requests": 1 }),
    );
    run.command = EVIL.into();
    run.environment.processor = Some(EVIL.into());
    run.environment.date = EVIL.into();
    let page = report::view(&run, &judge(&run.rounds, &ten_ms())).html();
    keep("evil.html", &page);
    assert_eq!(page.matches("<script").count(), 1, "the page's own");
    assert_eq!(page.matches("</script").count(), 1);
    assert!(!page.contains("<img"));
}

#[test]
fn a_run_that_was_cut_off_at_once_still_has_a_report() {
    let run = document(Vec::new(), "0", json!({ "kind": "test_server" }));
    let findings = judge(&run.rounds, &hecaton_test_server::Delay::None);
    assert!(
        report::view(&run, &findings)
            .terminal(&WIDE)
            .contains("No round was measured")
    );
    assert!(
        report::view(&run, &findings)
            .html()
            .contains("No round was measured")
    );
}

#[test]
fn noise_is_said_in_every_view() {
    let mut run = whole_sweep();
    for round in &mut run.rounds {
        let noise = hecaton_lab::run::Noise {
            foreign_ns: round.wall_ns,
            ..Default::default()
        };
        round.noise = Some(noise);
    }
    let view = report::view(&run, &judge(&run.rounds, &ten_ms()));
    for text in [view.terminal(&WIDE), view.markdown(), view.html()] {
        assert!(
            text.contains("NOISY: other programs ran in 100\u{a0}% of the rounds"),
            "{text}"
        );
        // What others may have made is no ground for advice.
        assert!(text.contains("This run recommends nothing"), "{text}");
        assert!(!text.contains(": use concurrency"), "{text}");
    }
    let findings = judge(&run.rounds, &ten_ms());
    let document = serde_json::to_value(report::document(&run, &findings)).unwrap();
    assert_eq!(document["recommendations"], json!([]));
}

#[test]
fn half_a_run_recommends_nothing_in_any_view() {
    let mut run = whole_sweep();
    run.unfinished = Some(600);
    let findings = judge(&run.rounds, &ten_ms());
    let view = report::view(&run, &findings);
    for text in [view.terminal(&WIDE), view.markdown(), view.html()] {
        assert!(
            text.contains("INCOMPLETE 576/600") && !text.contains(": use concurrency"),
            "{text}"
        );
        assert!(!text.contains("; recommended concurrency "), "{text}");
    }
    let document = serde_json::to_value(report::document(&run, &findings)).unwrap();
    assert_eq!(
        (&document["recommendations"], &document["unfinished"]),
        (&json!([]), &json!(600))
    );
}

#[test]
fn what_steers_a_terminal_is_taken_out() {
    let mut run = whole_sweep();
    for round in &mut run.rounds {
        round.cell.client = round.cell.client.replace("typhoeus", "x\u{1b}[2Jy");
    }
    let view = report::view(&run, &judge(&run.rounds, &ten_ms()));
    assert!(
        !view.terminal(&WIDE).contains('\u{1b}') && view.terminal(&WIDE).contains("x\u{fffd}[2Jy")
    );
}
