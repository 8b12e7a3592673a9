//! A shootout's views: the terminal, Markdown, CSV, the chart, the document and the page hold the same judgement.

use hecaton_lab::ledger::{ClientRecord, Document};
use hecaton_lab::report::{self, Style};
use hecaton_lab::run::{Noise, Start};
use hecaton_lab::spec::{Approach, Job};
use hecaton_test_server::Delay;
use serde_json::json;

use crate::synthetic::{Machine, document, judge};

const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror='a'>\"&|";

/// Thirty clients, one of them tuned and one rejected, and the baseline loader; the first two are as fast as each
/// other.
fn many() -> Document {
    let names: Vec<String> = (0..30).map(|n| format!("client-{n:02}")).collect();
    let mut speeds: Vec<(&str, f64)> = names
        .iter()
        .zip(0..)
        .map(|(name, n)| (name.as_str(), 4000.0 * 0.9f64.powi(n)))
        .collect();
    speeds[1].1 = speeds[0].1;
    speeds.push(("net-http", 1500.0));
    speeds.push(("baseline-loader", 9000.0));
    shootout(&speeds)
}

/// Each client at its speed, all verified.
pub fn shootout(speeds: &[(&str, f64)]) -> Document {
    let machine = Machine {
        noise: 0.01,
        ..Machine::default()
    };
    let all = speeds
        .iter()
        .flat_map(|(name, speed)| machine.rounds(name, 16_384, &[(1, (*speed, 50.0))]));
    let mut run = document(all.collect(), "0", json!({ "kind": "test_server" }));
    run.command = "hecaton shootout".into();
    run.plan.baseline = Some("net-http".into());
    run.plan.concurrency = vec![1];
    run.plan.body_bytes = vec![16_384];
    run.plan.job = Job::Json;
    run.plan.requests = Some(834);
    run.environment.clients.clear();
    for (name, _) in speeds {
        let record = ClientRecord {
            version: "1.0".into(),
            approach: Some(Approach::Idiomatic),
            ..ClientRecord::default()
        };
        run.environment.clients.insert((*name).into(), record);
        run.starts.push(Start {
            client: (*name).into(),
            invocation: 0,
            boot_ns: 80_000_000,
            first_request_ns: 4_000_000,
            user: None,
            held: true,
        });
    }
    for round in &mut run.rounds {
        round.noise = Some(Noise::default());
    }
    if let Some(tuned) = run.environment.clients.get_mut("client-03") {
        tuned.approach = Some(Approach::Tuned);
    }
    spoil(&mut run, "client-05");
    run.left_out = vec!["curb is not installed: apt-get install ruby-curb".into()];
    run
}

/// Makes the client's rounds be rejected, for a reason that its manifest knows.
fn spoil(run: &mut Document, client: &str) {
    let own = run
        .rounds
        .iter_mut()
        .filter(|round| round.cell.client == client);
    own.for_each(|round| round.seen.as_mut().unwrap().duplicates = 3);
    if let Some(record) = run.environment.clients.get_mut(client) {
        record.pitfall = Some("it sends all twice".into());
    }
}

fn shown(run: &Document, style: &Style) -> String {
    report::view(run, &judge(&run.rounds, &run.plan.delay)).terminal(style)
}

fn style(width: usize, unicode: bool) -> Style {
    Style {
        width,
        color: false,
        unicode,
    }
}

#[test]
fn the_terminal_fits_every_width_and_keeps_what_matters_most() {
    let run = many();
    for width in [60, 80, 100, 120] {
        for unicode in [true, false] {
            let text = shown(&run, &style(width, unicode));
            let longest = text
                .lines()
                .max_by_key(|line| line.chars().count())
                .unwrap();
            assert!(longest.chars().count() <= width, "{width}: {longest}");
            assert!(unicode || text.is_ascii(), "{text}");
            assert!(
                text.contains("client-03 *") && text.contains("set up for speed"),
                "{text}"
            );
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for words in [
                "cannot be told apart",
                "it sends all twice",
                "not installed",
                "baseline loader",
            ] {
                assert!(
                    flat.contains(words),
                    "{words} is missing at {width} in\n{text}"
                );
            }
        }
    }
    let wide = shown(&run, &style(120, true));
    for title in ["user", "system", "real", "p99", "first", "conns"] {
        assert!(wide.contains(title), "{title} is missing in\n{wide}");
    }
}

#[test]
fn a_client_that_broke_on_the_way_is_not_ranked() {
    let mut run = shootout(&[
        ("net-http", 1000.0),
        ("client-01", 2000.0),
        ("baseline-loader", 9000.0),
    ]);
    run.rounds
        .retain(|round| round.cell.client != "client-01" || round.block < 3);
    let text = shown(&run, &style(120, true));
    assert!(
        text.contains("net-http is the only one that could be ranked"),
        "{text}"
    );
    assert!(text.contains("after 3 of 12 rounds"), "{text}");
}

#[test]
fn too_few_rounds_make_no_statement() {
    let mut run = shootout(&[
        ("net-http", 1000.0),
        ("client-00", 2000.0),
        ("client-01", 2001.0),
    ]);
    run.rounds.retain(|round| round.block < 2);
    let text = shown(&run, &style(120, true));
    assert!(
        text.contains("was the fastest of 3 clients, but there were too few rounds"),
        "{text}"
    );
    assert!(
        text.contains("( ) is the range of 2 rounds") && !text.contains("share a letter"),
        "{text}"
    );
    let page = report::view(&run, &judge(&run.rounds, &Delay::None)).html();
    keep("few.html", &page);
    assert!(page.contains("( ) is the range of 2 rounds") && !page.contains("share a letter"));
}

#[test]
fn a_load_generator_is_shown_beside_the_baseline_loader_and_is_neither_ranked_nor_called_rejected()
{
    let mut run = shootout(&[
        ("net-http", 1000.0),
        ("curb", 2000.0),
        ("ab", 5000.0),
        ("baseline-loader", 9000.0),
    ]);
    let generator = run
        .rounds
        .iter_mut()
        .filter(|round| round.cell.client == "ab");
    generator
        .for_each(|round| (round.reference, round.seen.as_mut().unwrap().distinct) = (true, 0));
    let text = shown(&run, &style(120, true));
    assert!(
        text.contains("curb is the fastest of 2 clients") && !text.contains("Rejected"),
        "{text}"
    );
    assert!(
        text.contains("ab (reference)") && text.contains("send no ids"),
        "{text}"
    );
    let page = report::view(&run, &judge(&run.rounds, &Delay::None)).html();
    assert!(page.contains("3 of 3 rows verified") && !page.contains("rejected</li>"));
    assert!(page.contains("ab (reference)") && page.contains("they parse nothing"));
}

#[test]
fn the_document_has_the_ranking_with_the_figures_of_each_client() {
    let run = many();
    let findings = judge(&run.rounds, &Delay::None);
    let value = serde_json::to_value(report::document(&run, &findings)).unwrap();
    let clients = value["ranking"]["clients"].as_array().unwrap();
    assert_eq!(clients.len(), 32);
    assert_eq!(
        (&clients[0]["place"], &clients[0]["letters"]),
        (&json!(1), &json!("a"))
    );
    assert_eq!(
        (&clients[1]["place"], &clients[1]["letters"]),
        (&json!(2), &json!("a"))
    );
    assert_eq!(clients[2]["letters"], "b");
    let rejected = clients
        .iter()
        .find(|client| client["client"] == "client-05")
        .unwrap();
    assert!(
        rejected["place"].is_null() && rejected["not_ranked"].is_string(),
        "{rejected}"
    );
    let ratio = |key: &str| clients[0][key].as_f64().unwrap();
    assert!(
        ratio("ratio_low") <= 2.7 && 2.6 <= ratio("ratio_high"),
        "{}",
        clients[0]
    );
    assert_eq!(clients[0]["first_request_ms"], 4.0);
    let again: Document = serde_json::from_value(value).unwrap();
    assert_eq!(
        again, run,
        "what was measured is read again from the document"
    );
}

#[test]
fn markdown_and_csv_have_a_line_for_every_client_in_the_order_of_the_ranking() {
    let run = many();
    let findings = judge(&run.rounds, &Delay::None);
    let text = report::view(&run, &findings).markdown();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| client-"))
        .collect();
    assert_eq!(lines.len(), 29, "{text}");
    assert!(lines[2].starts_with("| client-02"), "{text}");
    assert!(
        text.contains("- client-05: ") && text.contains("- curb is not installed"),
        "{text}"
    );
    let table = report::view(&run, &findings).csv();
    let lines: Vec<&str> = table.split("\r\n").collect();
    assert_eq!(lines.len(), 1 + 32 + 1);
    assert!(
        lines[0].contains(",user_seconds,") && lines[0].contains(",ratio_to_baseline,"),
        "{}",
        lines[0]
    );
    assert!(lines[3].starts_with("client-02,16384,"), "{}", lines[3]);
}

#[test]
fn the_chart_is_a_bar_for_every_ranked_client() {
    let run = many();
    let files = report::view(&run, &judge(&run.rounds, &Delay::None)).drawings();
    assert_eq!(files.len(), 1);
    let (name, chart) = &files[0];
    assert_eq!(
        (name.as_str(), chart.matches("class=\"beam").count()),
        ("shootout.svg", 31)
    );
    assert_eq!(
        chart.matches("beam hollow").count(),
        2,
        "a bar, and the legend"
    );
    let tied = chart
        .lines()
        .flat_map(|line| line.split("</text>"))
        .filter(|text| text.ends_with(" · a"));
    assert_eq!(tied.count(), 2, "two that share a letter");
}

#[test]
fn the_page_is_whole_small_and_alone() {
    let run = many();
    let findings = judge(&run.rounds, &Delay::None);
    let page = report::view(&run, &findings).html();
    keep("shootout.html", &page);
    assert!(page.len() <= 200_000, "{} bytes", page.len());
    for words in [
        "<h1>client-00 and client-01 are the fastest of 30 clients",
        "Which client is the fastest?",
        "31 of 32 rows verified",
        "1 row rejected",
        "the baseline loader is 2.",
        "no noise from other programs",
        "This is the client's own doing: it sends all twice.",
        "curb is not installed",
        "--seed</span> 18446744073709551615",
    ] {
        assert!(page.contains(words), "{words} is missing");
    }
    for outside in ["src=", "href=", "@import", "url(", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn nothing_from_outside_becomes_markup() {
    let mut run = shootout(&[
        ("net-http", 1000.0),
        (EVIL, 2000.0),
        ("baseline-loader", 9000.0),
        ("client-05", 1.0),
    ]);
    run.left_out.push(EVIL.into());
    run.command = EVIL.into();
    run.environment
        .clients
        .get_mut("client-05")
        .unwrap()
        .pitfall = Some(EVIL.into());
    let findings = judge(&run.rounds, &Delay::None);
    let page = report::view(&run, &findings).html();
    assert_eq!(page.matches("<script").count(), 1, "the page's own");
    assert!(!page.contains("<img") && !page.contains("alert(1)</script>"));
    let rows = report::view(&run, &findings).markdown();
    let bars = rows.lines().filter(|line| line.starts_with("| "));
    let counts: Vec<usize> = bars
        .map(|line| line.replace("\\|", "").matches('|').count())
        .collect();
    assert!(
        counts.windows(2).all(|pair| pair[0] == pair[1]),
        "{counts:?}"
    );
}

#[test]
fn a_shootout_that_was_cut_off_at_once_still_has_every_view() {
    let mut run = shootout(&[("net-http", 1000.0)]);
    run.rounds.clear();
    let findings = judge(&run.rounds, &Delay::None);
    assert!(shown(&run, &style(80, true)).contains("No client could be ranked"));
    assert!(
        report::view(&run, &findings)
            .html()
            .contains("No client could be ranked")
    );
    assert!(
        report::view(&run, &findings)
            .markdown()
            .contains("No client could be ranked")
    );
    assert!(report::view(&run, &findings).drawings().is_empty());
}

/// Where the browser's test finds a page when no shootout has been made.
fn keep(name: &str, page: &str) {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(path, page).unwrap();
}
