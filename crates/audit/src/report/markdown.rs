//! Findings as Markdown, and the table of cases for the documentation.

use std::fmt::Write;

use super::tables::beginning;
use super::{Audited, Expectations};
use crate::case::{Case, Verdict};

/// A page: findings first, the worst on top, then a matrix of clients by cases. For a client with expectations, it begins
/// with what differs from them.
pub fn markdown(clients: &[Audited], expectations: &[&Expectations]) -> String {
    let mut out = String::from("# Audit\n");
    for client in clients {
        let (name, version) = (&client.client, &client.version);
        let (sum, tried) = (client.sum(), client.tried());
        let _ = write!(out, "\n## {name} {version}\n\n{sum}.\n{tried}\n");
        let expected = expectations.iter().find(|one| one.client == *name);
        if let Some(expected) = expected {
            differences(
                &mut out,
                &expected.differences(std::slice::from_ref(client)),
            );
        }
        findings(&mut out, client);
    }
    out.push_str(&matrix(clients));
    out
}

fn differences(out: &mut String, all: &[String]) {
    if all.is_empty() {
        out.push_str("All of it is as the file of expectations says.\n");
        return;
    }
    out.push_str("\nWhat differs from the file of expectations:\n\n");
    for one in all {
        let _ = writeln!(out, "- {}", cell(one));
    }
}

fn findings(out: &mut String, client: &Audited) {
    let bad = Verdict::ALL
        .into_iter()
        .filter(|verdict| verdict.is_listed());
    let bad: Vec<_> = bad.flat_map(|verdict| client.of(verdict)).collect();
    if !bad.is_empty() {
        out.push_str("\n| verdict | case | the server | finding | harm | rule |\n");
        out.push_str("| --- | --- | --- | --- | --- | --- |\n");
    }
    for finding in bad {
        let (verdict, harm) = (finding.verdict, finding.severity);
        let (code, id, rule) = (&finding.code, &finding.id, &finding.rfc);
        let (title, says) = (cell(&finding.title), cell(&finding.says));
        let _ = writeln!(
            out,
            "| {verdict} | {code} {id} | {title} | {says} | {harm} | {rule} |"
        );
    }
}

/// Clients by cases, a letter each.
fn matrix(clients: &[Audited]) -> String {
    let Some(first) = clients.first() else {
        return String::new();
    };
    let mut out = String::from("\n## Matrix\n\n| case |");
    clients
        .iter()
        .for_each(|client| out.push_str(&format!(" {} |", client.client)));
    out.push_str("\n| --- |");
    clients.iter().for_each(|_| out.push_str(" --- |"));
    out.push('\n');
    for (position, finding) in first.findings.iter().enumerate() {
        let _ = write!(out, "| {} {} |", finding.code, finding.id);
        for client in clients {
            let letter = client
                .findings
                .get(position)
                .map_or(' ', |finding| finding.verdict.letter());
            let _ = write!(out, " {letter} |");
        }
        out.push('\n');
    }
    let legend = Verdict::ALL.map(|verdict| format!("`{}` {verdict}", verdict.letter()));
    let _ = write!(out, "\n{}.\n", legend.join(", "));
    out
}

fn cell(text: &str) -> String {
    let flat = text.replace('|', "\\|").replace(['\r', '\n'], " ");
    beginning(&flat, 300)
}

/// All cases, each with the sin that proves it.
pub fn table_of_cases(cases: &[Case]) -> String {
    let mut out = String::from(
        "# The cases of the audit\n\n\
         Each case puts a client into one situation.\n\
         `hecaton audit explain CODE` says more about a case.\n\n\
         - *A bad outcome* is a [verdict](audit-in-your-ci.md#verdicts), and the harm that is done.\n\
         - A code in bold is one of the few cases that matter most, which `hecaton audit CLIENT --essential` runs.\n\
         - *Proved by the sin* names a fault of the test client `sinner`, as in \
         `hecaton audit sinner --sin cookie-ignores-path`.\n\
         \x20 The case must find this fault and no other.\n\n\
         This page is generated from `scenarios/audit` by \
         `HECATON_UPDATE=1 cargo test -p hecaton-audit --test cases`.\n\n\
         | code | case | group | situation | rule | a bad outcome | proved by the sin |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for case in cases {
        let Case {
            code,
            id,
            group,
            title,
            rfc,
            sin,
            caught,
            severity,
            ..
        } = case;
        let title = cell(title);
        let bold = if case.essential { "**" } else { "" };
        let _ = writeln!(
            out,
            "| {bold}{code}{bold} | {id} | {group} | {title} | {rfc} | {caught}: {severity} | `{sin}` |"
        );
    }
    out
}
