//! The auditor is audited: the saint passes every case, each case catches its sin and no other, and says if its fault
//! is missing.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hecaton_audit::case::{
    Call, Case, Catalogue, Deed, Http2, Severity, Shown, Step, Verdict, hash,
};
use hecaton_audit::clients::Client;
use hecaton_audit::report::table_of_cases;
use hecaton_audit::run::{RUNS, Run, once};
use hecaton_audit::subject::{CallOptions, Reported, Subject};
use hecaton_lab::spec::Project;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cases() -> Vec<Case> {
    Catalogue::load(&Project::built_in())
        .unwrap()
        .all()
        .to_vec()
}

/// One run. The clients of our own look at a connection when they use it, so nobody must wait for them to notice.
fn run(case: &Case, mut client: Client) -> Run {
    once(case, &mut client, Duration::ZERO).unwrap()
}

/// Does the work for each item on a few threads, most of which sleep, and returns what is wrong.
fn each<T: Sync>(items: &[T], work: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(problem) = work(item) {
                        wrong.lock().unwrap().push(problem);
                    }
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    wrong
}

fn assert_none(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Runs a case until its verdict is good or the run shows something, as often as the audit does at most.
fn run_until(case: &Case, client: impl Fn() -> Client, good: impl Fn(Verdict) -> bool) -> Run {
    let mut last = run(case, client());
    for _ in 1..RUNS {
        if good(last.verdict) || shows_something(&last) {
            break;
        }
        last = run(case, client());
    }
    last
}

/// On a busy machine a client may give up before the server comes to the fault, or before it can go on itself. A client
/// that hangs is late each time.
fn shows_something(run: &Run) -> bool {
    let is_late = |reported: &Reported| match reported {
        Reported::Error { class, .. } | Reported::Several { class, .. } => class == "Late",
        _ => false,
    };
    let is_missing = matches!(run.verdict, Verdict::SetupFailed | Verdict::NotApplicable);
    !is_missing && !run.reported.iter().any(is_late)
}

#[test]
fn the_saint_passes_every_case() {
    let wrong = each(&cases(), |case| {
        let run = run_until(case, Client::saint, |verdict| verdict == Verdict::Pass);
        let shown = format!(
            "{} {}: {}: {} {:?}",
            case.code, case.id, run.verdict, run.says, run.reported
        );
        (run.verdict != Verdict::Pass).then_some(shown)
    });
    assert_none(&wrong);
}

#[test]
fn each_case_catches_its_sin() {
    let wrong = each(&cases(), |case| {
        let run = run_until(
            case,
            || Client::sinner(&case.sin),
            |verdict| verdict == case.caught,
        );
        let shown = format!(
            "{} {}: {} of {}: {}",
            case.code, case.sin, run.verdict, case.caught, run.says
        );
        (run.verdict != case.caught).then_some(shown)
    });
    assert_none(&wrong);
}

/// The same case without the server's fault.
fn without_fault(case: &Case) -> Case {
    let mut case = case.clone();
    if case.tls.certificate.fault {
        case.tls.certificate = Shown::default();
    }
    if case.tls.hello.iter().any(|step| step.fault) {
        case.tls.hello.clear();
    }
    if let Some(h2) = case.h2.as_mut().filter(|h2| h2.fault) {
        *h2 = Http2::default();
    }
    for call in &mut case.calls {
        if call.fault {
            let plain: Call = toml::from_str(&format!("name = {:?}", call.name)).unwrap();
            let stops = std::mem::take(&mut call.stops);
            *call = Call { stops, ..plain };
        }
        let stops = call.stops.values_mut().flatten();
        for steps in call.server.iter_mut().chain(stops) {
            leave_fault_out(steps);
        }
    }
    case
}

/// Takes the fault out of a list of steps. The steps after it belonged to the fault, so a whole response replaces them
/// too.
/// An attempt that is left without a response waits for the fault of another.
fn leave_fault_out(steps: &mut Vec<Step>) {
    if steps.is_empty() {
        steps.push(Step::fine());
    }
    if let Some(at) = steps.iter().position(|step| step.fault) {
        let responded = steps[..at]
            .iter()
            .any(|step| matches!(step.deed, Deed::Fine(_)));
        steps.truncate(at);
        if !responded {
            steps.clear();
            steps.push(Step::fine());
        }
    }
}

#[test]
fn without_its_fault_an_attempt_gets_a_whole_response() {
    let step = |text: &str| Step::try_from(text.to_owned()).unwrap();
    let mut steps = vec![step("send HTTP/1.1 "), step("!close")];
    leave_fault_out(&mut steps);
    assert_eq!(steps, [Step::fine()]);
    let mut steps = vec![
        step("ok"),
        step("!send HTTP/1.1 408 No\r\n\r\n"),
        step("close"),
    ];
    leave_fault_out(&mut steps);
    assert_eq!(steps, [Step::fine()]);
}

#[test]
fn each_case_says_that_its_fault_is_missing() {
    let wrong = each(&cases(), |case| {
        let run = run(&without_fault(case), Client::saint());
        // Without its fault, a case may not apply at all.
        let honest = matches!(run.verdict, Verdict::SetupFailed | Verdict::NotApplicable);
        (!honest).then(|| format!("{} {}: {}: {}", case.code, case.id, run.verdict, run.says))
    });
    assert_none(&wrong);
}

/// Each case passes with a sin that is another's, or the sin lets the case not apply.
fn assert_not_caught(pairs: &[(&Case, &str)]) {
    let wrong = each(pairs, |(case, sin)| {
        let is_fine = |verdict| matches!(verdict, Verdict::Pass | Verdict::NotApplicable);
        let run = run_until(case, || Client::sinner(sin), is_fine);
        (!is_fine(run.verdict)).then(|| {
            format!(
                "{} {} with {sin}: {}: {}",
                case.code, case.id, run.verdict, run.says
            )
        })
    });
    assert_none(&wrong);
}

/// Each case is tried with every sixteenth sin of other groups, and each sin with every sixteenth case of them.
const SAMPLE: usize = 16;

/// Pairs beyond the sample that a run of all pairs has found: each sinner committed another sin as well.
const FOUND: [(&str, &str); 2] = [
    ("RT02", "post-to-next-address"),
    ("RT05", "post-to-next-address"),
];

/// All sins of a case's own group, which resemble its own, and a sample of the others, which `HECATON_SEED` chooses.
/// `HECATON_PAIRS=all` takes all of them.
#[test]
fn no_case_catches_another_sin() {
    let cases = cases();
    let all = std::env::var_os("HECATON_PAIRS").is_some();
    let seed = std::env::var("HECATON_SEED").map_or(0, |seed| seed.parse().expect("a number"));
    let mut pairs: Vec<(&Case, &str)> = Vec::new();
    for (row, Case { sin, group, .. }) in cases.iter().enumerate() {
        let others = cases.iter().enumerate().filter(|(column, case)| {
            let tried = all
                || *group == case.group
                || (row + column) % SAMPLE == seed % SAMPLE
                || FOUND.contains(&(case.code.as_str(), sin));
            tried && case.sin != *sin && !SLOW.contains(&case.code.as_str())
        });
        pairs.extend(others.map(|(_, case)| (case, sin.as_str())));
    }
    println!("{} pairs of seed {seed}", pairs.len());
    assert_not_caught(&pairs);
}

/// Cases in which the saint waits for a limit. They are tried with the sins of time only, or this would take minutes.
const SLOW: [&str; 9] = [
    "TO01", "TO04", "TO05", "TO06", "TO07", "TO08", "TO09", "TO10", "TO12",
];

#[test]
fn no_slow_case_catches_another_sin_of_time() {
    let cases = cases();
    let slow: Vec<&Case> = cases
        .iter()
        .filter(|case| SLOW.contains(&case.code.as_str()))
        .collect();
    let of_time = |sin: &&&Case| sin.group == "timeouts" || sin.group == "retries";
    let sins: Vec<&str> = cases
        .iter()
        .filter(|case| of_time(&case))
        .map(|case| case.sin.as_str())
        .collect();
    let pairs: Vec<(&Case, &str)> = slow
        .iter()
        .flat_map(|case| sins.iter().map(move |sin| (*case, *sin)))
        .filter(|(case, sin)| case.sin != *sin)
        .collect();
    assert_not_caught(&pairs);
}

/// The texts of the sinner's code, and those of them that are certainly sins, because the code looks for them.
fn texts_of_the_sinner() -> (BTreeSet<String>, BTreeSet<String>) {
    let folder = root().join("crates/audit/src/clients");
    let folders = [folder.clone(), folder.join("http2"), folder.join("http3")];
    let entries = folders.iter().flat_map(|it| std::fs::read_dir(it).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    let sources = paths.filter(|path| path.is_file());
    let source: String = sources
        .map(|it| std::fs::read_to_string(it).unwrap())
        .collect();
    let after = |mark: &str| -> BTreeSet<String> {
        let pieces = source.split(mark).skip(1);
        let texts = pieces.filter_map(|piece| piece.split_once('"'));
        texts.map(|(text, _)| text.to_owned()).collect()
    };
    let sins = &after(".has(\"") | &after("sins(\"");
    (source.split('"').map(str::to_owned).collect(), sins)
}

#[test]
fn each_sin_proves_one_case() {
    let (texts, sins) = texts_of_the_sinner();
    let cases = cases();
    let used: Vec<String> = cases.iter().map(|case| case.sin.clone()).collect();
    let proved: BTreeSet<String> = used.iter().cloned().collect();
    assert_eq!(used.len(), proved.len(), "two cases have the same sin");
    let not_committed: Vec<_> = proved.difference(&texts).collect();
    assert!(not_committed.is_empty(), "{not_committed:?}");
    let not_proved: Vec<_> = sins.difference(&proved).collect();
    assert!(not_proved.is_empty(), "{not_proved:?}");
}

/// A small set to begin with has each kind of harm, and takes seconds.
#[test]
fn the_essential_cases_are_few_and_of_every_harm() {
    let all = cases();
    let (essential, others): (Vec<&Case>, Vec<&Case>) = all.iter().partition(|it| it.essential);
    let harms = |cases: &[&Case]| -> BTreeSet<Severity> {
        cases.iter().map(|case| case.severity).collect()
    };
    assert!((15..=25).contains(&essential.len()), "{}", essential.len());
    assert_eq!(harms(&essential), harms(&others));
}

#[test]
fn the_table_of_cases_is_up_to_date() {
    let path = root().join("docs/audit-cases.md");
    let table = table_of_cases(&cases());
    if std::env::var_os("HECATON_UPDATE").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let remaining = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        remaining == table,
        "docs/audit-cases.md is old; run HECATON_UPDATE=1 cargo test -p hecaton-audit --test cases"
    );
}

/// A driver that claims a response to each call, and makes none.
struct Liar;

impl Subject for Liar {
    fn name(&self) -> &str {
        "liar"
    }

    fn make(&mut self, _: &CallOptions) -> anyhow::Result<Reported> {
        Ok(Reported::Response {
            status: 200,
            bytes: 2,
            sha256: hash(b"ok"),
            ms: 1,
        })
    }
}

/// A driver that claims an error for each call, and makes none.
struct Idler;

impl Subject for Idler {
    fn name(&self) -> &str {
        "idler"
    }

    fn make(&mut self, _: &CallOptions) -> anyhow::Result<Reported> {
        Ok(Reported::Error {
            class: "Error".into(),
            text: String::new(),
            ms: 1,
        })
    }
}

/// The time that a driver claims, by the true one.
type Says = fn(u64) -> u64;

/// The saint with a driver that says how long its calls took in its own way, and that may need time for itself.
struct Clocked {
    saint: Client,
    beside: Duration,
    says: Says,
}

impl Subject for Clocked {
    fn name(&self) -> &str {
        "clocked"
    }

    fn make(&mut self, call: &CallOptions) -> anyhow::Result<Reported> {
        let mut reported = self.saint.make(call)?;
        std::thread::sleep(self.beside);
        if let Reported::Response { ms, .. } | Reported::Error { ms, .. } = &mut reported {
            *ms = (self.says)(*ms);
        }
        Ok(reported)
    }
}

/// The machine may be so busy that a driver starts or replies late. The log alone bounds the time that it claims for a call.
#[test]
fn a_claim_about_time_is_refuted_by_the_log_alone() {
    let late = cases().into_iter().find(|case| case.id == "late-response");
    let mut case = late.unwrap();
    for call in &mut case.calls {
        call.timeout_ms = Some(60_000); // the response comes after 1.5 s
    }
    let table: [(u64, Says, Option<&str>); 4] = [
        (0, |ms| ms, None),
        (3500, |ms| ms, None),
        (0, |_| 0, Some("and the server began to send one after")),
        (0, |ms| ms + 60_000, Some("and its reply came after")),
    ];
    for (beside, says, refuted) in table {
        let mut driver = Clocked {
            saint: Client::saint(),
            beside: Duration::from_millis(beside),
            says,
        };
        let run = once(&case, &mut driver, Duration::ZERO).unwrap();
        let is_refuted = run.says.contains("The driver claims");
        assert_eq!(is_refuted, refuted.is_some(), "{beside}: {}", run.says);
        assert!(
            refuted.is_none_or(|words| run.says.contains(words)),
            "{}",
            run.says
        );
    }
}

#[test]
fn a_driver_that_sends_nothing_passes_nothing() {
    let cases = cases();
    let wrong = each(&cases, |case| {
        let liar = once(case, &mut Liar, Duration::ZERO).unwrap();
        let idler = once(case, &mut Idler, Duration::ZERO).unwrap();
        let passed = liar.verdict == Verdict::Pass || idler.verdict == Verdict::Pass;
        passed.then(|| {
            format!(
                "{} {}: {}: {}; {}: {}",
                case.code, case.id, liar.verdict, liar.says, idler.verdict, idler.says
            )
        })
    });
    assert_none(&wrong);
}
