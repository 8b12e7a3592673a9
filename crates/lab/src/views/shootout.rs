//! A shootout as a view: every client at one job, ranked.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::common::*;
use super::form::*;
use super::warnings::warnings;
use crate::findings::words::*;
use crate::findings::*;
use crate::ledger::Document;
use crate::spec::{Approach, Job, Target};

/// Stands behind the name of a client that is set up for speed, and what that means.
const TUNED: (&str, &str) = (
    "*",
    "set up for speed; all others as their documentation shows them",
);

/// How the columns of seconds are read.
const SECONDS: &str = "Seconds are of all rounds together: user and system are CPU time, real is what the clock shows. First and boot are \
                       the first request and the start of a new process, medians over its invocations.";

/// The whole view.
pub(super) fn view(run: &Document, findings: &Findings, ranking: &Ranking) -> View {
    let mut trust = trust(run, findings);
    // One that broke on the way has rows that agree, and is not ranked.
    trust.rejected = ranking.rejected.len();
    let mut facts = facts(run, &trust);
    facts.push(Fact::new(Tone::Plain, numbers(ranking)));
    let mut sections = summary(run, ranking);
    sections.extend(details(run, ranking));
    View {
        finding: ranking.verdict.clone(),
        question: "Which client is the fastest?",
        job: job(run),
        facts,
        sections,
        records: records(ranking),
        ..of_run(run, findings)
    }
}

/// The sections that each medium begins with.
fn summary(run: &Document, ranking: &Ranking) -> Vec<Section> {
    let all: Vec<&Entry> = ranking.ranked.iter().chain(&ranking.outside).collect();
    let table = Block::Table(table(run, ranking, &all));
    let said = sentences(ranking);
    let section = |title, media, block| Section::new(title, media, vec![block]);
    let sentences = |title, media| section(title, media, verdicts(run, || Verdict::list(&said)));
    let mut sections = vec![sentences("", Media::MARKDOWN)];
    if !ranking.ranked.is_empty() {
        let chart = Block::Charts(vec![Chart::Bars(bars(run, ranking))]);
        sections.push(section("Requests per second", Media::PAGE, chart));
    }
    sections.push(sentences("", Media::PAGE));
    sections.push(section("", Media::TEXT, table));
    sections.push(sentences("Verdict", Media::TERMINAL));
    sections
}

/// The sections below: the server's log, rejections, warnings, all figures, and the end of the page.
fn details(run: &Document, ranking: &Ranking) -> Vec<Section> {
    let everyone: Vec<&Entry> = ranking.all().collect();
    let witnessed = |entry: &&Entry| Witnessed::of(named(run, entry), run, [&entry.row]);
    let lines: Vec<Witnessed> = everyone.iter().map(witnessed).collect();
    let mut sections = seen("client", &lines);
    let items = ranking.rejected.iter().map(|entry| {
        let speed = figure(entry.row.requests_per_second);
        let words = format!("{speed} requests/s: {}", reason(run, entry));
        [entry.row.client.clone(), words]
    });
    sections.extend(rejected(NOT_RANKED, items.collect()));
    sections.extend(warnings(run, ranking.ranked.iter().map(|entry| &entry.row)));
    let table = Block::Table(table(run, ranking, &everyone));
    let figures = vec![Block::Note(SECONDS.into()), table];
    sections.push(Section::new("All figures", Media::PAGE, figures).folded());
    sections.extend(left_out(run));
    sections.extend(ending(run, how_to_read(run)));
    sections
}

/// How many there are of each kind, so that every number of clients can be found again.
fn numbers(ranking: &Ranking) -> String {
    let (ranked, rejected) = (ranking.ranked.len(), ranking.rejected.len());
    let generators = ranking.outside.iter().filter(|entry| entry.reference);
    let generators = generators.count() as u64;
    let clients = plural((ranked + rejected) as u64, "client");
    let mut words = format!("{clients}: {ranked} ranked, {rejected} rejected");
    if loader(ranking).is_some() {
        words += "; beside them the baseline loader";
    }
    if generators > 0 {
        let generators = plural(generators, "load generator");
        words += &format!("; {generators} for reference");
    }
    words
}

fn loader(ranking: &Ranking) -> Option<&Entry> {
    let mut outside = ranking.outside.iter();
    outside.find(|entry| entry.row.is_baseline_loader())
}

/// The work of the run, in a line.
fn job(run: &Document) -> String {
    let plan = &run.plan;
    let body = match (&plan.target, plan.job) {
        (Target::Foreign { method, url, .. }, _) => {
            format!("{method} {url}, the body read to its end")
        }
        (_, Job::Plain) => "the body read to its end, its check value verified".into(),
        (_, Job::Gzip) => "the body decoded from gzip, its check value verified".into(),
        (_, Job::Json) => "16 KB of JSON parsed, one value verified".into(),
    };
    let requests = plan.requests.unwrap_or(0) * u64::from(plan.rounds);
    let concurrency = plan.concurrency.first().copied().unwrap_or(1);
    format!(
        "{} requests of each client, {concurrency} at a time; {body}",
        count(requests)
    )
}

/// The winner, and what the baseline loader says.
fn sentences(ranking: &Ranking) -> Vec<String> {
    let mut sentences = vec![ranking.verdict.clone()];
    if let (Some(first), Some(loader)) = (ranking.ranked.first(), loader(ranking))
        && let Some(share) = first.row.baseline_loader_ratio
    {
        sentences.push(format!(
            "The baseline loader, which parses nothing, does {} requests/s; {} reaches {} of it.",
            figure(loader.row.requests_per_second),
            first.row.client,
            percent(share)
        ));
    }
    sentences.extend(ranking.notes.iter().cloned());
    sentences
}

fn is_tuned(run: &Document, entry: &Entry) -> bool {
    let record = run.environment.clients.get(&entry.row.client);
    record.is_some_and(|record| record.approach == Some(Approach::Tuned))
        && !entry.row.is_baseline_loader()
}

/// A client's name, with a sign when it is tuned or no client at all.
fn named(run: &Document, entry: &Entry) -> String {
    let client = signed(&name(&entry.row.client), &entry.row);
    match (
        entry.reference && !entry.row.is_baseline_loader(),
        is_tuned(run, entry),
    ) {
        (true, _) => format!("{client} (reference)"),
        (false, true) => format!("{client} {}", TUNED.0),
        (false, false) => client,
    }
}

/// Why a client is not ranked; and, where its manifest knows, why that is true of the client and not of its driver.
fn reason(run: &Document, entry: &Entry) -> String {
    let record = run.environment.clients.get(&entry.row.client);
    let pitfall = record.and_then(|record| record.pitfall.as_deref());
    let reason = entry.row.rejected.as_deref().unwrap_or_default();
    let known = pitfall.map(|why| {
        format!(
            " This is the client's own doing: {}.",
            why.trim_end_matches('.')
        )
    });
    format!("{reason}.{}", known.unwrap_or_default())
}

/// Whether letters say anything at all.
fn tied(ranking: &Ranking) -> bool {
    ranking.ranked.iter().any(|entry| !entry.letters.is_empty())
}

fn table(run: &Document, ranking: &Ranking, entries: &[&Entry]) -> Table {
    let baseline = run.plan.baseline.as_deref().unwrap_or_default();
    let line = |line: &mut Line, it: &&Entry| {
        line.language = language(run, &it.row.client);
        line.look = Look::rejected(it.row.rejected.is_some() && !it.reference);
    };
    let mut ranked = ranking.ranked.iter();
    let is_ranked = ranked.any(|entry| entry.row.client == baseline);
    let without =
        (!is_ranked).then(|| format!("{baseline} was rejected, so there are no ratios to it"));
    let confirmed = (!ranking.ranked.is_empty()).then(|| CONFIRMED.to_owned());
    Table::of("All figures", entries, columns(run, baseline))
        .each(entries, line)
        .marks(&[INTERVAL, TUNED, REOPENED])
        .notes(without)
        .notes(about_ranges(ranking))
        .notes(newer(run))
        .notes(about_generators(entries))
        .notes(confirmed)
}

const CONFIRMED: &str = "the server's log confirms of all that are ranked: no error, no duplicate, as many in flight as required";

/// The figures of any run, and after the first of them those of a shootout.
fn columns<'a>(run: &'a Document, baseline: &str) -> Vec<Shown<'a, &'a Entry>> {
    let mut own = figures(|it: &&Entry| &it.row).into_iter().map(less_wanted);
    let mut columns = vec![col("client", 0, |it: &&Entry| named(run, it)).words()];
    columns.extend(own.next());
    #[rustfmt::skip]
    columns.extend([
        col(&format!("÷\n{baseline}"), 0, |it: &&Entry| optional(it.ratio, |found| ratio_words(&found))).intervals(1),
        col("ties", 1, |it: &&Entry| it.letters.clone()).words().means(TIES),
        col("user\ns", 5, |it: &&Entry| small(it.user)),
        col("system\ns", 5, |it: &&Entry| small(it.system)),
        col("total\ns", 5, |it: &&Entry| small(it.user + it.system)),
        col("real\ns", 4, |it: &&Entry| small(it.real)),
        col("MB\nper s", 6, |it: &&Entry| figure(it.megabytes_per_second)),
        col("first\nms", 5, |it: &&Entry| optional(it.first_ms, small)),
        col("boot\nms", 7, |it: &&Entry| optional(it.boot_ms, small)),
    ]);
    columns.extend(own);
    columns
}

/// What parentheses mean, if any ratio is followed by a range in them.
fn about_ranges(ranking: &Ranking) -> Option<String> {
    let mut ratios = ranking.ranked.iter().filter_map(|entry| entry.ratio);
    let ratio = ratios.find(|ratio| ratio.confidence.is_none())?;
    let rounds = plural(ratio.samples as u64, "round");
    Some(format!(
        "( ) is the range of {rounds}, too few for a confidence interval"
    ))
}

/// What the load generators among these entries are, if there are any.
fn about_generators(entries: &[&Entry]) -> Option<String> {
    let generators: Vec<&str> = entries
        .iter()
        .filter(|it| it.reference)
        .map(|it| it.row.client.as_str())
        .collect();
    (!generators.is_empty()).then(|| {
        format!(
            "(reference) {}: load generators, not clients: they parse nothing, read no body and send no ids, so nothing of \
             them can be verified",
            generators.join(", ")
        )
    })
}

/// Columns that a shootout drops first, because its page has them in the table of the server's view.
fn less_wanted<T>(column: Shown<T>) -> Shown<T> {
    match column.title() {
        "CPU\n%" | OF_LOADER => column.rank(9).on(Media::TEXT),
        "TCP\nconns" => column.rank(4).on(Media::TEXT),
        "peak in\nflight" | "errors" | "dupli-\ncates" => column.on(Media::TEXT),
        _ => column,
    }
}

/// The speeds of all that are ranked, in the colours of their languages.
fn bars(run: &Document, ranking: &Ranking) -> Bars {
    let baseline = run.plan.baseline.as_deref().unwrap_or_default();
    let languages = languages(run, ranking);
    let ranked = || ranking.ranked.iter();
    let bars: Vec<Bar> = ranked().map(|entry| bar(run, &languages, entry)).collect();
    let base = ranked().find(|entry| entry.row.client == baseline);
    let ties = if tied(ranking) { " · ties" } else { "" };
    Bars {
        name: "shootout".into(),
        title: "Requests per second of each client".into(),
        unit: format!("requests/s · ÷ {baseline}{ties}"),
        signs: all_signs(run, ranking, &bars),
        groups: Group::all(bars),
        legend: languages,
        line: base.map(|entry| (entry.row.requests_per_second, format!("1× is {baseline}"))),
        caption: format!(
            "{BAR_ENDS} Ratios are paired: the median over blocks, which is not the ratio of the medians."
        ),
        ..Bars::default()
    }
}

/// The meaning of every sign in the chart.
fn all_signs(run: &Document, ranking: &Ranking, bars: &[Bar]) -> Vec<Sign> {
    let tuned = bars.iter().any(|bar| bar.hollow);
    let tuned = tuned.then(|| Sign::Hollow(format!("{}: {}", TUNED.0, TUNED.1)));
    let mut ranked = ranking.ranked.iter();
    let reopened = ranked.any(|entry| !reopens(&entry.row).is_empty());
    let reopened = reopened.then(|| format!("{} {}", REOPENED.0, REOPENED.1));
    let ties = tied(ranking).then(|| format!("a, b, …: {TIES}"));
    let names = reopened.into_iter().chain(ties).map(Sign::Name);
    let signs = tuned.into_iter().chain(signs(run, bars));
    signs.chain(names).collect()
}

const TIES: &str = "clients that share a letter cannot be told apart";

/// The languages of all that are ranked, each once, in the order of their names.
fn languages(run: &Document, ranking: &Ranking) -> Vec<String> {
    let ranked = ranking.ranked.iter();
    let names = ranked.filter_map(|entry| language(run, &entry.row.client));
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The bar of a client, whose colour is the place of its language.
fn bar(run: &Document, languages: &[String], entry: &Entry) -> Bar {
    let language = language(run, &entry.row.client);
    let place = language
        .as_ref()
        .and_then(|name| languages.iter().position(|other| other == name));
    let ratio = entry
        .ratio
        .map_or_else(String::new, |ratio| format!(" · {}", times(ratio.value)));
    let tie = match entry.letters.as_str() {
        "" => String::new(),
        letters => format!(" · {letters}"),
    };
    Bar {
        name: named(run, entry),
        value: entry.row.requests_per_second,
        range: speed_range(&entry.row),
        label: format!("{}{ratio}{tie}", figure(entry.row.requests_per_second)),
        colour: Colour::Of(place.unwrap_or(0)),
        hollow: is_tuned(run, entry),
        ours: runs_our_engine(run, &entry.row.client),
        language,
        ..Bar::default()
    }
}

/// A row of every client with what a shootout adds to it: the ranked in their order, then the baseline loader, then the
/// rejected.
fn records(ranking: &Ranking) -> Vec<Value> {
    let one = |entry: &Entry| {
        let mut fields = serde_json::json!(entry.row);
        if let (Some(fields), Value::Object(own)) =
            (fields.as_object_mut(), standing(entry, ranking))
        {
            fields.extend(own.into_iter().filter(|(key, _)| key != "client"));
        }
        fields
    };
    ranking.all().map(one).collect()
}

fn how_to_read(run: &Document) -> String {
    format!(
        "Every client does the same job, on one core, against the same server on another. Rounds of all clients are \
         interleaved in random order; ratios are to {} and compare rounds of the same block (Hodges–Lehmann on log-ratios, \
         Wilcoxon signed-rank interval of at least 95 % from 6 rounds on). {} is {}. Differences within {:.0} % \
         count as none. The winner is one only if all comparisons with it hold together (Holm). Latencies are of a closed loop: a \
         new request is sent only when an earlier one has ended. The baseline loader is {LOADER}. Parsing JSON \
         is part of the job and done by the usual parser of each language, so across languages it is compared too. A row is \
         rejected when the client's claim and the server's log disagree.",
        run.plan.baseline.as_deref().unwrap_or(NONE),
        RANGE.0,
        RANGE.1,
        EQUIVALENT * 100.0
    )
}

/// The figures that a shootout adds to a client's row. Clients with the same `group` cannot be told apart from its
/// fastest.
pub(crate) fn standing(entry: &Entry, ranking: &Ranking) -> Value {
    let place = ranking.ranked.iter().position(|other| other == entry);
    let ratio = entry.ratio;
    json!({
        "client": entry.row.client,
        "place": place.map(|place| place + 1),
        "letters": entry.letters,
        "ratio_to_baseline": ratio.map(|ratio| ratio.value),
        "ratio_low": ratio.map(|ratio| ratio.low),
        "ratio_high": ratio.map(|ratio| ratio.high),
        "user_seconds": entry.user,
        "system_seconds": entry.system,
        "real_seconds": entry.real,
        "megabytes_per_second": entry.megabytes_per_second,
        "first_request_ms": entry.first_ms,
        "boot_ms": entry.boot_ms,
        "not_ranked": entry.row.rejected,
    })
}
