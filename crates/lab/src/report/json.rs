//! The document that machines read: everything measured, and everything found.

use serde::Serialize;

use crate::findings::{Findings, Judgement, Recommendation, Row};
use crate::ledger::{Document, Environment, PlanRecord};
use crate::run::{Round, Start};

/// A run with its findings; serialises to the keys in this order.
#[derive(Debug, Serialize)]
pub struct FullDocument<'a> {
    /// Version of these keys.
    pub schema: u32,
    /// The command line.
    pub command: &'a str,
    /// Where and with what it was measured.
    pub environment: &'a Environment,
    /// What was asked.
    pub plan: &'a PlanRecord,
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
}

/// Puts what was measured and what was found into one document.
pub fn document<'a>(run: &'a Document, findings: &'a Findings) -> FullDocument<'a> {
    FullDocument {
        schema: run.schema,
        command: &run.command,
        environment: &run.environment,
        plan: &run.plan,
        rounds: &run.rounds,
        starts: &run.starts,
        left_out: &run.left_out,
        rows: &findings.rows,
        recommendations: &findings.recommendations,
    }
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
    /// What was left out, and why, in sentences.
    pub left_out: &'a [String],
}

/// One sweep of a benchmark.
#[derive(Debug, Serialize)]
pub struct PartDocument<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it measures.
    pub title: &'a str,
    /// The run.
    #[serde(flatten)]
    pub run: FullDocument<'a>,
}

/// What became of a goal of a part.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedGoal {
    /// Name of the part.
    pub part: String,
    /// What became of it.
    #[serde(flatten)]
    pub judgement: Judgement,
}
