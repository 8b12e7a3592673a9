//! The page of a run: findings first, the worst on top, each with its evidence. For several clients, a matrix stands
//! above them.

use hecaton_lab::report::STYLE as LAB_STYLE;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::drawing::drawing;
use super::matrix::matrix;
use super::summary::{rule, summary};
use super::tables::beginning;
use super::{Audited, wire};
use crate::case::Verdict;
use crate::run::{By, Described, Finding};

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
pub fn html(clients: &[Audited], home: Option<&str>) -> String {
    let title = format!("Audit of {}: {}", whom(clients), found(clients));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { (title) }
                style { (PreEscaped(LAB_STYLE)) (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.brand.soft {
                        @match home { Some(home) => a href=(home) { "Hecaton" }, None => b { "Hecaton" } }
                        " " span { (env!("CARGO_PKG_VERSION")) }
                    }
                    h1 { (title) }
                    p.soft {
                        "A client's own reports are claims. The server's log decides. Each finding leads to its evidence. "
                        a href="#matrix" { "All cases" }
                    }
                }
                main {
                    (summary(clients))
                    @if clients.len() > 1 { (matrix(clients)) }
                    @for client in clients { (client_part(client)) }
                    @if clients.len() == 1 { (matrix(clients)) }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    let unseen = |c: char| c.is_control() && c != '\n';
    page.into_string().replace(unseen, "?")
}

fn whom(clients: &[Audited]) -> String {
    let names: Vec<&str> = clients.iter().map(|it| it.client.as_str()).collect();
    match names.len() {
        0..=2 => names.join(" and "),
        many => format!("{many} clients"),
    }
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

fn client_part(client: &Audited) -> Markup {
    let findings = Verdict::ALL
        .into_iter()
        .filter(|verdict| verdict.is_finding());
    html! {
        h2 id=(client.client) { (client.client) " " (client.version) }
        p { (client.sum()) "." }
        @for finding in findings.flat_map(|verdict| client.of(verdict)) { (evidence(&client.client, finding)) }
        (others(client))
    }
}

/// A line for each case without a finding, so that each cell of the matrix leads somewhere.
fn others(client: &Audited) -> Markup {
    let is_other = |verdict: Verdict| !verdict.is_finding() && verdict != Verdict::LeftOut;
    let all = client.findings.iter();
    let rest: Vec<&Finding> = all.filter(|finding| is_other(finding.verdict)).collect();
    let name = &client.client;
    html! {
        @if !rest.is_empty() {
            details {
                summary { "All other cases of " (name) }
                ul {
                    @for finding in rest {
                        li id={ (name) "-" (finding.id) } {
                            (badge(finding.verdict, &finding.verdict.to_string())) " "
                            (finding.code) " " (finding.id) ": " (prose(&finding.says))
                            (described(finding)) " " small { (facts(finding)) }
                        }
                    }
                }
            }
        }
    }
}

fn facts(finding: &Finding) -> String {
    let facts = finding.run.facts.iter();
    let facts = facts.map(|(fact, value)| format!("{fact}={}", beginning(&value.to_string(), 60)));
    facts.collect::<Vec<_>>().join(" ")
}

/// A sentence, and what shows that it is true.
fn evidence(client: &str, finding: &Finding) -> Markup {
    html! {
        h3 id={ (client) "-" (finding.id) } {
            (badge(finding.verdict, &finding.verdict.to_string())) " " (finding.code) ": " (finding.id)
        }
        p { (prose(&finding.says)) (described(finding)) }
        p {
            "The server's part: " (prose(&finding.title)) ". Harm: " (finding.severity.to_string()) ". "
            @if !finding.rfc.is_empty() { "Rule: " (rule(&finding.rfc)) "." }
        }
        details {
            summary { "What was requested, claimed and seen" }
            div.scroll tabindex="0" { (drawing(&finding.run.log)) }
            pre { (wire(&finding.run)) }
        }
    }
}

/// Where a behaviour is described, and how to switch it off.
fn described(finding: &Finding) -> Markup {
    html! {
        @if let Some(it) = &finding.described {
            " "
            span.documented {
                "† "
                @if it.source.starts_with("https://") { a href=(it.source) { (by(it)) } }
                @else { (by(it)) " in " (it.source) }
                ": " (prose(&it.says))
                @if !it.switch.is_empty() { " To switch it off: " (prose(&it.switch)) }
            }
        }
    }
}

fn by(it: &Described) -> &'static str {
    match it.by {
        By::Documentation => "Documented",
        By::Source => "Written in its source",
        By::Issue => "Reported to its maintainers",
        By::Advisory => "Known from an advisory",
    }
}

/// A verdict in its colour. The letter or the word says the same.
pub(super) fn badge(verdict: Verdict, text: &str) -> Markup {
    let class = match verdict {
        Verdict::Violation => "violation",
        Verdict::Hazard => "hazard",
        Verdict::Deviation => "deviation",
        Verdict::Mismatch => "mismatch",
        Verdict::Pass => "pass",
        _ => "info",
    };
    html! { span.v.(class) { (text) } }
}

/// A sentence: what stands between backticks is code.
pub(super) fn prose(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    html! {
        @for (n, part) in parts.iter().enumerate() {
            @if n % 2 == 0 { (part) }
            @else if n + 1 == parts.len() { "`" (part) }
            @else { code { (part) } }
        }
    }
}
