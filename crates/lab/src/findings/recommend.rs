//! Which concurrency to use: the smallest that is fast enough, as far as the run can tell.

use serde::Serialize;

use super::cells::Cells;
use super::rows::Row;
use super::shown_load::ShownLoad;
use super::stats::Estimate;
use crate::plan::{Cell, Load};
use crate::spec::Budget;

/// The advice for one client and one body size.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recommendation {
    /// The client's name.
    pub client: String,
    /// The recommended load as documents show it.
    #[serde(flatten)]
    pub shown_load: ShownLoad,
    /// The recommended load: of those within the budget, the smallest concurrency that has at least the budget's share of the
    /// best speed, by the estimate of its paired ratio.
    #[serde(skip)]
    pub load: Load,
    /// The higher concurrencies that are not shown to have less either, so that nothing decides between them and it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tied: Vec<usize>,
    /// How many times faster it is than concurrency 1 in the same blocks; none when that was not measured,
    /// or was rejected.
    pub speedup_over_one: Option<f64>,
    /// `speedup_over_one` with its interval.
    #[serde(skip)]
    pub speedup: Option<Estimate>,
    /// The fastest measured concurrency within the budget.
    #[serde(skip)]
    pub best: usize,
    /// The speed of the recommended concurrency as a share of the best one's. Where its interval begins below the budget's
    /// share, the run cannot tell whether it is enough.
    #[serde(skip)]
    pub share_of_best: Estimate,
    /// Whether nothing higher than the recommended concurrency was measured and valid.
    #[serde(skip)]
    pub highest: bool,
}

impl Recommendation {
    /// The cell that is recommended.
    pub fn cell(&self) -> Cell {
        Cell::new(&self.client, self.load)
    }
}

/// One recommendation per client, body and use of connections that has a row within the budget which is not rejected;
/// none for the baseline loader.
pub(super) fn recommendations(cells: &Cells, rows: &[Row], budget: &Budget) -> Vec<Recommendation> {
    let series = |row: &Row| {
        let load = Load {
            concurrency: 0,
            ..row.load
        };
        (row.client.clone(), load)
    };
    let closed = rows.iter().filter(|row| row.load.rate.is_none());
    let mut closed: Vec<&Row> = closed.collect();
    closed.sort_by_key(|row| (series(row), row.load.concurrency));
    let all = closed.chunk_by(|a, b| series(a) == series(b));
    all.filter_map(|it| recommend(cells, it, budget)).collect()
}

/// `series` are the rows of one client and body, in ascending concurrency.
fn recommend(cells: &Cells, series: &[&Row], budget: &Budget) -> Option<Recommendation> {
    let is_valid =
        |row: &&&Row| !row.is_baseline_loader() && row.rejected.is_none() && row.speed.is_some();
    let valid: Vec<&Row> = series.iter().filter(is_valid).copied().collect();
    let is_within = |row: &&&Row| budget.holds(row.p99_ms, row.peak_rss_mb);
    let within: Vec<&Row> = valid.iter().filter(is_within).copied().collect();
    let speed = |row: &Row| row.requests_per_second;
    let rows = within.iter();
    let best = rows.max_by(|a, b| speed(a).total_cmp(&speed(b)))?;
    let shares = within.iter().filter_map(|row| {
        let share = cells.ratio(&row.cell(), &best.cell())?;
        Some((row, share))
    });
    let mut shares = shares.skip_while(|(_, share)| share.value < budget.enough());
    let (chosen, share_of_best) = shares.next()?;
    let tied = shares.filter(|(_, share)| share.high >= budget.enough());
    let tied = tied.map(|(row, _)| row.load.concurrency).collect();
    let one = valid.iter().find(|row| row.load.concurrency == 1);
    let speedup = one.and_then(|one| cells.ratio(&chosen.cell(), &one.cell()));
    Some(Recommendation {
        client: chosen.client.clone(),
        shown_load: ShownLoad::new(&chosen.load, &chosen.usual),
        load: chosen.load,
        tied,
        speedup_over_one: speedup.map(|ratio| ratio.value),
        speedup,
        best: best.load.concurrency,
        share_of_best,
        highest: valid.last().map(|last| last.load.concurrency) == Some(chosen.load.concurrency),
    })
}
