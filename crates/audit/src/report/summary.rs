//! The beginning of the page: what was found, the worst first, a line each with its rule and the command that shows it again; and
//! what could not be tried.

use maud::{Markup, html};

use super::Audited;
use super::html::{badge, prose};
use crate::case::Verdict;
use crate::run::Finding;

/// Every finding of all clients as a line, and a sentence about the rest.
pub(super) fn summary(clients: &[Audited]) -> Markup {
    let found = found(clients);
    let several = clients.len() > 1;
    html! {
        h2 id="findings" { "What it found" }
        @if found.is_empty() {
            p { "Nothing: no client broke a rule, did harm, or differed from what it claims." }
        } @else {
            p.soft {
                "The command under each shows it again; a driver of your own needs its " code { "--drivers" } " too."
            }
        }
        ol.found { @for (client, finding) in found { (line(&client.client, finding, several)) } }
        @for client in clients {
            p.soft { @if several { b { (client.client) } ": " } (client.tried()) }
        }
    }
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

fn line(name: &str, finding: &Finding, with_name: bool) -> Markup {
    let (verdict, id, code) = (finding.verdict, &finding.id, &finding.code);
    html! {
        li {
            (badge(verdict, &verdict.to_string())) " "
            @if with_name { (name) ": " }
            a href={ "#" (name) "-" (id) } { (code) } " "
            b { (prose(&finding.title)) "." } " " (prose(&finding.says))
            @if !finding.rfc.is_empty() { " " span.rule { (rule(&finding.rfc)) } } " "
            code.again { "hecaton audit " (name) " --case " (code) }
        }
    }
}

/// A rule as a case names it, each RFC and section linked.
pub(super) fn rule(text: &str) -> Markup {
    let mut rfcs = text.split("RFC ");
    let before = rfcs.next();
    html! { (before.unwrap_or_default()) @for text in rfcs { (rfc(text)) } }
}

/// The number of an RFC with its sections, and what follows.
fn rfc(text: &str) -> Markup {
    let (number, mut rest) = digits(text);
    let mut sections = Vec::new();
    let mut mark = " §";
    while let Some((section, after)) = rest.strip_prefix(mark).map(digits)
        && !section.is_empty()
    {
        sections.push(section);
        (rest, mark) = (after, ", §");
    }
    let address = format!("https://www.rfc-editor.org/rfc/rfc{number}");
    html! {
        @if sections.is_empty() { a href=(address) { "RFC " (number) } }
        @for (n, section) in sections.iter().enumerate() {
            @if n > 0 { ", " }
            a href={ (address) "#section-" (section) } { @if n == 0 { "RFC " (number) " " } "§" (section) }
        }
        (rest)
    }
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
            assert_eq!(rule(text).into_string(), expected);
        }
    }
}
