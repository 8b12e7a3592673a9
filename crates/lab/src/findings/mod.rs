//! Turns rounds into findings: rows, rejections, recommendations and sentences. Pure; reads and writes nothing.

mod batches;
mod beside;
mod builds;
mod cells;
mod change;
mod compare;
mod controls;
mod facts;
mod goals;
mod keepalive;
mod noise;
mod pair;
mod percentiles;
mod processes;
mod ranking;
mod rates;
mod recommend;
mod rows;
mod rules;
mod server;
mod shown_load;
pub mod stats;
mod threshold;
mod ties;
mod trust;
mod truth;
mod unpaired;
mod verdict;
mod warmth;
mod witnessed;
pub mod words;

pub use beside::{Beside, beside, load};
pub use change::{Change, Changes, Direction, changes};
pub use compare::{Batch, Compared, Pair, RoundTrip, What, compared};
pub use controls::{Again, Controls};
pub use facts::{Fact, Tone, facts, incomplete};
pub use goals::{Judgement, judge_goal};
pub use noise::{NOISY_RUN, Noisy, is_all_noise, noisy_row};
pub use percentiles::{Percentile, Percentiles};
pub use ranking::{Entry, Ranking, ranking};
pub use rates::AtRate;
pub use recommend::Recommendation;
pub use rows::Row;
pub use rules::{Follows, VERSION as RULES, consequences, offence, rejection, reopened, warnings};
pub use server::Server;
pub use shown_load::ShownLoad;
pub use stats::EQUIVALENT;
pub use threshold::{Column, RowThreshold, Threshold, milliseconds, number};
pub use trust::{Headroom, Trust, trust};
pub use truth::{Truth, truth};
pub use verdict::body_words;
pub use warmth::Warming;
pub use witnessed::Witnessed;

use crate::ledger::Document;
use crate::plan::Cell;
use crate::plan::Load;
use crate::run::Round;
use crate::spec::Budget;
use stats::Estimate;

/// Everything that can be said about a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// One per cell, ordered by client, body and concurrency.
    pub rows: Vec<Row>,
    /// One per client and body that has a valid row; never for the baseline loader.
    pub recommendations: Vec<Recommendation>,
    /// One for each row that was measured at a rate.
    pub rates: Vec<AtRate>,
    /// One sentence, with its notes, per client and body; then what the run can resolve.
    pub verdicts: Vec<String>,
    /// How small a difference the run can show.
    pub controls: Controls,
}

/// How many times faster `cell` is than `than`, paired over the blocks that hold both; none when no block does.
pub fn ratio(rounds: &[Round], cell: &Cell, than: &Cell) -> Option<Estimate> {
    cells::Cells::new(rounds).ratio(cell, than)
}

/// Finds what rounds say when nobody gave a budget. `usual` is the load that rows need not repeat.
pub fn judge(rounds: &[Round], usual: &Load) -> Findings {
    judge_within(rounds, usual, &Budget::default())
}

fn judge_within(rounds: &[Round], usual: &Load, budget: &Budget) -> Findings {
    let cells = cells::Cells::new(rounds);
    let rows = rows::rows(&cells, usual);
    let recommendations = recommend::recommendations(&cells, &rows, budget);
    let controls = controls::controls(&cells, &rows);
    let rates = rates::at_rates(rounds, &rows);
    let mut verdicts = verdict::verdicts(&cells, &rows, &recommendations, budget);
    verdicts.extend(warmth::sentence(
        rows.iter().filter(|row| !row.is_baseline_loader()),
    ));
    verdicts.extend(controls.sentences());
    Findings {
        controls,
        rows,
        recommendations,
        rates,
        verdicts,
    }
}

/// Finds what a run says, by its rounds, their loads and its budget.
pub fn judge_run(run: &Document) -> Findings {
    let mut findings = judge_within(&run.rounds, &run.plan.usual(), &run.plan.budget);
    let rates = rates::sentences(run, &findings.rates);
    findings.verdicts.splice(0..0, rates);
    findings
}
