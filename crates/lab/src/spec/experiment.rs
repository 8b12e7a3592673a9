//! An experiment: what is measured, and under which load. A sweep, a shootout, a comparison and each part of a
//! benchmark are presets of it.

use super::{Comparison, Sweep};

/// An experiment, checked, and the kind of its evaluation.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its factors with their levels, and how often and how long each is measured.
    pub sweep: Sweep,
    /// The plan.
    pub kind: Kind,
    /// Clients that were named and cannot be measured, in sentences.
    pub left_out: Vec<String>,
    /// Whether it is no failure of the whole when a client cannot do what is requested, or breaks. The others are
    /// measured in any case.
    pub tolerant: bool,
}

/// The kinds of experiments.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Which concurrency to use.
    Sweep,
    /// Finds the fastest client under one load.
    Shootout {
        /// The client whose speed the others' are divided by.
        baseline: String,
    },
    /// How cells differ, in pairs.
    Compare(Comparison),
    /// Whether a client keeps its promises: a part of a benchmark.
    Bench,
}

impl Kind {
    /// The verb of the command, which names the folder of its results too.
    pub fn verb(&self) -> &'static str {
        match self {
            Kind::Sweep => "sweep",
            Kind::Shootout { .. } => "shootout",
            Kind::Compare(_) => "compare",
            Kind::Bench => "bench",
        }
    }
}

impl Experiment {
    /// One in which all clients are installed, and is to be measured.
    pub fn new(sweep: Sweep, kind: Kind) -> Experiment {
        Experiment {
            sweep,
            kind,
            left_out: Vec::new(),
            tolerant: false,
        }
    }
}
