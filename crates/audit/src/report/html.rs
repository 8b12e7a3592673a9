//! The page of a run: findings first, the worst on top, each with its evidence. For several clients, a matrix stands
//! above them.

use std::fmt::Write;

use super::drawing::drawing;
use super::matrix::matrix;
use super::tables::{beginning, prose, xml};
use super::{Audited, Fingerprint, wire};
use crate::case::Verdict;
use crate::run::{By, Described, Finding};

const STYLE: &str = "\
:root{color-scheme:light dark}body{background:Canvas;color:CanvasText;font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}h1{line-height:1.2}\
pre{overflow:auto;background:#8882;padding:.6rem;font-size:12px}table{border-collapse:collapse}td,th{padding:.15rem .5rem;\
border-bottom:1px solid #8884;text-align:left}.v{display:inline-block;min-width:1.4em;text-align:center;font-weight:700;\
border-radius:3px;padding:0 .3em}.violation{background:#b3261e;color:#fff}.hazard{background:#c25700;color:#fff}\
.deviation{background:#7a5c00;color:#fff}.mismatch{background:#5b3fa8;color:#fff}.info{background:#8883}\
svg{display:block}svg text{font:12px system-ui,sans-serif;fill:currentColor}svg .time{opacity:.6}\
svg .name{font-weight:700}svg .fault{font-weight:700}svg line{stroke:currentColor;opacity:.3}details{margin:.4rem 0 1rem}\
summary{cursor:pointer}code{background:#8883;border-radius:3px;padding:0 .25em;font-size:.92em;overflow-wrap:anywhere}.brand{font-size:.875rem;opacity:.85}.brand a{font-weight:700}input,select{font:inherit;max-width:100%}form{display:flex;flex-wrap:wrap;gap:.5rem;margin:.6rem 0}\
.pass{color:#1a7f37}small{opacity:.7;overflow-wrap:anywhere}h2,h3{overflow-wrap:anywhere}\
th.client{writing-mode:vertical-rl;transform:rotate(180deg);vertical-align:bottom;text-align:left}\
#matrix thead th{cursor:pointer}td.cell{text-align:center;padding:.1rem .2rem}td a{text-decoration:none}\
@media (prefers-color-scheme:dark){.pass{color:#4ac26b}}.scroll{overflow-x:auto}\
.scroll th:first-child{position:sticky;left:0;background:Canvas}.pair{white-space:nowrap;margin-right:.7em}\
a{color:#0067a3}@media (prefers-color-scheme:dark){a{color:#6cbdec}}\
@media (max-width:480px){#matrix :is(th,td):is(:nth-child(2),:nth-child(3)){display:none}}";

/// Sorts and filters the matrix. The page works without it.
const SCRIPT: &str = include_str!("matrix.js");

/// One self-contained page. `home` is where its heading leads to: the page of all results, if there is one.
pub fn html(clients: &[Audited], fingerprint: &Fingerprint, home: Option<&str>) -> String {
    let names: Vec<String> = clients.iter().map(|it| xml(&it.client)).collect();
    let title = match &names[..] {
        names @ ([] | [_] | [_, _]) => format!("Audit of {}", names.join(" and ")),
        many => format!("Audit of {} clients", many.len()),
    };
    let title = format!("{title}: {}", found(clients));
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
    let overview = matrix(clients, fingerprint);
    match clients {
        [one] => {
            client_part(&mut out, one);
            out.push_str(&overview);
        }
        many => {
            out.push_str(&overview);
            many.iter().for_each(|client| client_part(&mut out, client));
        }
    }
    let _ = write!(out, "<script>{SCRIPT}</script></html>");
    out
}

/// How many findings all clients have together, of each verdict that is one.
fn found(clients: &[Audited]) -> String {
    let count = |verdict| clients.iter().map(|it| it.of(verdict).len()).sum();
    let counts = Verdict::ALL.map(|verdict| (verdict, count(verdict)));
    let counts = counts.into_iter();
    let found: Vec<String> = counts
        .filter(|(verdict, count)| verdict.is_finding() && *count > 0)
        .map(|(verdict, count)| verdict.counted(count).replacen(' ', "\u{a0}", 1))
        .collect();
    match found.as_slice() {
        [] => "no finding".to_owned(),
        found => found.join(", "),
    }
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
    others(out, &name, client);
}

/// A line for each case without a finding, so that each cell of the matrix leads somewhere.
fn others(out: &mut String, name: &str, client: &Audited) {
    let rest = client.findings.iter();
    let rest = rest.filter(|finding| !finding.verdict.is_finding());
    let mut rest = rest
        .filter(|finding| finding.verdict != Verdict::LeftOut)
        .peekable();
    if rest.peek().is_none() {
        return;
    }
    let _ = write!(
        out,
        "<details><summary>All other cases of {name}</summary><ul>"
    );
    for finding in rest {
        let badge = badge(finding.verdict, &finding.verdict.to_string());
        let facts = finding.run.facts.iter();
        let facts =
            facts.map(|(fact, value)| format!("{fact}={}", beginning(&value.to_string(), 60)));
        let facts = facts.collect::<Vec<_>>().join(" ");
        let _ = write!(
            out,
            "<li id=\"{name}-{}\">{badge} {} {}: {}{} <small>{}</small></li>",
            finding.id,
            finding.code,
            finding.id,
            prose(&finding.says),
            finding
                .described
                .as_ref()
                .map(described)
                .unwrap_or_default(),
            xml(&facts)
        );
    }
    out.push_str("</ul></details>");
}

/// A sentence, and what shows that it is true.
fn evidence(out: &mut String, client: &str, finding: &Finding) {
    let (verdict, id) = (finding.verdict, &finding.id);
    let rule = match &finding.rfc[..] {
        "" => String::new(),
        rfc => format!("Rule: {}.", xml(rfc)),
    };
    let _ = write!(
        out,
        "<h3 id=\"{client}-{id}\">{} {}: {}</h3><p>{}{}</p><p>The server's part: {}. Harm: {}. {rule}</p>",
        badge(verdict, &verdict.to_string()),
        finding.code,
        xml(id),
        prose(&finding.says),
        finding
            .described
            .as_ref()
            .map(described)
            .unwrap_or_default(),
        prose(&finding.title),
        finding.severity,
    );
    let _ = write!(
        out,
        "<details><summary>What was requested, claimed and seen</summary><div class=\"scroll\" tabindex=\"0\">{}</div><pre>{}</pre></details>",
        drawing(&finding.run.log),
        xml(&wire(&finding.run))
    );
}

/// Where a behaviour is described, and how to switch it off.
fn described(it: &Described) -> String {
    let by = match it.by {
        By::Documentation => "Documented",
        By::Source => "Written in its source",
        By::Issue => "Reported to its maintainers",
        By::Advisory => "Known from an advisory",
    };
    let switch = match &it.switch[..] {
        "" => String::new(),
        switch => format!(" To switch it off: {}", prose(switch)),
    };
    let (says, source) = (prose(&it.says), xml(&it.source));
    let by = match it.source.starts_with("https://") {
        true => format!("<a href=\"{source}\">{by}</a>"),
        false => format!("{by} in {source}"),
    };
    format!(" <span class=\"documented\">† {by}: {says}{switch}</span>")
}

/// A verdict in its colour. The letter or the word says the same.
pub(super) fn badge(verdict: Verdict, text: &str) -> String {
    let class = match verdict {
        Verdict::Violation => "violation",
        Verdict::Hazard => "hazard",
        Verdict::Deviation => "deviation",
        Verdict::Mismatch => "mismatch",
        Verdict::Pass => "pass",
        _ => "info",
    };
    format!("<span class=\"v {class}\">{text}</span>")
}
