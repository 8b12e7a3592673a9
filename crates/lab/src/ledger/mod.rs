//! Measurements on disk: one folder per run, written while the run lasts.

mod bench;
mod document;
mod environment;
mod folder;
mod read;
mod stamp;
mod text;

pub use bench::{Bench, BenchPart, bench};
pub use document::{Document, PlanRecord, SCHEMA};
pub use environment::{ClientRecord, Environment};
pub use folder::{Folder, holds_run};
pub use read::{folders, read, run_in, run_text, runs_below};
pub use text::Root;
