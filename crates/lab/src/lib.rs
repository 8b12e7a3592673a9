//! Measures HTTP clients by what the test server saw.
//!
//! The stages, one folder each; a stage imports only from those before it. `spec` (the question) → `plan` (the order)
//! → `run` → `ledger` (on disk) → `findings` (verdicts) → `views` (content) → `report` (drawn). `measure` leads
//! an experiment through all of them. Beside it stands `doctor`, which looks at the machine.

pub mod spec;

pub mod plan;

pub mod run;

pub mod ledger;

pub mod findings;

pub mod views;

pub mod report;

pub mod measure;

pub mod doctor;
