//! `report` shows a run again from its document, and can fail where another is slower.

use crate::support::{hecaton, root, run};

fn kept() -> String {
    let folder = root().join("docs/results/2026-11-22-many-at-once");
    folder.to_string_lossy().into_owned()
}

#[test]
fn a_run_is_shown_again_in_every_form() {
    let temporary = tempfile::tempdir().unwrap();
    let report = |arguments: &[&str]| {
        let ending = run(hecaton("cheats")
            .arg("report")
            .arg(kept())
            .args(arguments)
            .current_dir(temporary.path()));
        ending.assert(0, &[]);
        ending.stdout
    };
    assert!(report(&[]).contains("Verdict"));
    assert!(report(&["--md"]).contains("| client |"));
    assert!(report(&["--csv"]).starts_with("client,"));
    assert_eq!(report(&["--html", "page.html", "--svg", "charts"]), "");
    assert!(
        std::fs::read_to_string(temporary.path().join("page.html"))
            .unwrap()
            .starts_with("<!DOCTYPE html>")
    );
    assert!(temporary.path().join("charts/all-133.svg").exists());
    let document: serde_json::Value = serde_json::from_str(&report(&["--json"])).unwrap();
    assert_eq!(document["schema"], 1);
    assert!(document["rows"][0]["requests_per_second"].is_f64());
}

#[test]
fn runs_are_shown_side_by_side_in_every_form() {
    let temporary = tempfile::tempdir().unwrap();
    let report = |arguments: &[&str]| {
        let ending = run(hecaton("cheats")
            .args(["report", &kept(), &kept()])
            .args(arguments)
            .current_dir(temporary.path()));
        ending.assert(0, &[]);
        ending.stdout
    };
    assert!(report(&[]).contains("rows in both runs"));
    assert!(report(&["--md"]).contains("| client |"));
    assert!(report(&["--csv"]).starts_with("before,after,client,"));
    let document: serde_json::Value = serde_json::from_str(&report(&["--json"])).unwrap();
    assert_eq!(document["runs"].as_array().unwrap().len(), 2);
    assert_eq!(report(&["--html", "page.html", "--svg", "charts"]), "");
    let page = std::fs::read_to_string(temporary.path().join("page.html")).unwrap();
    assert!(page.contains("rows in both runs: ") && page.contains("What changed? 2 runs"));
    assert!(temporary.path().join("charts/change-1.svg").exists());
}

/// The recorded run's document.
fn document() -> serde_json::Value {
    let shown = run(hecaton("cheats").args(["report", &kept(), "--json"]));
    serde_json::from_str(&shown.stdout).expect(&shown.stderr)
}

#[test]
fn a_run_that_was_killed_is_shown_until_then() {
    let temporary = tempfile::tempdir().unwrap();
    let mut document = document();
    let rounds = document["rounds"].take();
    document["rounds"] = serde_json::json!([]);
    let mut lines: Vec<String> = rounds.as_array().unwrap()[..20]
        .iter()
        .map(|round| round.to_string())
        .collect();
    lines.push(lines[0][..40].to_owned());
    std::fs::write(
        temporary.path().join("unfinished.json"),
        document.to_string(),
    )
    .unwrap();
    std::fs::write(temporary.path().join("rounds.jsonl"), lines.join("\n")).unwrap();
    let ending = run(hecaton("cheats").arg("report").arg(temporary.path()));
    ending.assert(0, &["did not end", "INCOMPLETE 20/"]);
    assert!(ending.stdout.contains("Verdict"), "{}", ending.stdout);
}

#[test]
fn a_gate_that_can_not_tell_does_not_let_through() {
    let temporary = tempfile::tempdir().unwrap();
    let gate = |change: &dyn Fn(&mut serde_json::Value), words: &[&str]| {
        let mut document = document();
        change(&mut document);
        let other = temporary.path().join("other.json");
        std::fs::write(&other, document.to_string()).unwrap();
        let ending = run(hecaton("cheats")
            .args(["report", &kept()])
            .arg(other)
            .args(["--fail-if-worse", "5%"]));
        ending.assert(1, words);
        ending.stdout
    };
    let text = gate(
        &|document| document["plan"]["delay"] = "77ms".into(),
        &["cannot decide", "delay 0 before, 77ms after"],
    );
    assert!(text.contains("because their plans differ"), "{text}");
    let few = |document: &mut serde_json::Value| {
        let rounds = document["rounds"].as_array_mut().unwrap();
        rounds.retain(|round| round["block"].as_u64() < Some(2));
    };
    let text = gate(&few, &["four rounds or more"]);
    assert!(text.contains("too few rounds"), "{text}");
}

#[test]
fn the_same_run_twice_is_not_worse() {
    let ending = run(hecaton("cheats").args(["report", &kept(), &kept(), "--fail-if-worse", "5%"]));
    ending.assert(0, &[]);
    assert!(
        ending.stdout.contains("not clear") && !ending.stdout.contains("slower"),
        "{}",
        ending.stdout
    );
}

#[test]
fn a_slower_run_ends_with_status_three_and_names_the_client() {
    let temporary = tempfile::tempdir().unwrap();
    let mut document = document();
    for round in document["rounds"].as_array_mut().unwrap() {
        if round["client"] == "typhoeus" {
            round["wall_ns"] = (round["wall_ns"].as_u64().unwrap() * 3 / 2).into();
        }
    }
    let slower = temporary.path().join("slower.json");
    std::fs::write(&slower, document.to_string()).unwrap();
    let ending = run(hecaton("cheats")
        .args(["report", &kept()])
        .arg(slower)
        .args(["--fail-if-worse", "5%"]));
    ending.assert(3, &["slower than allowed: typhoeus at concurrency 1"]);
    assert!(!ending.stderr.contains("hecaton-ruby"), "{}", ending.stderr);
}

#[test]
fn what_is_no_run_is_refused_with_its_name() {
    run(hecaton("cheats").args(["report", "nowhere.json"]))
        .assert(1, &["nowhere.json", "give the run.json"]);
    let manifest = root().join("Cargo.toml");
    run(hecaton("cheats").arg("report").arg(&manifest)).assert(1, &["Cargo.toml is not JSON"]);
    run(hecaton("cheats").args(["report", &kept(), "--fail-if-worse", "5%"]))
        .assert(2, &["compares two runs"]);
    run(hecaton("cheats").args(["report", &kept(), &kept(), "--fail-if-worse", "much"]))
        .assert(2, &["`much` is not a percentage"]);
}

#[test]
fn the_folder_of_a_benchmark_is_shown_with_all_its_parts() {
    let folder = root().join("docs/results/2026-11-22-bench");
    let ending = run(hecaton("cheats").arg("report").arg(&folder));
    ending.assert(0, &[]);
    for part in [
        "Many at once",
        "Memory of a new process, 200 at once",
        "One request after another",
    ] {
        assert!(
            ending.stdout.contains(&format!("\n{part}\n")),
            "{part}: {}",
            ending.stdout
        );
    }
    assert!(ending.stdout.contains("hecaton-ruby\n") || ending.stdout.contains("÷ this"));
    let table = run(hecaton("cheats").arg("report").arg(&folder).arg("--csv"));
    assert!(
        table.stdout.starts_with("part,client,"),
        "{}",
        &table.stdout[..60]
    );
    run(hecaton("cheats")
        .arg("report")
        .arg(&folder)
        .args(["--fail-if-worse", "5%"]))
    .assert(2, &["compares two runs"]);
}

#[test]
fn an_index_names_every_run_below_a_folder() {
    let temporary = tempfile::tempdir().unwrap();
    for name in ["one", "bench/two"] {
        std::fs::create_dir_all(temporary.path().join(name)).unwrap();
        std::fs::copy(
            format!("{}/run.json.zst", kept()),
            temporary.path().join(name).join("run.json.zst"),
        )
        .unwrap();
    }
    std::fs::write(temporary.path().join("one/report.html"), "").unwrap();
    run(hecaton("cheats")
        .args(["report", "--index"])
        .arg(temporary.path()))
    .assert(0, &["index.html"]);
    let page = std::fs::read_to_string(temporary.path().join("index.html")).unwrap();
    let text = std::fs::read_to_string(temporary.path().join("README.md")).unwrap();
    for name in ["one", "bench", "bench/two"] {
        let link = format!("<a href=\"{name}/report.html\">");
        assert!(page.contains(&link), "{name}");
        assert!(text.contains(&format!("]({name}/README.md): ")), "{text}");
        let its = std::fs::read_to_string(temporary.path().join(name).join("report.html")).unwrap();
        let text = std::fs::read_to_string(temporary.path().join(name).join("README.md")).unwrap();
        assert!(text.starts_with(&format!(
            "# {name}\n\n[The page with charts](report.html)\n"
        )));
        assert!(name == "bench" || text.contains("| client |"), "{text}");
        let up = "../".repeat(name.split('/').count());
        assert!(
            its.contains(&format!("<a href=\"{up}index.html\">")),
            "{name}"
        );
    }
    let empty = tempfile::tempdir().unwrap();
    run(hecaton("cheats")
        .args(["report", "--index"])
        .arg(empty.path()))
    .assert(1, &["holds no run"]);
}
