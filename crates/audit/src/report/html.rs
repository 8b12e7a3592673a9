//! The page of a run: findings first, the worst on top, each with its evidence. For several clients, a matrix stands
//! above them.

use std::fmt::Write;

use super::drawing::drawing;
use super::matrix::matrix;
use super::summary::{rule, summary};
use super::tables::{beginning, prose, xml};
use super::{Audited, Fingerprint, wire};
use crate::case::Verdict;
use crate::run::{By, Described, Finding};
use hecaton_lab::report::STYLE as LAB_STYLE;

/// What the page has beside the lab's style: verdicts, the matrix, and drawings of connections.
const STYLE: &str = "\
.v{display:inline-block;min-width:1.4em;text-align:center;font-weight:700;border-radius:3px;padding:0 .3em}\
.violation{background:#b3261e;color:#fff}.hazard{background:#b04a00;color:#fff}.deviation{background:#7a5c00;color:#fff}\
.mismatch{background:#5b3fa8;color:#fff}.info{background:var(--rule)}.pass{color:var(--good)}\
.found{margin:12px 0;padding:0;list-style:none}.found li{padding:8px 0;border-top:1px solid var(--rule)}\
.found .again{display:block;width:fit-content;margin-top:2px}.rule{white-space:nowrap}\
code{background:var(--card);border-radius:3px;padding:0 .3em;font-size:.9em}\
svg{max-width:72rem;min-width:44rem}svg text{font-size:12px}svg .name,svg .fault{font-weight:700;fill:var(--ink)}svg line{stroke:var(--rule)}\
main h3{margin-top:24px}details ul{padding-left:1.2em}small{color:var(--soft)}pre{font-size:.75rem;overflow:auto}\
form{display:flex;flex-wrap:wrap;gap:.5rem;margin:.6rem 0}input,select{font:inherit;color:inherit;background:var(--card);border:1px solid var(--rule);border-radius:4px;padding:1px 6px;max-width:100%}\
th,td{text-align:left}th.client{writing-mode:vertical-rl;transform:rotate(180deg);vertical-align:bottom}\
#matrix{width:auto}#matrix thead th{cursor:pointer}td.cell{text-align:center;padding:.1rem .2rem}td a{text-decoration:none}\
.scroll th:first-child{position:sticky;left:0;background:var(--bg)}.pair{white-space:nowrap;margin-right:.7em}\
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
         <title>{title}</title><style>{LAB_STYLE}{STYLE}</style><body><header><p class=\"brand soft\">{brand} <span>{}</span></p><h1>{title}</h1>\
         <p class=\"soft\">A client's own reports are claims. The server's log decides. Each finding leads to its evidence. <a href=\"#matrix\">All cases</a></p></header><main>",
        env!("CARGO_PKG_VERSION")
    );
    out.push_str(&summary(clients));
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
    let _ = write!(out, "</main><script>{SCRIPT}</script></body></html>");
    out
}

/// How many findings all clients have together, of each verdict that is one.
fn found(clients: &[Audited]) -> String {
    let count = |verdict| clients.iter().map(|it| it.of(verdict).len()).sum();
    let counts = Verdict::ALL.map(|verdict| (verdict, count(verdict)));
    let counts = counts.into_iter();
    let found: Vec<String> = counts
        .filter(|(verdict, count)| verdict.is_listed() && *count > 0)
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
    let rule = match rule(&finding.rfc) {
        rule if rule.is_empty() => rule,
        rule => format!("Rule: {rule}."),
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
