//! Reports: what is described in public, what is left out, and a page whose links lead somewhere.

use std::collections::BTreeSet;
use std::path::PathBuf;

use hecaton_audit::case::{Catalogue, Verdict};
use hecaton_audit::clients::Client;
use hecaton_audit::report::{Audited, Library, html, published};
use hecaton_audit::run::audit;
use hecaton_audit::server::Event;
use hecaton_lab::spec::{Catalogue as Drivers, Project};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cases() -> Catalogue {
    Catalogue::load(&Project::built_in()).unwrap()
}

fn library() -> Library {
    Library::load(&Project::built_in()).unwrap()
}

/// Runs a few cases with a client of ours, as if it were another one.
fn audited(name: &str, mut client: Client, codes: &[&str]) -> Audited {
    let cases = cases();
    let run = |code: &&str| audit(cases.find(code).unwrap(), &mut client, 1).unwrap();
    Audited {
        client: name.into(),
        version: "1".into(),
        findings: codes.iter().map(run).collect(),
    }
}

#[test]
fn documented_behaviours_are_of_clients_and_cases_that_exist() {
    let (cases, drivers) = (cases(), Drivers::load(&root().join("drivers")).unwrap());
    let names: BTreeSet<&str> = drivers.all().map(|one| one.client.as_str()).collect();
    for (client, case) in library().pairs() {
        assert!(names.contains(client), "there is no client {client}");
        assert!(cases.find(case).is_ok(), "there is no case {case}");
    }
}

#[test]
fn documented_behaviours_have_a_source() {
    for source in library().sources() {
        let is_there = source.starts_with("https://") || root().join(source).is_file();
        assert!(
            is_there,
            "{source} is neither a URL nor a file of this project"
        );
    }
}

#[test]
fn a_case_is_found_by_its_older_name() {
    for name in [
        "fresh-drop-get",
        "fresh-drop-post",
        "fresh-reset-post",
        "late-answer",
        "place-after-error",
        "place-after-time-out",
        "place-wait",
    ] {
        assert!(cases().find(name).is_ok(), "there is no case {name}");
    }
}

#[test]
fn what_could_be_abused_is_left_out_with_its_passes_unless_it_is_public() {
    let codes = ["fr01", "length-and-chunked", "authorization-to-host"];
    let mut sinner = audited("net-http", Client::sinner("accepts-short-length"), &codes);
    library().describe(&mut sinner);
    assert!(
        sinner.findings[0].described.is_some(),
        "short-length is described"
    );
    let shown = published(sinner);
    let verdicts: Vec<Verdict> = shown.findings.iter().map(|one| one.verdict).collect();
    assert_eq!(
        verdicts,
        [Verdict::Violation, Verdict::LeftOut, Verdict::LeftOut]
    );
    let text = serde_json::to_string(&shown.findings[1]).unwrap();
    assert!(
        !text.contains("pass") && !text.contains("127.0.0.1"),
        "{text}"
    );
}

#[test]
fn each_link_of_a_page_leads_to_a_place_on_it() {
    let codes = ["fr01", "rt02", "rt04"];
    let clients = [
        audited("saint", Client::saint(), &codes),
        audited("sinner", Client::sinner("accepts-short-length"), &codes),
    ];
    for shown in [&clients[..1], &clients[..]] {
        let page = html(shown, None);
        let links = page.split("href=\"#").skip(1);
        let links: Vec<&str> = links.filter_map(|rest| rest.split('"').next()).collect();
        assert!(links.len() > shown.len() * codes.len(), "{links:?}");
        for link in links {
            assert!(page.contains(&format!("id=\"{link}\"")), "no place {link}");
        }
    }
}

#[test]
fn findings_are_counted_in_the_plural_from_two_on() {
    let of =
        |codes: &[&str]| audited("sinner", Client::sinner("accepts-short-length"), codes).sum();
    assert_eq!(of(&["fr01"]), "1 violation");
    assert_eq!(of(&["fr01", "fr01"]), "2 violations");
    let words = [Verdict::Mismatch, Verdict::Pass].map(|verdict| verdict.counted(2));
    assert_eq!(words, ["2 mismatches", "2 pass"]);
}

#[test]
fn a_page_shows_code_instead_of_backticks() {
    let mut sinner = audited("sinner", Client::sinner("accepts-short-length"), &["fr01"]);
    let finding = &mut sinner.findings[0];
    finding.says = "`a<b` was sent, and `c`; a single ` stays.".into();
    finding.title = "The server says `Connection: close`".into();
    let page = html(&[sinner], None);
    let says = "<code>a&lt;b</code> was sent, and <code>c</code>; a single ` stays.";
    assert!(page.contains(says), "{page}");
    let title = "The server's part: The server says <code>Connection: close</code>.";
    assert!(page.contains(title), "{page}");
    assert!(
        page.contains("title=\"The server says Connection: close\""),
        "{page}"
    );
}

#[test]
fn foreign_text_on_a_page_stays_text() {
    let hostile = "<script>alert(1)</script>\" onclick=\"alert(1)\u{1b}[2J";
    let client = Client::sinner("accepts-short-length");
    let mut sinner = audited(hostile, client, &["fr01", "fr02"]);
    sinner.version = hostile.into();
    for finding in &mut sinner.findings {
        let texts = [&mut finding.id, &mut finding.group, &mut finding.title];
        texts.into_iter().for_each(|text| *text = hostile.into());
        let texts = [&mut finding.says, &mut finding.rfc];
        texts.into_iter().for_each(|text| *text = hostile.into());
        for entry in &mut finding.run.log.entries {
            if let Event::Request { method, call, .. } = &mut entry.event {
                (*method, *call) = (hostile.into(), hostile.into());
            }
        }
    }
    for clients in [vec![sinner.clone()], vec![sinner.clone(), sinner]] {
        let page = html(&clients, Some(hostile));
        for wrong in ["<script>alert", "\" onclick=\"", "\u{1b}"] {
            assert!(!page.contains(wrong), "{wrong:?} is on the page");
        }
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot; onclick"));
    }
}
