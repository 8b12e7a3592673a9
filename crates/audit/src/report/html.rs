//! The page of a run: findings first, the worst on top, each with its evidence; then a matrix of clients by cases.

use std::fmt::Write;

use super::drawing::drawing;
use super::tables::xml;
use super::{Audited, wire};
use crate::case::Verdict;
use crate::run::Finding;

const STYLE: &str = "\
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}\
pre{overflow:auto;background:#8882;padding:.6rem;font-size:12px}table{border-collapse:collapse}td,th{padding:.15rem .5rem;\
border-bottom:1px solid #8884;text-align:left}.v{display:inline-block;min-width:1.4em;text-align:center;font-weight:700;\
border-radius:3px;padding:0 .3em}.violation{background:#b3261e;color:#fff}.hazard{background:#c25700;color:#fff}\
.deviation{background:#7a5c00;color:#fff}.mismatch{background:#5b3fa8;color:#fff}.info{background:#8883}\
svg{display:block}svg text{font:12px system-ui,sans-serif;fill:currentColor}svg .time{opacity:.6}\
svg .name{font-weight:700}svg .fault{font-weight:700}svg line{stroke:currentColor;opacity:.3}details{margin:.4rem 0 1rem}\
summary{cursor:pointer}input{width:min(100%,20rem);font:inherit}.scroll{overflow-x:auto}.brand{font-size:.875rem;opacity:.85}.brand a{font-weight:700}";

/// Sorts and filters the matrix. The page works without it.
const SCRIPT: &str = "\
const box=document.getElementById('filter');box&&box.addEventListener('input',()=>{const word=box.value.toLowerCase();\
document.querySelectorAll('#matrix tbody tr').forEach(row=>{row.hidden=!row.textContent.toLowerCase().includes(word)})});\
document.querySelectorAll('#matrix th').forEach((head,place)=>head.addEventListener('click',()=>{const body=\
document.querySelector('#matrix tbody');[...body.rows].sort((a,b)=>a.cells[place].dataset.order.localeCompare(\
b.cells[place].dataset.order)).forEach(row=>body.append(row))}));";

/// One self-contained page. `home` is where its heading leads to: the page of all results, if there is one.
pub fn html(clients: &[Audited], home: Option<&str>) -> String {
    let names: Vec<String> = clients.iter().map(|it| xml(&it.client)).collect();
    let title = format!("Audit of {}", names.join(", "));
    let brand = match home {
        Some(home) => format!("<a href=\"{}\">Hecaton</a>", xml(home)),
        None => "<b>Hecaton</b>".to_owned(),
    };
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style><p class=\"brand\">{brand} {}</p><h1>{title}</h1>\
         <p>A client's own reports are claims. The server's log decides. Each finding has its evidence below it. <a href=\"#matrix\">All cases</a></p>",
        env!("CARGO_PKG_VERSION")
    );
    for client in clients {
        client_part(&mut out, client);
    }
    matrix(&mut out, clients);
    let _ = write!(out, "<script>{SCRIPT}</script></html>");
    out
}

fn client_part(out: &mut String, client: &Audited) {
    let name = xml(&client.client);
    let _ = write!(
        out,
        "<h2 id=\"{name}\">{name} {}</h2><p>{}.</p>",
        xml(&client.version),
        client.sum()
    );
    for verdict in Verdict::ALL
        .into_iter()
        .filter(|verdict| verdict.is_finding())
    {
        for finding in client.of(verdict) {
            evidence(out, &name, finding);
        }
    }
}

/// A sentence, and what shows that it is true.
fn evidence(out: &mut String, client: &str, finding: &Finding) {
    let (verdict, id) = (finding.verdict, &finding.id);
    let _ = write!(
        out,
        "<h3 id=\"{client}-{id}\">{} {}: {}</h3><p>{}</p><p>The server's part: {}. Harm: {}. {}</p>",
        badge(verdict, &verdict.to_string()),
        finding.code,
        xml(id),
        xml(&finding.says),
        xml(&finding.title),
        finding.severity,
        if finding.rfc.is_empty() {
            String::new()
        } else {
            format!("Rule: {}.", xml(&finding.rfc))
        },
    );
    let _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\">{}</div><details><summary>The wire</summary><pre>{}</pre></details>",
        drawing(&finding.run.log),
        xml(&wire(&finding.run))
    );
}

fn badge(verdict: Verdict, text: &str) -> String {
    let class = match verdict {
        Verdict::Violation => "violation",
        Verdict::Hazard => "hazard",
        Verdict::Deviation => "deviation",
        Verdict::Mismatch => "mismatch",
        _ => "info",
    };
    format!("<span class=\"v {class}\">{text}</span>")
}

fn matrix(out: &mut String, clients: &[Audited]) {
    let Some(first) = clients.first() else { return };
    out.push_str(
        "<h2>Matrix</h2><p><input id=\"filter\" placeholder=\"filter by group, case or harm\" \
         aria-label=\"filter\"> Click a head to sort.</p><div class=\"scroll\" tabindex=\"0\"><table id=\"matrix\"><thead><tr><th>case</th><th>group</th><th>harm</th>",
    );
    for client in clients {
        let _ = write!(out, "<th>{}</th>", xml(&client.client));
    }
    out.push_str("</tr></thead><tbody>");
    for (place, finding) in first.findings.iter().enumerate() {
        let (code, id, group, harm) = (
            &finding.code,
            xml(&finding.id),
            xml(&finding.group),
            finding.severity,
        );
        let _ = write!(
            out,
            "<tr><td data-order=\"{code}\">{code} {id}</td><td data-order=\"{group}\">{group}</td><td data-order=\"{harm}\">{harm}</td>"
        );
        for client in clients {
            cell(out, &xml(&client.client), client.findings.get(place));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div><p>");
    for verdict in Verdict::ALL {
        let letter = verdict.letter().to_string();
        let _ = write!(out, "{} {verdict} ", badge(verdict, &letter));
    }
    out.push_str("</p>");
}

fn cell(out: &mut String, client: &str, finding: Option<&Finding>) {
    let Some(finding) = finding else {
        out.push_str("<td data-order=\"~\"></td>");
        return;
    };
    let verdict = finding.verdict;
    let order = Verdict::ALL
        .iter()
        .position(|known| *known == verdict)
        .unwrap_or_default();
    let shown = badge(verdict, &verdict.letter().to_string());
    let says = xml(&finding.says);
    let _ = match verdict.is_finding() {
        true => write!(
            out,
            "<td data-order=\"{order}\"><a href=\"#{client}-{}\" title=\"{says}\">{shown}</a></td>",
            finding.id
        ),
        false => write!(
            out,
            "<td data-order=\"{order}\" title=\"{says}\">{shown}</td>"
        ),
    };
}
