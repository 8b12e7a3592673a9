//! A benchmark as a view: one client beside its peers, part by part, and the goals that it is held against.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::builds::{self, Builds};
use super::common::*;
use super::form::*;
use crate::findings::words::*;
use crate::findings::*;
use crate::ledger::{Document, Environment};
use crate::spec::BASELINE_LOADER;

/// The question of a benchmark of the gem beside its peers.
const QUESTION: &str = "How does the gem compare with its peers?";

/// Stands behind the name of a client in such a row.
const NEW_CONNECTIONS: (&str, &str) = ("*", "a new connection for each request");

/// How the page is read.
const HOW_TO_READ: &str = "Each part is a run of its own, whose page says more. Ratios compare rounds of the same block. A goal is met or missed by its \
               figure; where the limit lies within the interval, that is said beside it.";

/// Columns that only the page of each part has.
const DETAILS: [&str; 2] = ["TCP\nconns", "peak in\nflight"];

/// One part of a benchmark: a run, and the client that it is about.
pub struct Part<'a> {
    /// What it measures.
    pub title: &'a str,
    /// The client whose speed is divided by each other's.
    pub subject: &'a str,
    /// The run.
    pub run: &'a Document,
}

/// All parts, then what became of the goals, in sentences, and what was left out. The goals of two builds follow from
/// the parts.
pub fn bench(parts: &[Part], goals: &[String], missing: &[String]) -> View {
    let builds = Builds::of(parts);
    let mut gathered = Gathered::default();
    for part in parts {
        gathered.add(part, builds.is_none());
    }
    let led = &gathered.led;
    let finding = match &builds {
        Some(builds) => builds.finding(),
        None => finding(goals, led),
    };
    let view = View {
        finding,
        question: builds.as_ref().map_or(QUESTION, |_| builds::QUESTION),
        job: job(parts.len(), led.len()),
        facts: gathered.facts,
        sections: sections(parts, builds, goals, missing, gathered.sections),
        records: gathered.records,
        ..View::default()
    };
    let Some(first) = parts.first().map(|part| part.run) else {
        return view;
    };
    View {
        command: Some(first.command.clone()),
        machine: machine_words(&first.environment),
        date: first.environment.date.clone(),
        ..view
    }
}

/// Where it was measured, what became of the goals, and the parts; a terminal ends with the goals.
fn sections(
    parts: &[Part],
    builds: Option<Builds>,
    goals: &[String],
    missing: &[String],
    of_parts: Vec<Section>,
) -> Vec<Section> {
    let said = |media| match &builds {
        Some(builds) => builds.sections(media),
        None => vec![Section::new("Goals", media, vec![Verdict::list(goals)])],
    };
    let mut sections: Vec<Section> = parts.first().map(measured_on).into_iter().collect();
    if builds.is_some() || !goals.is_empty() {
        sections.extend(said(Media::PAPER));
    }
    sections.extend(of_parts);
    sections.extend(said(Media::TERMINAL));
    sections.extend(without(missing));
    let ending = |first: &Part| ending(first.run, HOW_TO_READ.into());
    sections.extend(parts.first().map(ending).unwrap_or_default());
    sections
}

/// The machine of the first part, which is that of all.
fn measured_on(first: &Part) -> Section {
    let lines = machine(&first.run.environment).map(|line| [String::new(), line]);
    let list = Block::List(Tone::Plain, lines.to_vec());
    Section::new("Measured on", Media::TEXT, vec![list])
}

/// The contents of the parts, one after the other.
#[derive(Default)]
struct Gathered {
    sections: Vec<Section>,
    records: Vec<Value>,
    facts: Vec<Fact>,
    /// For each part with other clients: whether the gem is the fastest.
    led: Vec<bool>,
}

impl Gathered {
    fn add(&mut self, part: &Part, has_chart: bool) {
        let findings = judge_run(part.run);
        let chart = speeds(part, &findings).filter(|_| has_chart);
        let charts = Block::Charts(chart.into_iter().map(Chart::Bars).collect());
        let tables = || tables(part, &findings).into_iter().map(Block::Table);
        let on_page = std::iter::once(charts).chain(tables()).collect();
        let section = |media, blocks| Section::new(part.title, media, blocks);
        self.sections.push(section(Media::PAGE, on_page));
        self.sections.push(section(Media::TEXT, tables().collect()));
        self.sections.extend(of_rejected(part, &findings));
        self.led.extend(is_led(part, &findings));
        let facts = facts(part.run, &trust(part.run, &findings)).into_iter();
        let warnings = facts.filter(|fact| fact.tone == Tone::Warning);
        let of_part = |fact: Fact| Fact::new(fact.tone, format!("{}: {}", part.title, fact.words));
        self.facts.extend(warnings.map(of_part));
        let records = findings.rows.iter().map(|row| record(part, row));
        self.records.extend(records);
    }
}

/// How many parts there are, and how many of them have only clients of this project.
fn job(all: usize, led: usize) -> String {
    let runs = match all {
        1 => "1 part, a run of its own".into(),
        _ => format!("{}, each a run of its own", plural(all as u64, "part")),
    };
    match all - led {
        alone if alone == 0 || alone == all => runs,
        1 => format!("{runs}; 1 has no other client"),
        alone => format!("{runs}; {alone} have no other client"),
    }
}

/// In how many of the parts with other clients the gem is the fastest, and how many goals there are.
fn finding(goals: &[String], led: &[bool]) -> String {
    let first = led.iter().filter(|first| **first).count();
    let parts = match led.len() as u64 {
        0 => "The gem compared with its peers".to_owned(),
        1 if first == 1 => "The gem is the fastest client".to_owned(),
        all => format!(
            "The gem is the fastest in {first} of {}",
            plural(all, "part")
        ),
    };
    match (goals.len() as u64, led.len()) {
        (0, 0) => String::new(),
        (0, _) => parts,
        (all, _) => format!("{parts}, and {}", plural(all, "goal")),
    }
}

/// Whether the fastest client of a part has the engine of its subject; none if all clients have it.
fn is_led(part: &Part, findings: &Findings) -> Option<bool> {
    let clients = &part.run.environment.clients;
    let engine = |client: &str| clients.get(client).map(|record| record.engine.as_str());
    let own = |row: &&Row| engine(&row.client) == engine(part.subject);
    let ranked = |row: &&Row| row.rejected.is_none() && row.client != BASELINE_LOADER;
    let rows: Vec<&Row> = findings.rows.iter().filter(ranked).collect();
    if rows.iter().all(own) {
        return None;
    }
    let by_speed = |a: &&&Row, b: &&&Row| a.requests_per_second.total_cmp(&b.requests_per_second);
    rows.iter().max_by(by_speed).map(own)
}

/// Where it was measured, in two lines: figures of a busy machine mean little.
fn machine(environment: &Environment) -> [String; 2] {
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    let (processor, kernel) = (known(&environment.processor), known(&environment.kernel));
    let load = environment.load_average;
    let load = load.map(|load| format!(", load average {load} before the run"));
    let load = load.unwrap_or_default();
    let cores = plural(environment.cores as u64, "core");
    let date = moment(&environment.date);
    [
        format!("{processor}, kernel {kernel}"),
        format!("{cores}{load}, {date}"),
    ]
}

/// The speeds with the smallest body at the concurrency where the subject is the fastest. None if all rows have the
/// engine of the subject.
fn speeds(part: &Part, findings: &Findings) -> Option<Bars> {
    is_led(part, findings)?;
    let bytes = findings.rows.iter().map(|row| row.load.body_bytes).min()?;
    let faster = |a: &&Row, b: &&Row| a.requests_per_second.total_cmp(&b.requests_per_second);
    let ranked = findings.rows.iter();
    let ranked = ranked.filter(|row| row.rejected.is_none() && row.load.body_bytes == bytes);
    let own = ranked.clone().filter(|row| row.client == part.subject);
    let concurrency = own.max_by(faster)?.load.concurrency;
    let mut rows: Vec<&Row> = ranked
        .filter(|row| row.load.concurrency == concurrency)
        .collect();
    rows.sort_by(|a, b| faster(b, a));
    let bars: Vec<Bar> = rows.iter().map(|row| speed_bar(part.run, row)).collect();
    let at = format!("{}, {}", body_words(bytes), in_flight_words(&[concurrency]));
    Some(Bars {
        name: part.title.to_owned(),
        heading: capital(&at),
        title: format!("Requests per second of each client, {at}"),
        unit: "requests/s".into(),
        signs: names(&rows).chain(signs(part.run, &bars)).collect(),
        groups: Group::all(bars),
        caption: BAR_ENDS.into(),
        ..Bars::default()
    })
}

/// The meaning of the baseline loader's name, and of the sign behind other names.
fn names(rows: &[&Row]) -> impl Iterator<Item = Sign> {
    let (mark, meaning) = NEW_CONNECTIONS;
    let loader = rows.iter().find(|row| row.is_baseline_loader());
    let loader = loader.map(|row| format!("{}: {LOADER}", name(&row.client)));
    let new = rows.iter().any(|row| !row.load.keepalive);
    let new = new.then(|| format!("{mark}: {meaning}"));
    [loader, new].into_iter().flatten().map(Sign::Name)
}

fn speed_bar(run: &Document, row: &Row) -> Bar {
    let ours = runs_our_engine(run, &row.client);
    Bar {
        name: named(row),
        value: row.requests_per_second,
        range: speed_range(row),
        label: figure(row.requests_per_second),
        colour: Colour::of(0, !ours),
        ours,
        language: language(run, &row.client),
        ..Bar::default()
    }
}

/// The name of a row's client, with a sign if it opens a connection for each request.
fn named(row: &Row) -> String {
    match row.load.keepalive {
        true => name(&row.client),
        false => format!("{}\u{a0}{}", name(&row.client), NEW_CONNECTIONS.0),
    }
}

/// A table for every body, the fastest first at each concurrency.
fn tables(part: &Part, findings: &Findings) -> Vec<Table> {
    let bodies = findings.rows.iter().map(|row| row.load.body_bytes);
    let bodies: BTreeSet<usize> = bodies.collect();
    let of = |bytes: usize| {
        let rows = findings.rows.iter();
        let mut rows: Vec<&Row> = rows.filter(|row| row.load.body_bytes == bytes).collect();
        rows.sort_by(|a, b| {
            let rank = |row: &Row| (row.load.concurrency, row.rejected.is_some());
            let speed = || b.requests_per_second.total_cmp(&a.requests_per_second);
            rank(a).cmp(&rank(b)).then_with(speed)
        });
        table(part, bytes, &rows)
    };
    bodies.into_iter().map(of).collect()
}

fn table(part: &Part, bytes: usize, rows: &[&Row]) -> Table {
    let line = |line: &mut Line, row: &&Row| {
        line.look = look(row, false);
        line.language = language(part.run, &row.client);
        let before = rows.iter().take_while(|other| *other != row).last();
        line.apart = before.is_some_and(|before| before.load.concurrency != row.load.concurrency);
    };
    let title = format!("{}, {}", part.title, body_words(bytes));
    Table::of(&title, rows, columns(part, bytes, rows))
        .each(rows, line)
        .marks(&[
            INTERVAL,
            RANGE,
            NEW_CONNECTIONS,
            REJECTED,
            UNVERIFIED,
            REOPENED,
        ])
        .notes(newer(part.run))
}

fn columns<'a>(part: &Part<'a>, bytes: usize, rows: &'a [&Row]) -> Vec<Shown<'a, &'a Row>> {
    let Part { subject, run, .. } = *part;
    let client = format!("client,\n{}", body_words(bytes));
    let ratio = format!("{}\n÷ this", builds::own(part).unwrap_or(subject));
    let against = move |row: &&Row| against(row, rows, run, subject);
    let mut columns = vec![
        col(&client, 0, |row: &&Row| named(row)).words(),
        col("concur-\nrency", 0, |row: &&Row| {
            count(row.load.concurrency)
        }),
    ];
    let mut figures = figures(|row: &&Row| *row).into_iter();
    columns.extend(figures.next());
    columns.push(col(&ratio, 0, against).intervals(2));
    columns.extend(figures.map(without_details));
    columns.extend(standing(|row: &&Row| *row, |_| false));
    columns
}

/// Leaves out of the page what the page of the part has too: the page of all parts must fit on a screen.
fn without_details<'a, T: 'a>(column: Shown<'a, T>) -> Shown<'a, T> {
    match DETAILS.contains(&column.title()) {
        true => column.on(Media::TEXT),
        false => column,
    }
}

/// How many times faster the subject is than a row, in the subject's row at the same load.
fn against(row: &Row, rows: &[&Row], run: &Document, subject: &str) -> String {
    let own = |other: &&&Row| {
        other.client == subject
            && other.load.concurrency == row.load.concurrency
            && other.load.keepalive
    };
    let Some(own) = rows.iter().find(own).filter(|own| own.cell() != row.cell()) else {
        return NONE.into();
    };
    match [own, row].into_iter().find(|row| row.rejected.is_some()) {
        Some(row) => format!("{} rejected", row.client),
        None => optional(ratio(&run.rounds, &own.cell(), &row.cell()), |found| {
            ratio_words(&found)
        }),
    }
}

fn of_rejected(part: &Part, findings: &Findings) -> Option<Section> {
    rejected_rows(&format!("{}: rejected", part.title), findings)
}

fn record(part: &Part, row: &Row) -> Value {
    let mut record = json!({ "part": part.title });
    if let (Some(fields), Value::Object(own)) = (record.as_object_mut(), json!(row)) {
        fields.extend(own);
    }
    record
}

/// Facts about a run's machine, versions and plan, by key.
pub(super) fn known(run: &Document) -> Vec<(String, String)> {
    let mut pairs = flat("", &json!(run.environment));
    pairs.extend(flat("plan", &json!(run.plan)));
    pairs.retain(|(key, _)| key != "date");
    pairs
}
