//! Pages of honest and of hostile records.

use super::tally::Reported;
use super::*;
use crate::record::{Elapsed, Failure};

/// A job on some hosts, of which some fail.
fn job(inputs: u64) -> ReportData {
    let mut tally = ReportData::default();
    for n in 0..inputs {
        tally.add(&record(n));
    }
    tally
}

fn record(n: u64) -> Reported<'static> {
    let at = format!(
        "2026-11-22T08:{:02}:{:02}.{:03}Z",
        n / 6000 % 60,
        n / 100 % 60,
        n * 7 % 1000
    );
    let wait = 20.0 + (n * 37 % 90) as f64;
    let mut record = Reported {
        n,
        line: n + 1,
        url: format!("https://shop{}.example/p/{n}", n % 7 * (n % 3)).into(),
        outcome: Outcome::Response,
        ok: true,
        status: Some(200),
        at: at.into(),
        ms: Elapsed {
            resolve: if n.is_multiple_of(50) { 3.0 } else { 0.0 },
            connect: if n.is_multiple_of(50) { 12.0 } else { 0.0 },
            wait,
            read: 0.4,
            total: wait + 0.4,
            ..Elapsed::default()
        },
        bytes: Some(1234),
        ..Reported::default()
    };
    match n % 40 {
        3 => (record.ok, record.status) = (false, Some(404)),
        8 if n > inputs_half() => {
            (record.ok, record.status, record.outcome) = (false, None, Outcome::Error);
            record.error = Some(Failure {
                kind: "timeout".to_owned(),
                phase: Some("connect".to_owned()),
                message: "no connection within 5 s".to_owned(),
            });
        }
        9 => {
            (record.ok, record.status, record.outcome, record.why) =
                (false, None, Outcome::Skipped, Some("duplicate".into()))
        }
        _ => {}
    }
    record
}

fn inputs_half() -> u64 {
    6000
}

#[test]
fn the_title_is_the_result_and_one_is_no_plural() {
    let page = html(&job(12_000), 0, "out");
    assert!(page.contains("<h1>out: 11,250 of 12,000 inputs good</h1>"));
    let page = html(&job(1), 0, "out");
    assert!(page.contains("<h1>out: 1 of 1 input good</h1>"));
    assert!(page.contains("<b>1</b> input</li>"));
    let mut tally = ReportData::default();
    tally.add(&record(3)); // status 404
    assert!(html(&tally, 0, "out").contains("<b>1</b> other response ("));
    assert!(html(&ReportData::default(), 0, "out").contains("<h1>out</h1>"));
}

#[test]
fn a_job_that_is_not_done_says_how_much_is_missing() {
    let page = html(&job(12_000), 500, "out");
    assert!(page.contains("<h1>out: 11,250 of 12,500 inputs good</h1>"));
    assert!(page.contains("<b>500</b> not done yet</li>"));
}

#[test]
fn a_page_says_what_the_records_say() {
    let page = html(&job(12_000), 0, "out");
    for part in [
        "<b>12,000</b> inputs",
        "<b>300</b> other responses (2.5 %)",
        "<b>150</b> failed (1.2 %)",
        "<b>300</b> skipped",
        "from 2026-11-22 08:00:00 UTC to 2026-11-22 08:01:59 UTC",
        "<td class=\"word\">shop12.example",
        "error: timeout, phase connect <span class=\"soft\">150 (1.2 %)",
        "no connection within 5 s",
        "status 404, not good",
        "skipped: duplicate",
    ] {
        assert!(page.contains(part), "{part} is not on the page");
    }
    for class in ["broad", "narrow"] {
        let drawings = page.matches(&format!("<svg class=\"{class}\" ")).count();
        assert_eq!(drawings, 2, "charts for a {class} screen");
    }
    assert!(page.len() < 150_000, "{}", page.len());
    if let Ok(path) = std::env::var("HECATON_PAGE") {
        std::fs::write(path, page).unwrap();
    }
}

#[test]
fn a_page_of_nothing_is_a_page() {
    let page = html(&ReportData::default(), 0, "out");
    assert!(
        page.contains("<b>0</b> inputs") && !page.contains("NaN") && !page.contains("<h2>"),
        "{page}"
    );
    let mut tally = ReportData::default();
    tally.add(&Reported::default());
    assert!(html(&tally, 0, "out").contains("<b>1</b> invalid"));
}

#[test]
fn hostile_records_stay_text_and_few() {
    let mut tally = ReportData::default();
    for n in 0..30_000_u32 {
        tally.add(&Reported {
            url: format!("http://h{n}.example/<script>alert(1)</script>\u{202e}").into(),
            outcome: Outcome::Error,
            error: Some(Failure {
                kind: format!("</summary><img src=x onerror=alert({n})>"),
                phase: None,
                message: "<b>\0".to_owned() + &"x".repeat(10_000),
            }),
            at: if n % 2 == 0 {
                "0001-01-01T00:00:00Z".into()
            } else {
                format!("{:04}-01-01T00:00:00Z", 1971 + n % 8000).into()
            },
            ms: Elapsed {
                total: if n % 3 == 0 { f64::NAN } else { 1e308 },
                ..Elapsed::default()
            },
            bytes: Some(u64::MAX),
            ..Reported::default()
        });
    }
    let page = html(&tally, 0, "<script>");
    assert!(
        !page.contains("<script")
            && !page.contains("<img")
            && !page.contains('\u{202e}')
            && !page.contains('\0')
    );
    assert!(page.len() < 400_000, "{}", page.len());
}
