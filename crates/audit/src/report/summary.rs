//! The beginning of the page: what was found, the worst first, a line each with its rule and the command that shows it again; and
//! what could not be tried.

use std::fmt::Write;

use super::Audited;
use super::html::badge;
use super::tables::{prose, xml};
use crate::case::Verdict;
use crate::run::Finding;

/// Every finding of all clients as a line, and a sentence about the rest.
pub(super) fn summary(clients: &[Audited]) -> String {
    let mut out = String::from("<h2 id=\"findings\">What it found</h2>");
    let found = found(clients);
    if found.is_empty() {
        out.push_str(
            "<p>Nothing: no client broke a rule, did harm, or differed from what it claims.</p>",
        );
    }
    if !found.is_empty() {
        out.push_str("<p class=\"soft\">The command under each shows it again; a driver of your own needs its <code>--drivers</code> too.</p>");
    }
    out.push_str("<ol class=\"found\">");
    for (client, finding) in found {
        line(&mut out, client, finding, clients.len() > 1);
    }
    out.push_str("</ol>");
    for client in clients {
        let name = match clients {
            [_] => String::new(),
            _ => format!("<b>{}</b>: ", xml(&client.client)),
        };
        let tried = client.tried();
        let _ = write!(out, "<p class=\"soft\">{name}{}</p>", xml(&tried));
    }
    out
}

/// The findings, by verdict and then by harm.
fn found(clients: &[Audited]) -> Vec<(&Audited, &Finding)> {
    let verdicts = Verdict::ALL
        .into_iter()
        .filter(|verdict| verdict.is_listed());
    let of = |verdict| {
        let each = clients.iter();
        let mut all: Vec<_> = each
            .flat_map(|client| client.of(verdict).into_iter().map(move |one| (client, one)))
            .collect();
        all.sort_by_key(|(_, finding)| finding.severity);
        all
    };
    verdicts.flat_map(of).collect()
}

fn line(out: &mut String, client: &Audited, finding: &Finding, with_name: bool) {
    let name = xml(&client.client);
    let (verdict, id, code) = (finding.verdict, xml(&finding.id), &finding.code);
    let who = match with_name {
        true => format!("{name}: "),
        false => String::new(),
    };
    let rule = match rule(&finding.rfc) {
        rule if rule.is_empty() => rule,
        rule => format!(" <span class=\"rule\">{rule}</span>"),
    };
    let _ = write!(
        out,
        "<li>{} {who}<a href=\"#{name}-{id}\">{code}</a> <b>{}.</b> {}{rule} <code class=\"again\">hecaton audit {name} --case {code}</code></li>",
        badge(verdict, &verdict.to_string()),
        prose(&finding.title),
        prose(&finding.says),
    );
}

/// A rule as a case names it, each RFC and section linked.
pub(super) fn rule(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("RFC ") {
        out.push_str(&xml(&rest[..at]));
        let (rfc, mut more) = digits(&rest[at + "RFC ".len()..]);
        let shown = format!("RFC {rfc}");
        let mut first = true;
        loop {
            let mark = if first { " §" } else { ", §" };
            let section = more.strip_prefix(mark).map(digits);
            let Some((section, after)) = section.filter(|(found, _)| !found.is_empty()) else {
                break;
            };
            let words = if first {
                format!("{shown} §{section}")
            } else {
                format!("§{section}")
            };
            out.push_str(if first { "" } else { ", " });
            out.push_str(&link(rfc, &format!("#section-{section}"), &words));
            (more, first) = (after, false);
        }
        if first {
            out.push_str(&link(rfc, "", &shown));
        }
        rest = more;
    }
    out.push_str(&xml(rest));
    out
}

fn link(rfc: &str, anchor: &str, shown: &str) -> String {
    format!("<a href=\"https://www.rfc-editor.org/rfc/rfc{rfc}{anchor}\">{shown}</a>")
}

/// The digits and points at the beginning of a text, and what follows.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::rule;

    #[test]
    fn rules_lead_to_their_sections() {
        let link = |to: &str, shown: &str| {
            format!("<a href=\"https://www.rfc-editor.org/rfc/{to}\">{shown}</a>")
        };
        let cases = [
            ("", String::new()),
            (
                "RFC 7301 §3.2",
                link("rfc7301#section-3.2", "RFC 7301 §3.2"),
            ),
            ("RFC 6265", link("rfc6265", "RFC 6265")),
            (
                "RFC 9112 §6.3, §9.2",
                format!(
                    "{}, {}",
                    link("rfc9112#section-6.3", "RFC 9112 §6.3"),
                    link("rfc9112#section-9.2", "§9.2")
                ),
            ),
            (
                "RFC 9110 §9.2.2, RFC 9112 §6",
                format!(
                    "{}, {}",
                    link("rfc9110#section-9.2.2", "RFC 9110 §9.2.2"),
                    link("rfc9112#section-6", "RFC 9112 §6")
                ),
            ),
            ("WHATWG & others", "WHATWG &amp; others".to_owned()),
        ];
        for (text, expected) in cases {
            assert_eq!(rule(text), expected);
        }
    }
}
