//! A shootout in a terminal: all clients sorted, groups that can not be told apart bracketed, the rejected below.

use super::style::Style;
use super::terminal::{lines_of, plain_table, wrapped};
use crate::findings::words::{figure, interval, percent, times};
use crate::findings::{Entry, NOISY_RUN, Ranking};
use crate::ledger::Document;

/// A column: its title in two lines, and how an entry fills it.
pub(super) struct Column {
    pub(super) title: [&'static str; 2],
    pub(super) value: fn(&Entry) -> String,
    /// Columns with a higher number are left out first where there is no room.
    pub(super) rank: u8,
}

/// What every view of a shootout shows of a client after its name.
pub(super) const COLUMNS: [Column; 16] = [
    Column {
        title: ["requests", "per s"],
        value: |e| figure(e.row.requests_per_second),
        rank: 0,
    },
    Column {
        title: ["÷ base-", "line"],
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

/// Everything found, as text with a line break at the end.
pub fn shootout(run: &Document, ranking: &Ranking, style: &Style) -> String {
    let mut lines = vec![String::new(), style.bold(&job(run)), String::new()];
    lines.extend(table(ranking, style));
    lines.push(String::new());
    lines.push(style.bold("Verdict"));
    for sentence in verdict(ranking) {
        lines.extend(wrapped(&sentence, "- ", style));
    }
    lines.extend(rejected(ranking, style));
    lines.extend(left_out(run, style));
    style.plain(lines.join("\n") + "\n")
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
pub(super) fn verdict(ranking: &Ranking) -> Vec<String> {
    let mut sentences = vec![ranking.verdict.clone()];
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
        Some(share) if share > NOISY_RUN => sentences.push(format!(
            "NOISY: in {} of the rounds other programs took more than 5 % of the machine; end them and run it again.",
            percent(share)
        )),
        Some(share) if share > 0.0 => {
            sentences.push(format!("Other programs were in the way in {} of the rounds.", percent(share)));
        }
        _ => {}
    }
    sentences
}

fn table(ranking: &Ranking, style: &Style) -> Vec<String> {
    let names: Vec<String> = ranking
        .ranked
        .iter()
        .map(|entry| entry.row.client.clone())
        .collect();
    let longest = names.iter().map(String::len).max().unwrap_or(6).max(14);
    let columns = columns_that_fit(ranking, longest + 4, style.width);
    let mut table = plain_table(style);
    let titles = columns.iter().map(|column| column.title.join("\n"));
    table.set_header(
        ["client".to_owned()]
            .into_iter()
            .chain(titles)
            .chain([String::new()]),
    );
    for (place, entry) in ranking.ranked.iter().enumerate() {
        let cells = columns.iter().map(|column| (column.value)(entry));
        let name = std::iter::once(names[place].clone());
        table.add_row(
            name.chain(cells)
                .chain([bracket(&ranking.ranked, place, style)]),
        );
    }
    for entry in &ranking.outside {
        let cells = columns.iter().map(|column| (column.value)(entry));
        let name = std::iter::once(format!("{} (ceiling)", entry.row.client));
        table.add_row(name.chain(cells).chain([String::new()]));
    }
    let mut lines = lines_of(table, columns.len() + 1);
    if ranking
        .ranked
        .windows(2)
        .any(|pair| pair[0].group == pair[1].group)
    {
        let hook = if style.unicode { "┐│┘" } else { "\\|/" };
        lines.push(format!(
            "  {hook} not clearly different from the fastest of them"
        ));
    }
    lines
}

/// Binds the members of a group together, at the right of the table.
fn bracket(ranked: &[Entry], place: usize, style: &Style) -> String {
    let same =
        |other: Option<&Entry>| other.is_some_and(|other| other.group == ranked[place].group);
    let before = same(place.checked_sub(1).and_then(|before| ranked.get(before)));
    let after = same(ranked.get(place + 1));
    let [top, middle, bottom] = if style.unicode {
        ["┐", "│", "┘"]
    } else {
        ["\\", "|", "/"]
    };
    match (before, after) {
        (false, true) => top.into(),
        (true, true) => middle.into(),
        (true, false) => bottom.into(),
        (false, false) => String::new(),
    }
}

/// Leaves out the least important columns until the rest fit.
fn columns_that_fit(ranking: &Ranking, used: usize, width: usize) -> Vec<&'static Column> {
    let entries = || ranking.ranked.iter().chain(&ranking.outside);
    let widest = |column: &Column| {
        let titles = column.title.iter().map(|line| line.chars().count());
        let values = entries().map(|entry| (column.value)(entry).chars().count());
        titles.chain(values).max().unwrap_or(0) + 2
    };
    let mut columns: Vec<&Column> = COLUMNS.iter().collect();
    for rank in [3, 2, 1] {
        if used + columns.iter().map(|column| widest(column)).sum::<usize>() <= width {
            break;
        }
        columns.retain(|column| column.rank < rank);
    }
    columns
}

fn rejected(ranking: &Ranking, style: &Style) -> Vec<String> {
    if ranking.rejected.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), style.warn("Rejected: shown, not ranked")];
    for Entry { row, .. } in &ranking.rejected {
        let reason = row.rejected.as_deref().unwrap_or_default();
        let text = format!(
            "{}, {} requests/s: {reason}.",
            row.client,
            figure(row.requests_per_second)
        );
        lines.extend(wrapped(&text, "- ", style));
    }
    lines
}

fn left_out(run: &Document, style: &Style) -> Vec<String> {
    if run.left_out.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), style.bold("Left out")];
    for why in &run.left_out {
        lines.extend(wrapped(why, "- ", style));
    }
    lines
}

fn ratio(entry: &Entry) -> String {
    entry.ratio.map_or_else(
        || "–".into(),
        |ratio| format!("{} {}", times(ratio.value), interval(&ratio)),
    )
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
