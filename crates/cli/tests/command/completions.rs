//! Completions that their shell can read, and a manual page that describes every verb.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::hecaton;

fn printed(kind: &str) -> String {
    let output = hecaton("cheats")
        .args(["completions", kind])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn bash_completes_verbs_and_options_with_what_is_printed() {
    let mut shell = Command::new("bash")
        .args(["--norc", "-s"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let script = "\nCOMP_WORDS=(hecaton sweep --conc) COMP_CWORD=2\n\
               _hecaton hecaton --conc sweep\necho \"${COMPREPLY[@]}\"\n";
    let mut stdin = shell.stdin.take().unwrap();
    stdin.write_all(printed("bash").as_bytes()).unwrap();
    stdin.write_all(script.as_bytes()).unwrap();
    drop(stdin);
    let reported = String::from_utf8(shell.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(reported.trim(), "--concurrency");
}

#[test]
fn the_help_as_markdown_has_a_page_for_each_verb_and_an_anchor_for_each_option() {
    let pages = printed("markdown");
    for line in [
        "# hecaton sweep",
        "### `-c, --concurrency <LIST>` {#hecaton-sweep-concurrency}",
        "### `--drivers <FOLDER>` {#hecaton-sweep-drivers}",
        "# hecaton compare",
        "## hecaton compare keepalive",
        "# hecaton drivers",
        "## hecaton drivers check",
    ] {
        assert!(pages.lines().any(|found| found == line), "{line}\n{pages}");
    }
    for hidden in [
        "hecaton raw",
        "{#hecaton-serve-drivers}",
        "{#hecaton-sweep-help}",
    ] {
        assert!(!pages.contains(hidden), "{hidden}");
    }
    assert!(pages.matches("```").count().is_multiple_of(2), "{pages}");
}

#[test]
fn the_help_of_a_measurement_is_in_groups() {
    let output = hecaton("cheats").args(["sweep", "-h"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let groups = [
        "\nOptions:\n",
        "\nRun and output:\n",
        "\nYour own service:\n",
    ];
    let options = ["  -c, --concurrency", "  -q, --quiet", "  -H, --header"];
    let expected: Vec<&str> = groups
        .iter()
        .zip(&options)
        .flat_map(|(a, b)| [*a, *b])
        .collect();
    let places: Vec<Option<usize>> = expected.iter().map(|words| help.find(words)).collect();
    assert!(
        places.is_sorted() && places.iter().all(Option::is_some),
        "{help}"
    );
}

#[test]
fn each_shell_has_its_own_and_the_manual_has_a_section_for_each_verb() {
    for (kind, mark) in [
        ("zsh", "#compdef hecaton"),
        ("fish", "complete -c hecaton"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        assert!(printed(kind).contains(mark), "{kind}");
    }
    let manual = printed("man");
    for verb in [
        "SWEEP",
        "SHOOTOUT",
        "COMPARE",
        "REPORT",
        "SERVE",
        "DOCTOR",
        "DRIVERS CHECK",
        "COMPARE SYNC-ASYNC",
    ] {
        let section = format!(".SH \"HECATON {verb}\"");
        assert!(manual.contains(&section), "{section}");
    }
    for nothing in ["HECATON BASELINE_LOADER", ".SH EXTRA", "hecaton\\-sweep(1)"] {
        assert!(!manual.contains(nothing), "{nothing}");
    }
}
