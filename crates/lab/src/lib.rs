//! Measures HTTP clients by what the test server saw.
//!
//! The flow, one folder a stage, each importing only from those before it:
//! `spec` (what is asked) → `plan` (in which order) → `run` (done) → `ledger` (kept on disk) →
//! `findings` (judged) → `views` (what is shown) → `report` (drawn). Beside it stands `doctor`, which looks at the machine.

pub mod spec;

pub mod plan;

pub mod run;

pub mod ledger;

pub mod findings;

pub mod views;

pub mod report;

pub mod doctor;
