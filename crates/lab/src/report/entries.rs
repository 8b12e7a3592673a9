//! What every view of a shootout shows of a client, and says of the run.

use crate::findings::words::{figure, percent, plural, times};
use crate::findings::{Entry, NOISY_RUN, Ranking, noise_words};
use crate::ledger::Document;
use crate::spec::Approach;

/// A column: its title in two lines, and how an entry fills it.
pub(super) struct Column {
    pub(super) title: [&'static str; 2],
    pub(super) value: fn(&Entry) -> String,
    /// Columns with a higher number are left out first where there is no room.
    pub(super) rank: u8,
}

/// What every view of a shootout shows of a client after its name.
pub(super) const COLUMNS: [Column; 17] = [
    Column {
        title: ["requests", "per s"],
        value: |e| figure(e.row.requests_per_second),
        rank: 0,
    },
    Column {
        title: ["÷ the", "baseline"],
        value: ratio,
        rank: 0,
    },
    Column {
        title: ["user", "s"],
        value: |e| time(e.user),
        rank: 2,
    },
    Column {
        title: ["system", "s"],
        value: |e| time(e.system),
        rank: 2,
    },
    Column {
        title: ["total", "s"],
        value: |e| time(e.user + e.system),
        rank: 2,
    },
    Column {
        title: ["real", "s"],
        value: |e| time(e.real),
        rank: 1,
    },
    Column {
        title: ["MB", "per s"],
        value: |e| figure(e.megabytes_per_second),
        rank: 3,
    },
    Column {
        title: ["CPU ms", "/ req."],
        value: |e| small(e.row.cpu_ms_per_request),
        rank: 0,
    },
    Column {
        title: ["p50", "ms"],
        value: |e| small(e.row.p50_ms),
        rank: 1,
    },
    Column {
        title: ["p99", "ms"],
        value: |e| small(e.row.p99_ms),
        rank: 1,
    },
    Column {
        title: ["peak", "MB"],
        value: |e| figure(e.row.peak_rss_mb),
        rank: 1,
    },
    Column {
        title: ["first", "ms"],
        value: |e| small(e.first_ms),
        rank: 2,
    },
    Column {
        title: ["boot", "ms"],
        value: |e| small(e.boot_ms),
        rank: 4,
    },
    Column {
        title: ["er-", "rors"],
        value: |e| e.row.errors.to_string(),
        rank: 3,
    },
    Column {
        title: ["TCP", "conns"],
        value: |e| whole(e.row.connections),
        rank: 2,
    },
    Column {
        title: ["in", "flight"],
        value: |e| whole(e.row.peak_in_flight),
        rank: 3,
    },
    Column {
        title: ["dupli-", "cates"],
        value: |e| whole(e.row.duplicates),
        rank: 3,
    },
];

/// How many of them, at the end, the page leaves to its table of what the server saw.
pub(super) const LEDGERS: usize = 4;

impl Column {
    /// The title with its two lines, or in one when it is one word.
    pub(super) fn title(&self) -> String {
        let [first, second] = self.title;
        first.strip_suffix('-').map_or_else(
            || format!("{first}\n{second}"),
            |start| format!("{start}{second}"),
        )
    }
}

/// Stands behind the name of a client that is set up for speed.
pub(super) const TUNED: &str = " *";

/// What that mark says.
pub(super) const TUNED_WORDS: &str =
    "* set up for speed; all others as their own documentation shows them";

/// A client's name, with a mark when it is tuned or no client at all.
pub(super) fn name(run: &Document, entry: &Entry) -> String {
    let client = &entry.row.client;
    match entry.row.is_ceiling() {
        true => format!("{client} (ceiling)"),
        false if entry.reference => format!("{client} (reference)"),
        false if is_tuned(run, entry) => format!("{client}{TUNED}"),
        false => client.clone(),
    }
}

/// What load generators do not do; none when there is none.
pub(super) fn reference_words(ranking: &Ranking) -> Option<String> {
    let generators = ranking.outside.iter().filter(|entry| entry.reference);
    let names: Vec<&str> = generators.map(|entry| entry.row.client.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "(reference) {}: load generators, not clients: they parse nothing, look at no body and send no ids, so nothing of \
             them can be verified",
            names.join(", ")
        )
    })
}

/// Whether its driver sets the client up for speed.
pub(super) fn is_tuned(run: &Document, entry: &Entry) -> bool {
    let record = run.environment.clients.get(&entry.row.client);
    record.is_some_and(|record| record.approach == Some(Approach::Tuned)) && !entry.row.is_ceiling()
}

/// Why a client is not ranked; and, where its manifest knows, why that is true of the client and not of its driver.
pub(super) fn reason(run: &Document, entry: &Entry) -> String {
    let record = run.environment.clients.get(&entry.row.client);
    let pitfall = record.and_then(|record| record.pitfall.as_deref());
    let reason = entry.row.rejected.as_deref().unwrap_or_default();
    let known = pitfall.map_or_else(String::new, |why| {
        format!(
            " This is the client's own doing: {}.",
            why.trim_end_matches('.')
        )
    });
    format!("{reason}.{known}")
}

/// Whether the run could tell clients apart at all.
pub(super) fn any_letters(ranking: &Ranking) -> bool {
    ranking.ranked.iter().any(|entry| !entry.letters.is_empty())
}

/// What was done, in a line.
pub(super) fn job(run: &Document) -> String {
    let plan = &run.plan;
    let body = match plan.job.is_plain() {
        true => "the body read to its end, its token verified",
        false => "16 KB of JSON parsed, one value verified",
    };
    let requests = plan.requests.unwrap_or(0) * u64::from(plan.rounds);
    let concurrency = plan.concurrency.first().copied().unwrap_or(1);
    format!(
        "{} requests of each client, {concurrency} at a time; {body}",
        figure(requests as f64)
    )
}

/// The winner, what was noisy, and what the ceiling says.
pub(super) fn verdict(run: &Document, ranking: &Ranking) -> Vec<String> {
    let mut sentences = vec![ranking.verdict.clone()];
    sentences.extend(stopped(run));
    if let (Some(first), Some(ceiling)) = (
        ranking.ranked.first(),
        ranking.outside.iter().find(|e| e.row.is_ceiling()),
    ) {
        let share = first.row.requests_per_second / ceiling.row.requests_per_second;
        sentences.push(format!(
            "The ceiling, a raw loader that parses nothing, does {} requests/s; {} reaches {} of it.",
            figure(ceiling.row.requests_per_second),
            first.row.client,
            percent(share)
        ));
    }
    match ranking.noisy {
        Some(share) if share > NOISY_RUN => {
            sentences.extend(noise_words(&run.rounds, run.environment.cores));
        }
        Some(share) if share > 0.0 => {
            sentences.push(format!(
                "Other programs were in the way in {} of the rounds.",
                percent(share)
            ));
        }
        _ => {}
    }
    sentences
}

/// Says so of a run that did not come to its end.
fn stopped(run: &Document) -> Option<String> {
    let blocks = run.rounds.iter().map(|round| round.block + 1);
    let begun = blocks.max().unwrap_or(0);
    (begun < run.plan.rounds).then(|| {
        format!(
            "The run was stopped: {begun} of {} begun, so seconds are of fewer requests.",
            plural(run.plan.rounds.into(), "round")
        )
    })
}

/// How many times faster than the baseline, with the interval in brackets; in parentheses when it is but a range.
pub(super) fn ratio(entry: &Entry) -> String {
    let Some(ratio) = entry.ratio else {
        return "–".into();
    };
    let (low, high) = (times(ratio.low), times(ratio.high));
    let between = format!(
        "{}–{}",
        low.trim_end_matches('×'),
        high.trim_end_matches('×')
    );
    match ratio.confidence {
        Some(_) => format!("{} [{between}]", times(ratio.value)),
        None => format!("{} ({between})", times(ratio.value)),
    }
}

/// What stands behind the ratios; none where there are none.
pub(super) fn ratio_words(ranking: &Ranking) -> Option<String> {
    let ratios = || ranking.ranked.iter().filter_map(|entry| entry.ratio);
    let short = ratios().find(|ratio| ratio.confidence.is_none());
    short
        .map(|ratio| {
            format!(
                "( ) is the range of {}, too few for a statement",
                plural(ratio.samples as u64, "round")
            )
        })
        .or_else(|| {
            ratios()
                .next()
                .map(|_| "[ ] holds the truth in 95 of 100 cases".to_owned())
        })
}

fn time(seconds: f64) -> String {
    if seconds < 0.1 {
        format!("{seconds:.3}")
    } else {
        figure(seconds)
    }
}

fn small(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), time)
}

fn whole(value: Option<u64>) -> String {
    value.map_or_else(|| "–".into(), |value| value.to_string())
}
