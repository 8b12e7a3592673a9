//! The matrix of clients by cases, with letters and colours, and the fingerprints of the clients.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::html::badge;
use super::tables::{hint, xml};
use super::{Audited, Fingerprint};
use crate::case::Verdict;
use crate::run::Finding;

/// Fingerprints, filters, and the matrix.
pub(super) fn matrix(clients: &[Audited], fingerprint: &Fingerprint) -> String {
    let Some(first) = clients.first() else {
        return String::new();
    };
    let mut out = fingerprints(clients, fingerprint);
    out.push_str("<h2>Matrix</h2><p>Each letter leads to its evidence. Click the head of a column to sort by it.</p>");
    out.push_str(&filters(&first.findings));
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table id=\"matrix\"><thead><tr><th>case</th><th>group</th><th>harm</th>");
    heads(&mut out, clients);
    out.push_str("</tr></thead><tbody>");
    for (place, finding) in first.findings.iter().enumerate() {
        row(&mut out, place, finding, clients);
    }
    out.push_str("</tbody></table></div><p>");
    let is_there = |verdict: &Verdict| clients.iter().any(|it| !it.of(*verdict).is_empty());
    for verdict in Verdict::ALL.into_iter().filter(is_there) {
        let shown = match verdict.letter() {
            ' ' => "empty:".to_owned(),
            letter => badge(verdict, &letter.to_string()),
        };
        let _ = write!(out, "<span class=\"pair\">{shown} {verdict}</span> ");
    }
    let mut findings = clients.iter().flat_map(|client| &client.findings);
    if findings.any(|finding| finding.described.is_some()) {
        out.push_str("† public sources describe this behaviour");
    }
    out.push_str("</p>");
    out
}

fn heads(out: &mut String, clients: &[Audited]) {
    for client in clients {
        let (name, version) = (xml(&client.client), xml(&client.version));
        let _ = write!(
            out,
            "<th class=\"client\" title=\"{name} {version}\"><a href=\"#{name}\">{name}</a></th>"
        );
    }
}

/// The choices of a group, a harm and a verdict, and a field for a part of a case's name.
fn filters(findings: &[Finding]) -> String {
    let groups: BTreeSet<String> = findings.iter().map(|one| one.group.clone()).collect();
    let harms: BTreeSet<String> = findings
        .iter()
        .map(|one| one.severity.to_string())
        .collect();
    let verdicts = Verdict::ALL.map(|verdict| verdict.to_string());
    let mut out = String::from("<form id=\"filters\">");
    choice(&mut out, "group", groups.iter());
    choice(&mut out, "harm", harms.iter());
    choice(&mut out, "verdict", verdicts.iter());
    out.push_str(
        "<input name=\"text\" placeholder=\"case\" aria-label=\"part of a case's name\"></form>",
    );
    out
}

fn choice<'a>(out: &mut String, name: &str, words: impl Iterator<Item = &'a String>) {
    let _ = write!(
        out,
        "<select name=\"{name}\" aria-label=\"{name}\"><option value=\"\">every {name}</option>"
    );
    for word in words {
        let _ = write!(out, "<option>{}</option>", xml(word));
    }
    out.push_str("</select>");
}

fn row(out: &mut String, place: usize, case: &Finding, clients: &[Audited]) {
    let of = |client: &Audited| {
        client
            .findings
            .get(place)
            .map(|one| one.verdict.to_string())
    };
    let verdicts: BTreeSet<String> = clients.iter().filter_map(of).collect();
    let verdicts: Vec<String> = verdicts.into_iter().collect();
    let (code, id, group, harm) = (&case.code, xml(&case.id), xml(&case.group), case.severity);
    let _ = write!(
        out,
        "<tr data-group=\"{group}\" data-harm=\"{harm}\" data-verdicts=\"{}\"><th data-order=\"{code}\" title=\"{}\">{code} {id}</th>\
         <td data-order=\"{group}\">{group}</td><td data-order=\"{harm}\">{harm}</td>",
        verdicts.join(","),
        hint(&case.title)
    );
    for client in clients {
        cell(out, &xml(&client.client), client.findings.get(place));
    }
    out.push_str("</tr>");
}

fn cell(out: &mut String, client: &str, finding: Option<&Finding>) {
    let Some(finding) = finding else {
        out.push_str("<td data-order=\"~\"></td>");
        return;
    };
    let verdict = finding.verdict;
    let order = Verdict::ALL.iter().position(|known| *known == verdict);
    let mark = if finding.described.is_some() {
        "†"
    } else {
        ""
    };
    let shown = badge(verdict, &format!("{}{mark}", verdict.letter()));
    let says = hint(&finding.says);
    let shown = match verdict {
        Verdict::LeftOut => shown,
        _ => format!(
            "<a href=\"#{client}-{}\" aria-label=\"{verdict}\">{shown}</a>",
            finding.id
        ),
    };
    let _ = write!(
        out,
        "<td class=\"cell\" data-order=\"{:02}\" title=\"{verdict}: {says}\">{shown}</td>",
        order.unwrap_or_default()
    );
}

/// The measurements of each client, a row each.
fn fingerprints(clients: &[Audited], fingerprint: &Fingerprint) -> String {
    let values = fingerprint.of(clients);
    if values.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<h2>Fingerprint</h2><p>These values were measured, and not read in documents. Each leads to its evidence.</p>\
         <div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th>client</th>",
    );
    values
        .iter()
        .for_each(|value| out.push_str(&format!("<th>{}</th>", xml(&value.name))));
    out.push_str("</tr></thead><tbody>");
    for client in clients {
        let name = xml(&client.client);
        let _ = write!(out, "<tr><th>{name} {}</th>", xml(&client.version));
        for value in &values {
            let _ = match value.of(client) {
                Some(shown) => write!(
                    out,
                    "<td><a href=\"#{name}-{}\">{}</a></td>",
                    value.case,
                    xml(&shown)
                ),
                None => write!(out, "<td>–</td>"),
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}
