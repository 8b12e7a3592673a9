//! Findings as CSV, and as JUnit for systems of continuous integration.

use std::fmt::Write;

use super::{Audited, Expectations};
use crate::case::Verdict;
use crate::run::Finding;

/// A row for each client and case.
pub fn csv(clients: &[Audited]) -> String {
    let mut out = String::from("client,version,group,code,case,verdict,severity,rule,says\n");
    for client in clients {
        for finding in &client.findings {
            let severity = finding.severity.to_string();
            let verdict = finding.verdict.to_string();
            let cells = [
                &client.client,
                &client.version,
                &finding.group,
                &finding.code,
                &finding.id,
                &verdict,
                &severity,
                &finding.rfc,
                &finding.says,
            ];
            let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
            let _ = writeln!(out, "{}", cells.join(","));
        }
    }
    out
}

fn quoted(cell: &str) -> String {
    // A spreadsheet would take these for formulas, and the client chose some of the text.
    let guard = if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        "'"
    } else {
        ""
    };
    match cell.contains([',', '"', '\n', '\r']) || !guard.is_empty() {
        true => format!("\"{guard}{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

/// A test suite for each client. Findings are failures, and cases without a verdict are skipped. For a client with
/// expectations, only what differs from them fails, and an expected finding is skipped with its reason.
pub fn junit(clients: &[Audited], expectations: &[&Expectations]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for client in clients {
        let expected = expectations.iter().find(|one| one.client == client.client);
        let results: Vec<String> = client
            .findings
            .iter()
            .map(|finding| result(finding, expected.copied()))
            .collect();
        let count = |kind: &str| {
            results
                .iter()
                .filter(|result| result.starts_with(kind))
                .count()
        };
        let _ = writeln!(
            out,
            "<testsuite name=\"{} {}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">",
            xml(&client.client),
            xml(&client.version),
            client.findings.len(),
            count("<failure"),
            count("<skipped")
        );
        for (finding, result) in client.findings.iter().zip(&results) {
            let (group, code, id) = (xml(&finding.group), &finding.code, xml(&finding.id));
            let name = format!("classname=\"{group}\" name=\"{code} {id}\"");
            let _ = match result.is_empty() {
                true => writeln!(out, "<testcase {name}/>"),
                false => writeln!(out, "<testcase {name}>{result}</testcase>"),
            };
        }
        out.push_str("</testsuite>\n");
    }
    out + "</testsuites>\n"
}

/// The element of a test that did not pass; empty for one that did.
fn result(finding: &Finding, expected: Option<&Expectations>) -> String {
    let (verdict, says) = (finding.verdict, &finding.says);
    let failure =
        |message: &str| format!("<failure type=\"{verdict}\" message=\"{}\"/>", xml(message));
    let skipped = |message: String| format!("<skipped message=\"{}\"/>", xml(&message));
    // The document has no verdict that is not published, so it has no reason either.
    let expected = expected.filter(|_| verdict != Verdict::LeftOut);
    if let Some(difference) = expected.and_then(|all| all.difference(finding)) {
        return failure(&difference);
    }
    if let Some(why) = expected.and_then(|all| all.reason(finding)) {
        return skipped(format!("expected {verdict}: {why}"));
    }
    match verdict {
        Verdict::Pass | Verdict::Info => String::new(),
        _ if verdict.is_finding() => failure(says),
        _ => skipped(format!("{verdict}: {says}")),
    }
}

/// A text, cut behind `most` characters.
pub(super) fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Text for XML. Control characters, which XML forbids, become question marks.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            char if char.is_control() && char != '\n' => out.push('?'),
            char => out.push(char),
        }
    }
    out
}
