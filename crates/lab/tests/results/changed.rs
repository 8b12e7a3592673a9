//! Runs side by side: what changed is found, what only the machine changed is not, and every view says the same.

use hecaton_lab::findings::{Changes, Direction, changes};
use hecaton_lab::ledger::Document;
use hecaton_lab::report::Style;
use hecaton_lab::report::{beside, changed};
use hecaton_test_server::Delay;
use serde_json::json;

use crate::synthetic::{MRI_SHORT, Machine, document};

const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror='a'>\"&|";

/// One client and its baseline loader; `speed` is how fast the client is against its usual, `machine` how fast all are.
fn sweep(seed: u64, speed: f64, machine: f64) -> Document {
    let rounds = |client: &str, factor: f64| {
        let shape = MRI_SHORT.map(|(rate, cpu)| (rate * factor * machine, cpu));
        Machine {
            seed,
            ..Machine::default()
        }
        .sweep(client, 133, &shape)
    };
    let mut all = rounds("typhoeus", speed);
    all.extend(rounds("baseline-loader", 1.6));
    document(all, "0", json!({ "kind": "test_server" }))
}

fn worse(found: &Changes, share: f64) -> Vec<usize> {
    let rows = found.worse(share);
    rows.iter().map(|row| row.load.concurrency).collect()
}

#[test]
fn a_slower_machine_is_no_slower_client() {
    let found = changes(&sweep(1, 1.0, 1.0), &sweep(2, 1.0, 0.7));
    assert_eq!(found.rows.len(), 16);
    assert!(found.rows.iter().all(|change| change.against_loader));
    assert!(worse(&found, 0.05).is_empty());
    let slower =
        |change: &&_| hecaton_lab::findings::Change::direction(change) == Direction::Slower;
    assert_eq!(found.rows.iter().filter(slower).count(), 0);
}

#[test]
fn a_slower_client_is_found_and_a_faster_one_is_not_blamed() {
    let before = sweep(1, 1.0, 1.0);
    let (slower, faster) = (sweep(2, 0.85, 1.3), sweep(3, 1.2, 0.8));
    let found = changes(&before, &slower);
    assert_eq!(worse(&found, 0.05).len(), 16);
    assert!(worse(&found, 0.25).is_empty());
    assert!(worse(&changes(&before, &faster), 0.0).is_empty());
}

#[test]
fn a_row_that_is_rejected_now_is_worse_whatever_its_speed() {
    let (before, mut after) = (sweep(1, 1.0, 1.0), sweep(2, 1.0, 1.0));
    let last = |round: &&mut hecaton_lab::run::Round| {
        round.cell.client == "typhoeus" && round.cell.load.concurrency == 200
    };
    for round in after.rounds.iter_mut().filter(last) {
        round.probe.as_mut().unwrap().peak_in_flight = 128;
    }
    assert_eq!(worse(&changes(&before, &after), 0.9), [200]);
}

#[test]
fn a_client_that_broke_or_is_missing_is_worse_and_one_that_was_not_named_is_not() {
    let before = sweep(1, 1.0, 1.0);
    let mut broken = sweep(2, 1.0, 1.0);
    let own = |round: &hecaton_lab::run::Round| {
        round.cell.client == "typhoeus" && round.cell.load.concurrency == 2
    };
    broken.rounds.retain(|round| !own(round) || round.block < 3);
    assert_eq!(worse(&changes(&before, &broken), 0.5), [2]);
    broken.rounds.retain(|round| !own(round));
    assert_eq!(worse(&changes(&before, &broken), 0.5), [2]);
    broken
        .plan
        .concurrency
        .retain(|concurrency| *concurrency != 2);
    let found = changes(&before, &broken);
    assert_eq!((worse(&found, 0.5), found.gone.len()), (Vec::new(), 1));
}

#[test]
fn of_load_generators_nothing_is_said() {
    let run = |seed| {
        let mut run = sweep(seed, 1.0, 1.0);
        run.rounds
            .iter_mut()
            .for_each(|round| round.reference = true);
        run
    };
    let found = changes(&run(1), &run(2));
    assert!(found.rows.is_empty() && found.failed.is_empty());
}

#[test]
fn runs_of_different_plans_are_not_compared() {
    let (before, mut after) = (sweep(1, 1.0, 1.0), sweep(2, 0.5, 1.0));
    after.plan.delay = Delay::Fixed(std::time::Duration::from_millis(10));
    let found = changes(&before, &after);
    assert!(found.rows.is_empty() && !found.says_anything());
    let text = terminal(&[before, after]);
    assert!(
        text.contains("because their plans differ: delay 0 before, 10ms after"),
        "{text}"
    );
}

#[test]
fn few_rounds_make_no_statement() {
    let few = |seed, speed| {
        let mut run = sweep(seed, speed, 1.0);
        run.rounds.retain(|round| round.block < 3);
        run
    };
    let found = changes(&few(1, 1.0), &few(2, 0.5));
    assert!(!found.says_anything());
    let too_few = |change: &hecaton_lab::findings::Change| change.direction() == Direction::TooFew;
    assert!(found.rows.iter().all(too_few));
}

/// Runs with names: `run 0` is the one before.
fn named(runs: &[Document]) -> Vec<(String, Document)> {
    let names = (0..).map(|n| format!("run {n}"));
    names.zip(runs.iter().cloned()).collect()
}

fn terminal(runs: &[Document]) -> String {
    let style = Style {
        width: 80,
        color: false,
        unicode: true,
    };
    let text = changed(&beside(&named(runs))).terminal(&style);
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(80), "{text}");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn three() -> Vec<Document> {
    vec![sweep(1, 1.0, 1.0), sweep(2, 0.85, 1.3), sweep(3, 1.2, 1.0)]
}

#[test]
fn the_terminal_shows_every_run_beside_the_first() {
    let text = terminal(&three());
    for words in [
        "before: run 0,",
        "after: run 1,",
        "after: run 2,",
        "Of 16 rows in both runs: 16 slower. The largest: typhoeus,",
        "Of 16 rows in both runs: 16 faster.",
        "so a change of the machine's own speed does not count",
    ] {
        assert!(text.contains(words), "{words} is missing in {text}");
    }
}

#[test]
fn what_a_row_has_of_its_own_fits_the_terminal_too() {
    let own = |seed, speed| {
        let mut run = sweep(seed, speed, 1.0);
        for round in &mut run.rounds {
            round.cell.load.round_trip_ms = Some(100);
            round.cell.load.tls = true;
        }
        run
    };
    let text = terminal(&[own(1, 1.0), own(2, 0.8)]);
    assert!(
        text.contains("concurrency 200, round trip 100 ms, TLS 0.80×"),
        "{text}"
    );
}

#[test]
fn runs_without_a_row_in_common_say_so() {
    let mut other = sweep(1, 1.0, 1.0);
    for round in &mut other.rounds {
        round.cell.client += "-2";
    }
    let text = terminal(&[sweep(1, 1.0, 1.0), other]);
    assert!(
        text.contains("run 0 and run 1 have no client, body and load in common"),
        "{text}"
    );
}

#[test]
fn markdown_csv_and_json_have_every_change_of_every_pair() {
    let runs = named(&three());
    let pairs = beside(&runs);
    let text = changed(&pairs).markdown();
    assert_eq!(text.matches("\n| typhoeus |").count(), 32, "{text}");
    let table = changed(&pairs).csv();
    let lines: Vec<&str> = table.split("\r\n").collect();
    assert_eq!(lines.len(), 1 + 32 + 1);
    assert!(
        lines[0].starts_with("before,after,client,body_bytes,concurrency,"),
        "{}",
        lines[0]
    );
    assert!(
        lines[17].starts_with("run 0,run 2,typhoeus,133,1,"),
        "{}",
        lines[17]
    );
    let view = changed(&pairs);
    let value = view.json();
    let count = |key: &str| value[key].as_array().unwrap().len();
    assert_eq!((count("runs"), count("rows")), (3, 32));
    assert_eq!(value["rows"][0]["change"], "slower");
    let ratio = value["rows"][0]["ratio"].as_f64().unwrap();
    assert!((ratio - 0.85).abs() < 0.02, "{ratio}");
}

#[test]
fn a_chart_is_made_of_each_pair_that_has_something_to_draw() {
    let mut runs = three();
    runs[2].rounds.clear();
    let runs = named(&runs);
    let files = changed(&beside(&runs)).drawings();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].0, "change-1.svg");
    assert_eq!(files[0].1.matches("class=\"line\"").count(), 16);
}

#[test]
fn the_page_is_whole_small_and_alone() {
    let mut runs = three();
    runs[1].environment.kernel = Some("6.2.0".into());
    let runs = named(&runs);
    let pairs = beside(&runs);
    let view = changed(&pairs);
    let page = view.html();
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("changed.html");
    std::fs::write(path, &page).unwrap();
    assert!(page.len() <= 200_000, "{} bytes", page.len());
    for words in [
        "<h1>What changed?</h1>",
        "16 slower",
        "16 faster",
        "6.2.0",
        "the first is compared with",
    ] {
        assert!(page.contains(words), "{words} is missing");
    }
    for outside in ["src=", "href=", "@import", "url(", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(view.json()["rows"].as_array().unwrap().len(), 32);
}

#[test]
fn nothing_from_outside_becomes_markup() {
    let mut runs = vec![sweep(1, 1.0, 1.0), sweep(2, 1.0, 1.0)];
    for run in &mut runs {
        run.command = EVIL.into();
        run.environment.date = EVIL.into();
        for round in &mut run.rounds {
            round.cell.client += EVIL;
        }
    }
    runs[0].environment.processor = Some(EVIL.into());
    let runs: Vec<(String, Document)> = runs.into_iter().map(|run| (EVIL.into(), run)).collect();
    let pairs = beside(&runs);
    let page = changed(&pairs).html();
    assert_eq!(page.matches("<script").count(), 1, "the page's own");
    assert!(!page.contains("<img") && !page.contains("alert(1)</script>"));
    let text = changed(&pairs).markdown();
    let bars = text.lines().filter(|line| line.starts_with("| "));
    let counts: Vec<usize> = bars
        .map(|line| line.replace("\\|", "").matches('|').count())
        .collect();
    assert!(
        counts.windows(2).all(|pair| pair[0] == pair[1]),
        "{counts:?}"
    );
}
