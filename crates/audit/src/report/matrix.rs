//! The matrix of clients by cases, with letters and colours.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::Audited;
use super::html::badge;
use crate::case::Verdict;
use crate::run::Finding;

/// Filters, and the matrix.
pub(super) fn matrix(clients: &[Audited]) -> Markup {
    let findings = clients.first().map_or(&[][..], |first| &first.findings);
    let is_there = |verdict: &Verdict| clients.iter().any(|it| !it.of(*verdict).is_empty());
    let mut all = clients.iter().flat_map(|client| &client.findings);
    html! {
        h2 { "Matrix" }
        p { "Each letter leads to its evidence. Click the head of a column to sort by it." }
        (filters(findings))
        div.scroll tabindex="0" { table id="matrix" {
            thead { tr {
                th { "case" } th { "group" } th { "harm" }
                @for Audited { client, version, .. } in clients {
                    th.client title={ (client) " " (version) } { a href={ "#" (client) } { (client) } }
                }
            } }
            tbody { @for (place, finding) in findings.iter().enumerate() { (row(place, finding, clients)) } }
        } }
        p {
            @for verdict in Verdict::ALL.into_iter().filter(is_there) {
                span.pair {
                    @match verdict.letter() { ' ' => "empty:", letter => (badge(verdict, &letter.to_string())) }
                    " " (verdict.to_string())
                }
                " "
            }
            @if all.any(|finding| finding.described.is_some()) { "† public sources describe this behaviour" }
        }
    }
}

/// The choices of a group, a harm and a verdict, and a field for a part of a case's name.
fn filters(findings: &[Finding]) -> Markup {
    let groups: BTreeSet<String> = findings.iter().map(|one| one.group.clone()).collect();
    let harms: BTreeSet<String> = findings
        .iter()
        .map(|one| one.severity.to_string())
        .collect();
    let verdicts = Verdict::ALL.map(|verdict| verdict.to_string());
    html! {
        form id="filters" {
            (choice("group", groups.iter())) (choice("harm", harms.iter())) (choice("verdict", verdicts.iter()))
            input name="text" placeholder="case" aria-label="part of a case's name";
        }
    }
}

fn choice<'a>(name: &str, words: impl Iterator<Item = &'a String>) -> Markup {
    html! {
        select name=(name) aria-label=(name) {
            option value="" { "every " (name) }
            @for word in words { option { (word) } }
        }
    }
}

fn row(place: usize, case: &Finding, clients: &[Audited]) -> Markup {
    let cells: Vec<Option<&Finding>> = clients.iter().map(|it| it.findings.get(place)).collect();
    let verdicts = cells.iter().flatten().map(|one| one.verdict.to_string());
    let verdicts: BTreeSet<String> = verdicts.collect();
    let verdicts = verdicts.into_iter().collect::<Vec<_>>().join(",");
    let Finding {
        code, id, group, ..
    } = case;
    let harm = case.severity.to_string();
    html! {
        tr data-group=(group) data-harm=(harm) data-verdicts=(verdicts) {
            th data-order=(code) title=(hint(&case.title)) { (code) " " (id) }
            td data-order=(group) { (group) }
            td data-order=(harm) { (harm) }
            @for (client, finding) in clients.iter().zip(cells) { (cell(&client.client, finding)) }
        }
    }
}

fn cell(client: &str, finding: Option<&Finding>) -> Markup {
    let Some(finding) = finding else {
        return html! { td data-order="~" {} };
    };
    let verdict = finding.verdict;
    let order = Verdict::ALL.iter().position(|known| *known == verdict);
    let mark = finding.described.as_ref().map_or("", |_| "†");
    let shown = badge(verdict, &format!("{}{mark}", verdict.letter()));
    html! {
        td.cell data-order=(format_args!("{:02}", order.unwrap_or_default()))
            title=(format_args!("{verdict}: {}", hint(&finding.says))) {
            @if verdict == Verdict::LeftOut { (shown) }
            @else { a href={ "#" (client) "-" (finding.id) } aria-label=(verdict.to_string()) { (shown) } }
        }
    }
}

/// A sentence for an attribute, which has no code.
fn hint(text: &str) -> String {
    text.replace('`', "")
}
