//! The document that machines read: everything measured, and everything found.

use serde::Serialize;
use serde_json::{Value, json};

use crate::findings::{
    AtRate, Compared, Findings, Judgement, Ranking, Recommendation, Row, is_all_noise,
};
use crate::ledger::{Document, Environment, PlanRecord};
use crate::run::{Round, Start};
use crate::views::{judged, ranked, standing};

/// A run: what was requested, where it was measured, every round, and what was found.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FullDocument<'a> {
    /// Version of these keys.
    pub schema: u32,
    /// The command line.
    pub command: &'a str,
    /// Where and with what it was measured.
    pub environment: &'a Environment,
    /// What was requested.
    pub plan: &'a PlanRecord,
    /// How many rounds were planned; absent where all were made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<u64>,
    /// Every round, raw.
    pub rounds: &'a [Round],
    /// Every process of every client; absent where none was noted.
    #[serde(skip_serializing_if = "<[Start]>::is_empty")]
    pub starts: &'a [Start],
    /// Clients that could not be measured, in sentences.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub left_out: &'a [String],
    /// One per cell.
    pub rows: &'a [Row],
    /// One per client and body.
    pub recommendations: &'a [Recommendation],
    /// One per row that was measured at a rate; absent where none was.
    #[serde(skip_serializing_if = "<[AtRate]>::is_empty")]
    pub rates: &'a [AtRate],
    /// A shootout's verdict and standings; absent for a run of another kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Value>,
    /// The findings of a comparison; absent for other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Compared>,
}

/// Puts what was measured and what was found into one document.
pub fn document<'a>(run: &'a Document, findings: &'a Findings) -> FullDocument<'a> {
    FullDocument {
        schema: run.schema,
        command: &run.command,
        environment: &run.environment,
        plan: &run.plan,
        unfinished: run.unfinished,
        rounds: &run.rounds,
        starts: &run.starts,
        left_out: &run.left_out,
        rows: &findings.rows,
        recommendations: match recommends(run) {
            true => &findings.recommendations,
            false => &[],
        },
        rates: &findings.rates,
        comparison: judged(run, findings),
        ranking: ranked(run, findings).map(|ranking| standings(&ranking, run.unfinished)),
    }
}

/// A comparison's cells are no range of concurrencies; of half a run, or of one that others disturbed throughout,
/// nothing is recommended.
fn recommends(run: &Document) -> bool {
    run.plan.comparison.is_none() && run.unfinished.is_none() && !is_all_noise(run)
}

/// The verdict, the share of noisy rounds, then every client: the ranked in their order, the others without a rank.
fn standings(ranking: &Ranking, unfinished: Option<u64>) -> Value {
    let clients = ranking.all().map(|entry| standing(entry, ranking));
    let clients: Vec<Value> = clients.collect();
    let said = std::iter::once(&ranking.verdict).chain(&ranking.notes);
    let said: Vec<&str> = said.map(String::as_str).collect();
    let verdict = unfinished.is_none().then(|| said.join(" "));
    json!({ "verdict": verdict, "noisy_rounds": ranking.noisy, "clients": clients })
}

/// A benchmark: its parts, each a run with its findings, and what became of its goals.
#[derive(Debug, Serialize)]
pub struct BenchDocument<'a> {
    /// Version of these keys.
    pub schema: u32,
    /// The command line.
    pub command: &'a str,
    /// The sweeps, in the order in which they were made.
    pub parts: Vec<PartDocument<'a>>,
    /// Every judgement.
    pub goals: &'a [JudgedGoal],
    /// Clients that were left out, and why, in sentences.
    pub left_out: &'a [String],
}

/// One sweep of a benchmark.
#[derive(Debug, Serialize)]
pub struct PartDocument<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it measures.
    pub title: &'a str,
    /// The client that it is about.
    pub subject: &'a str,
    /// The run.
    #[serde(flatten)]
    pub run: FullDocument<'a>,
}

/// The result of a goal of a part.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedGoal {
    /// Name of the part.
    pub part: String,
    /// The result.
    #[serde(flatten)]
    pub judgement: Judgement,
}
