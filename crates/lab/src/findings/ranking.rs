//! Ranks many clients at one job; clients that cannot be told apart share a letter.

use super::cells::{Cells, seconds};
use super::controls::{Group, of_groups};
use super::noise::noisy;
use super::rows::Row;
use super::stats::{Estimate, FEWEST_PAIRS, median};
use super::ties::Family;
use super::warmth;
use super::words::{interval, listed, plural, times};
use crate::run::{Round, Start};

/// One client in a shootout.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its row.
    pub row: Row,
    /// CPU time in user mode of all its rounds, in seconds.
    pub user: f64,
    /// CPU time of all its rounds in the kernel, in seconds.
    pub system: f64,
    /// Wall time of all its rounds, in seconds.
    pub real: f64,
    /// Megabytes (10⁶ bytes) of bodies for each second of that.
    pub megabytes_per_second: f64,
    /// The first request of a new process, median over its processes, in milliseconds; none when that is not known.
    pub first_ms: Option<f64>,
    /// From starting a process to its first response to the harness, median, in milliseconds.
    pub boot_ms: Option<f64>,
    /// How many times faster than the baseline; none for the baseline itself, and for what is rejected.
    pub ratio: Option<Estimate>,
    /// Whether it is a load generator, which does less than a client and is shown for reference alone.
    pub reference: bool,
    /// Clients that share a letter cannot be told apart, all comparisons of the run taken together. None of those that
    /// are not ranked has one, and with too few rounds for a statement nobody has.
    pub letters: String,
}

/// All clients of a shootout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    /// The ranked rows, the fastest first.
    pub ranked: Vec<Entry>,
    /// The rejected rows by name; each holds its reason.
    pub rejected: Vec<Entry>,
    /// The baseline loader, and load generators for reference, the fastest first: outside the ranking.
    pub outside: Vec<Entry>,
    /// Share of all rounds during which others took more of the machine than they should; none where that is not known.
    pub noisy: Option<f64>,
    /// The winner in a sentence.
    pub verdict: String,
    /// Rows that were still warming up, and how small a difference the run can show, in sentences.
    pub notes: Vec<String>,
}

impl Ranking {
    /// Every client: the ranked in their order, then those outside the ranking, then the rejected.
    pub fn all(&self) -> impl Iterator<Item = &Entry> {
        [&self.ranked, &self.outside, &self.rejected]
            .into_iter()
            .flatten()
    }
}

/// Ranks the rows of a run that measured each client once.
pub fn ranking(
    rounds: &[Round],
    starts: &[Start],
    rows: &[Row],
    baseline: &str,
    cores: usize,
) -> Ranking {
    let cells = Cells::new(rounds);
    let rows: Vec<Row> = rows.iter().map(|row| whole(row, &cells)).collect();
    let entries = rows.iter();
    let entries = entries.map(|row| entry(row, &rows, &cells, starts, baseline));
    let is_outside = |entry: &Entry| entry.row.is_baseline_loader() || entry.reference;
    let (mut outside, clients): (Vec<Entry>, Vec<Entry>) = entries.partition(is_outside);
    let is_rejected = |entry: &Entry| entry.row.rejected.is_some();
    let (rejected, mut ranked): (Vec<Entry>, Vec<Entry>) =
        clients.into_iter().partition(is_rejected);
    let speed = |entry: &Entry| entry.row.requests_per_second;
    for entries in [&mut ranked, &mut outside] {
        entries.sort_by(|a, b| speed(b).total_cmp(&speed(a)));
    }
    let group = Group::new(ranked.iter().map(|it| it.row.cell()).collect(), &cells);
    for (entry, letters) in ranked.iter_mut().zip(group.family.letters()) {
        entry.letters = letters;
    }
    let verdict = verdict(&ranked, &cells, &group.family);
    let warming = warmth::sentence(ranked.iter().map(|entry| &entry.row));
    let controls = of_groups(&[group], &cells).sentences();
    Ranking {
        noisy: noisy(rounds, cores).map(|noisy| noisy.either),
        verdict,
        notes: warming.into_iter().chain(controls).collect(),
        ranked,
        rejected,
        outside,
    }
}

/// The row; rejected when its client broke on the way, for then it was not measured as the others were.
pub(super) fn whole(row: &Row, cells: &Cells) -> Row {
    let most = cells.iter().map(|(_, rounds)| rounds.len()).max();
    let (own, most) = (cells.rounds(&row.cell()).len(), most.unwrap_or(0));
    // A run that is stopped leaves some clients without their round of the last block.
    if row.rejected.is_some() || own + 1 >= most {
        return row.clone();
    }
    let why = format!(
        "it broke, or was left out, after {own} of {}",
        plural(most as u64, "round")
    );
    Row {
        rejected: Some(why),
        verified: false,
        ..row.clone()
    }
}

fn entry(row: &Row, rows: &[Row], cells: &Cells, starts: &[Start], baseline: &str) -> Entry {
    let rounds = cells.rounds(&row.cell());
    let sum = |value: fn(&Round) -> u64| seconds(rounds.iter().map(|round| value(round)).sum());
    let real = sum(|round| round.wall_ns);
    let bytes: u64 = rounds.iter().map(|round| round.claim.bytes).sum();
    let median_ms = |value: fn(&Start) -> u64| {
        let own = starts.iter().filter(|start| start.client == row.client);
        let all: Vec<f64> = own.map(|start| value(start) as f64 / 1e6).collect();
        median(&all)
    };
    let mut others = rows.iter();
    let base = others.find(|it| it.client == baseline && it.rejected.is_none());
    let comparable = base.filter(|base| base.client != row.client && row.rejected.is_none());
    Entry {
        row: row.clone(),
        user: sum(|round| round.cpu_user_ns),
        system: sum(|round| round.cpu_system_ns),
        real,
        megabytes_per_second: bytes as f64 / 1e6 / real,
        first_ms: median_ms(|start| start.first_request_ns),
        boot_ms: median_ms(|start| start.boot_ns),
        ratio: comparable.and_then(|base| cells.ratio(&row.cell(), &base.cell())),
        reference: rounds.iter().any(|round| round.reference),
        letters: String::new(),
    }
}

fn verdict(ranked: &[Entry], cells: &Cells, family: &Family) -> String {
    let names: Vec<&str> = ranked.iter().map(|it| it.row.client.as_str()).collect();
    let [first, second, ..] = names[..] else {
        return match names[..] {
            [only] => format!("{only} is the only one that could be ranked."),
            _ => "No client could be ranked.".into(),
        };
    };
    let clients = plural(ranked.len() as u64, "client");
    if family.apart(0, 1).is_none() {
        return format!(
            "{first} was the fastest of {clients}, but there were too few rounds to say more; {FEWEST_PAIRS} or more allow it."
        );
    }
    let is_equal = |place: &usize| *place == 0 || family.apart(0, *place) == Some(false);
    let together = (0..names.len()).filter(is_equal).map(|place| names[place]);
    let together: Vec<&str> = together.collect();
    if together.len() > 1 {
        let names = listed(&together);
        return format!("{names} are the fastest of {clients}, and cannot be told apart.");
    }
    let lead = cells.ratio(&ranked[0].row.cell(), &ranked[1].row.cell());
    let lead = lead.map_or_else(String::new, |lead| {
        let (ratio, interval) = (times(lead.value), interval(&lead));
        format!(": {ratio} {second} {interval}, the next")
    });
    format!(
        "{first} is the fastest of {clients}{lead}; with 95 % confidence it is faster than each of the others."
    )
}
