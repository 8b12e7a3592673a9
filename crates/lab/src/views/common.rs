//! Parts shared by several views: columns of rows, symbols, the server's view, clients and machine.

use std::time::Duration;

use hecaton_test_server::Delay;
use serde_json::{Value, json};

use super::form::*;
use crate::findings::stats::Estimate;
use crate::findings::words::*;
use crate::findings::*;
use crate::ledger::{ClientRecord, Document, Environment};
use crate::spec::{BASELINE_LOADER, NEWER};

/// The symbols behind a row, and their meaning.
pub(super) const RECOMMENDED: (&str, &str) = ("◀", "recommended");
pub(super) const REJECTED: (&str, &str) = ("✗", "rejected, see below");
pub(super) const UNVERIFIED: (&str, &str) = ("~", "unverified");
pub(super) const REOPENED: (&str, &str) = (
    "↻",
    "does not keep its connections, and opens new ones in its rounds: see the warning",
);

/// All of them.
pub(crate) const SIGNS: [(&str, &str); 4] = [RECOMMENDED, REJECTED, UNVERIFIED, REOPENED];

/// The meaning of brackets and parentheses.
pub(super) const INTERVAL: (&str, &str) = ("[ ]", "95 % confidence interval");
pub(super) const RANGE: (&str, &str) = (
    "( )",
    "the range of all rounds: fewer than six are too few for a confidence interval",
);

/// The title of [`of_loader`].
pub(super) const OF_LOADER: &str = "of\nloader";

/// The baseline loader in a few words.
pub(super) const LOADER: &str = "the lab's own driver, which parses nothing";

/// A row's speed as a share of the baseline loader's.
pub(super) fn of_loader<'a, T: 'a>(
    rank: u8,
    share: impl Fn(&T) -> Option<f64> + 'a,
) -> Shown<'a, T> {
    col(OF_LOADER, rank, move |it| optional(share(it), percent)).means(format!(
        "the share of the requests/s of the baseline loader ({LOADER}) at the same concurrency"
    ))
}

/// The figures of a row, the same in every table of rows. Two of them would make a page wider than a screen.
pub(super) fn figures<'a, T: 'a>(row: fn(&T) -> &Row) -> Vec<Shown<'a, T>> {
    let known = |value: fn(&Row) -> Option<f64>| move |it: &T| optional(value(row(it)), small);
    let seen = |value: fn(&Row) -> Option<u64>| move |it: &T| optional(value(row(it)), count);
    #[rustfmt::skip]
    let columns = vec![
        col("requests\nper s", 0, move |it| figure(row(it).requests_per_second)),
        col("CPU\n%", 1, move |it| figure(row(it).cpu_percentage)),
        col("CPU ms\n/ req.", 2, known(|row| row.cpu_ms_per_request)),
        col("outside\nrounds, %", 6, known(|row| row.cpu_outside_percentage)).on(Media::TEXT),
        col("p50\nms", 3, known(|row| row.p50_ms)),
        col("p99\nms", 3, move |it| p99_words(row(it))).intervals(9),
        col("peak\nMB", 4, move |it| figure(row(it).peak_rss_mb)),
        of_loader(2, move |it| row(it).baseline_loader_ratio),
        col("TCP\nconns", 6, seen(|row| row.connections)),
        col("opened\n/ req.", 6, known(|row| row.opened_per_request)).on(Media::TEXT),
        col("in flight,\nmean", 8, known(|row| row.in_flight)).on(Media::TEXT),
        col("peak in\nflight", 6, seen(|row| row.peak_in_flight)),
        col("errors", 7, move |it| count(row(it).errors)),
        col("dupli-\ncates", 7, seen(|row| row.duplicates)),
    ];
    columns
}

/// The log's verdict on a row: a symbol where there is little space, words on a page.
pub(super) fn standing<'a, T: 'a>(
    row: fn(&T) -> &Row,
    recommended: impl Fn(&Row) -> bool + 'a,
) -> Vec<Shown<'a, T>> {
    let words = move |it: &T| match (&row(it).rejected, row(it).verified) {
        (Some(_), _) => "rejected",
        (None, true) => "agrees",
        (None, false) if row(it).logged => "numbers agree",
        (None, false) => "unverified",
    };
    let mark = move |it: &T| {
        let doubt = match words(it) {
            "rejected" => REJECTED.0,
            "agrees" | "numbers agree" => "",
            _ => UNVERIFIED.0,
        };
        let advice = if recommended(row(it)) {
            RECOMMENDED.0
        } else {
            ""
        };
        format!("{doubt}{}{advice}", reopens(row(it)))
    };
    let log = col("server's\nlog", 0, move |it| signed(words(it), row(it)));
    vec![
        col("", 0, mark).words().on(Media::TEXT),
        log.words().on(Media::PAGE),
    ]
}

/// The sign of a ranked row that does not keep its connections.
pub(super) fn reopens(row: &Row) -> &'static str {
    let reopened = row.reopened.as_ref().filter(|_| row.rejected.is_none());
    reopened.map_or("", |_| REOPENED.0)
}

/// A text with that sign behind it, if the row has it.
pub(super) fn signed(text: &str, row: &Row) -> String {
    format!("{text} {}", reopens(row)).trim_end().to_owned()
}

/// How a row looks among others.
pub(super) fn look(row: &Row, recommended: bool) -> Look {
    match (&row.rejected, recommended) {
        (Some(_), _) => Look::Rejected,
        (None, true) => Look::Recommended,
        (None, false) => Look::Plain,
    }
}

/// A 99th percentile with its interval in brackets.
pub(super) fn p99_words(row: &Row) -> String {
    match (row.p99_ms, row.p99_low_ms, row.p99_high_ms) {
        (Some(p99), Some(low), Some(high)) => {
            format!("{} [{}–{}]", small(p99), small(low), small(high))
        }
        (p99, ..) => optional(p99, small),
    }
}

/// Milliseconds and seconds reach down to thousandths.
pub(super) fn small(value: f64) -> String {
    if value < 0.1 {
        format!("{value:.3}")
    } else {
        figure(value)
    }
}

pub(super) fn optional<T>(value: Option<T>, write: impl Fn(T) -> String) -> String {
    value.map_or_else(|| NONE.into(), write)
}

/// A ratio with its interval in brackets, or with the range of too few rounds in parentheses.
pub(super) fn ratio_words(found: &Estimate) -> String {
    format!(
        "{} {}",
        times(found.value),
        between(found, |ratio| times(ratio).trim_end_matches('×').to_owned())
    )
}

pub(super) fn between(found: &Estimate, write: impl Fn(f64) -> String) -> String {
    let (low, high) = (write(found.low), write(found.high));
    match found.confidence {
        Some(_) => format!("[{low}–{high}]"),
        None => format!("({low}–{high})"),
    }
}

/// The interval of a row's speed, never excluding the figure that is printed for it.
pub(super) fn speed_range(row: &Row) -> (f64, f64) {
    let speed = row.requests_per_second;
    row.speed.map_or((speed, speed), |own| {
        (own.low.min(speed), own.high.max(speed))
    })
}

/// A row's speed in words.
pub(super) fn speed_words(row: &Row) -> String {
    let speed = figure(row.requests_per_second);
    let spread = row
        .speed
        .map(|speed| format!(" {}", between(&speed, figure)));
    let rejected = row.rejected.as_ref();
    let reason = rejected.map(|reason| format!("; rejected: {reason}"));
    let (spread, reason) = (spread.unwrap_or_default(), reason.unwrap_or_default());
    format!("{speed} requests/s{spread}{reason}")
}

/// The name of a client, with what it is where it is none.
pub(super) fn name(client: &str) -> String {
    match client == BASELINE_LOADER {
        true => client.replace('-', " "),
        false => client.to_owned(),
    }
}

/// What the beginning of a client's name means, if it says that the client has newer packages.
pub(super) fn newer(run: &Document) -> Option<String> {
    let clients = &run.environment.clients;
    let (_, first) = clients.iter().find(|(name, _)| name.starts_with(NEWER))?;
    let runtime = &first.runtime;
    Some(format!(
        "{NEWER}…: {runtime} with current libraries (bin/setup current-ruby)"
    ))
}

/// How the ends of bars are drawn.
pub(super) const BAR_ENDS: &str = "Median of the rounds; the line at a bar's end is its interval.";

/// The meaning of names in bold and of the beginnings of names, where bars have such names.
pub(super) fn signs(run: &Document, bars: &[Bar]) -> Vec<Sign> {
    let bold = bars.iter().any(|bar| bar.ours);
    let bold = bold.then(|| Sign::Bold("bold: runs Hecaton's engine".into()));
    bold.into_iter().chain(newer(run).map(Sign::Name)).collect()
}

/// How many requests are in flight: `1 request in flight`, or `1, 50 and 200 requests in flight`.
pub(super) fn in_flight_words(concurrencies: &[usize]) -> String {
    let all: Vec<String> = concurrencies.iter().map(|each| count(*each)).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let noun = if concurrencies == [1] {
        "request"
    } else {
        "requests"
    };
    format!("{} {noun} in flight", listed(&all))
}

/// The engine that drivers of this project's own clients report.
const OUR_ENGINE: &str = "hecaton";

/// Whether a client runs this project's engine, such as its adapters for other libraries.
pub(super) fn runs_our_engine(run: &Document, client: &str) -> bool {
    let record = run.environment.clients.get(client);
    record.is_some_and(|record| record.engine == OUR_ENGINE)
}

/// Whether a title may compare the first client with the other. They must be two clients, and only one of them may run
/// this project's engine.
pub(super) fn is_next(run: &Document, first: &str, other: &str) -> bool {
    other != first && !(runs_our_engine(run, first) && runs_our_engine(run, other))
}

pub(super) fn language(run: &Document, client: &str) -> Option<String> {
    run.environment.clients.get(client)?.language.clone()
}

pub(super) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase());
    let first = first.into_iter().flatten();
    first.chain(characters.as_str().chars()).collect()
}

/// The findings, or the fact that the run is unfinished.
pub(super) fn verdicts(run: &Document, found: impl FnOnce() -> Block) -> Block {
    match run.unfinished {
        Some(_) => Block::Verdicts(vec![Verdict {
            subject: String::new(),
            words: "No verdict: measure it again to its end.".into(),
            colour: Colour::None,
        }]),
        None => found(),
    }
}

/// The server's view. Problems are shown and the rest is folded; empty if no server had a log.
pub(super) fn seen(what: &str, lines: &[Witnessed]) -> Vec<Section> {
    if lines.iter().all(|line| line.seen.is_none()) {
        return Vec::new();
    }
    let (wrong, right): (Vec<&Witnessed>, Vec<&Witnessed>) =
        lines.iter().partition(|line| line.wrong);
    let shown = |lines: &[&Witnessed]| {
        let table = Block::Table(witnessed(what, lines));
        vec![Block::Note(OF_THE_LOG.into()), table]
    };
    let section = |title, blocks| Section::new(title, Media::PAGE, blocks);
    let (first, rest) = match wrong.is_empty() {
        true => (vec![Block::Note(AGREES.into())], ", by client"),
        false => (shown(&wrong), " of the other clients"),
    };
    let mut sections = vec![section(WITNESSED.to_owned(), first)];
    if !right.is_empty() {
        sections.push(section(format!("{WITNESSED}{rest}"), shown(&right)).folded());
    }
    sections
}

const WITNESSED: &str = "What the server saw";
const AGREES: &str = "The server's log contradicts no row.";
const OF_THE_LOG: &str = "All rounds together, as the server's log has them; only \u{201c}failed\u{201d} and \u{201c}timed out\u{201d} are what the driver says itself.";

/// The server's view of some rows, which are named by `what`.
fn witnessed(what: &str, lines: &[&Witnessed]) -> Table {
    let fact = |title: &str, of_ids: bool, value: fn(&Truth) -> u64| {
        // Requests of a load generator have no ids, so the log cannot recognise foreign or repeated ones.
        col(title, 0, move |line: &&Witnessed| {
            let known = line.seen.as_ref().filter(|_| !line.reference || !of_ids);
            optional(known, |seen| count(value(seen)))
        })
    };
    #[rustfmt::skip]
    let columns = vec![
        col(what, 0, |line: &&Witnessed| line.name.clone()).words(),
        fact("requests\nplanned", false, |truth| truth.planned),
        fact("arrived", true, |truth| truth.arrived),
        fact("arrived\nagain", true, |truth| truth.again),
        fact("not\nplanned", true, |truth| truth.foreign),
        fact("failed, it\nsays", false, |truth| truth.failed),
        fact("timed out,\nit says", false, |truth| truth.timed_out),
        fact("most con-\nnections", true, |truth| truth.connections),
        fact("opened in\nrounds", false, |truth| truth.opened),
        fact("in flight,\nplanned", false, |truth| truth.concurrency),
        fact("most in\nflight", false, |truth| truth.in_flight),
        col("server's\nlog", 0, |line: &&Witnessed| line.ledger.clone()).words(),
    ];
    let table = Table::of(WITNESSED, lines, columns);
    table.each(lines, |line, it| line.look = Look::rejected(it.wrong))
}

/// Rows with their reasons; none when there are none.
pub(super) fn rejected(title: &str, items: Vec<[String; 2]>) -> Option<Section> {
    (!items.is_empty())
        .then(|| Section::new(title, Media::ALL, vec![Block::List(Tone::Warning, items)]))
}

/// The rejected rows of a run, each with its client and load.
pub(super) fn rejected_rows(title: &str, findings: &Findings) -> Option<Section> {
    let item = |row: &Row| {
        let reason = row.rejected.as_ref()?;
        let row = format!("{}, {}", row.client, load(row, true));
        Some([row, format!("{reason}.")])
    };
    rejected(title, findings.rows.iter().filter_map(item).collect())
}

/// The title of those where the others are ranked.
pub(super) const NOT_RANKED: &str = "Rejected: shown, not ranked";

/// Sentences that stand at the end, in every medium.
pub(super) fn left_out(run: &Document) -> Option<Section> {
    without(&run.left_out)
}

/// The section about clients that were left out, a sentence each.
pub(super) fn without(missing: &[String]) -> Option<Section> {
    let items = missing.iter().map(|why| [String::new(), why.clone()]);
    rejected("Left out", items.collect())
}

/// The end of every page of a run: how to read it, how to repeat it, the clients and the machine.
pub(super) fn ending(run: &Document, how_to_read: String) -> Vec<Section> {
    let mut command = super::again::again(&run.command);
    if !command.contains("--seed") {
        command += &format!(" --seed {}", run.plan.seed);
    }
    let mut sections = vec![
        Section::new(
            "How to read this",
            Media::PAGE,
            vec![Block::Note(how_to_read)],
        )
        .folded(),
        Section::new("Measure it again", Media::PAGE, vec![Block::Code(command)]),
    ];
    if !run.environment.clients.is_empty() {
        let table = clients(run);
        sections.push(Section::new("Clients", Media::PAGE, vec![Block::Table(table)]).folded());
    }
    let mut machine = serde_json::to_value(&run.environment).unwrap_or_default();
    machine["clients"] = Value::Null;
    let pairs = flat("", &machine);
    let table = Block::Table(Table::pairs("Environment", &pairs));
    sections.push(Section::new("Environment", Media::PAGE, vec![table]).folded());
    sections
}

/// The clients with version and approach.
fn clients(run: &Document) -> Table {
    type Client<'a> = (&'a String, &'a ClientRecord);
    let all: Vec<Client> = run.environment.clients.iter().collect();
    let words = |title: &str, value: fn(&Client) -> String| col(title, 0, value).words();
    #[rustfmt::skip]
    let columns = vec![
        words("client", |it| name(it.0)),
        words("language", |it| optional(it.1.language.clone(), |name| name)),
        words("used as", |it| optional(it.1.approach, |approach| approach.words().into())),
        words("version", |it| it.1.version.clone()),
        words("runtime", |it| it.1.runtime.clone()),
        words("engine", |it| it.1.engine.clone()),
        words("in flight by", |it| it.1.models.join(", ")),
        words("retries", |it| it.1.retries.clone()),
    ];
    let table = Table::of("Clients", &all, columns);
    table.each(&all, |line, (_, client)| {
        line.language = client.language.clone()
    })
}

/// Nested keys as `pinning › client core`; what is not known is left out.
pub(super) fn flat(prefix: &str, value: &Value) -> Vec<(String, String)> {
    let text = match value {
        Value::Object(fields) => {
            let words = |key: &str| match key.strip_suffix("_kib") {
                Some(what) => format!("{}, KiB", what.replace('_', " ")),
                None => key.replace('_', " "),
            };
            let path = |key: &str| match prefix {
                "" => words(key),
                prefix => format!("{prefix} › {}", words(key)),
            };
            return fields
                .iter()
                .flat_map(|(key, value)| flat(&path(key), value))
                .collect();
        }
        Value::Null => String::new(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => plain(other),
    };
    if text.is_empty() {
        Vec::new()
    } else {
        vec![(prefix.to_owned(), text)]
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// A view of one run, with what every such view has.
pub(super) fn of_run(run: &Document, findings: &Findings) -> View {
    View {
        command: Some(run.command.clone()),
        machine: machine_words(&run.environment),
        date: run.environment.date.clone(),
        facts: facts(run, &trust(run, findings)),
        records: findings.rows.iter().map(|row| json!(row)).collect(),
        ..View::default()
    }
}

/// Version, processor and cores, for the top of a page.
pub(super) fn machine_words(environment: &Environment) -> String {
    let processor = environment.processor.as_deref();
    let cores = plural(environment.cores as u64, "core");
    let machine = processor.map_or(cores.clone(), |name| format!("{name}, {cores}"));
    let server = match &environment.test_server {
        Some(address) => format!(" · the test server on another machine, {address}"),
        None => String::new(),
    };
    format!("{} · {machine}{server}", environment.hecaton)
}

/// The delay of the test server's responses, in words.
pub(super) fn delay_words(delay: &Delay) -> String {
    let ms = |duration: &Duration| duration.as_nanos() as f64 / 1e6;
    match delay {
        Delay::None => "no delay".into(),
        Delay::Fixed(delay) => format!("delay {} ms", ms(delay)),
        Delay::Uniform { from, to } => format!("delay {} to {} ms", ms(from), ms(to)),
        Delay::Exponential { mean } => format!("exponential delay, {} ms on average", ms(mean)),
        Delay::LogNormal { p50, p99 } => format!("delay p50 {} ms, p99 {} ms", ms(p50), ms(p99)),
    }
}

/// How intervals of a speed-up are written beside it.
pub(super) fn speedup(found: Option<Estimate>) -> String {
    optional(found, |found| {
        format!("{} {}", times(found.value), interval(&found))
    })
}
