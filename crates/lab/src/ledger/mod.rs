//! What was measured, kept on disk: one folder a run, written while it is made.

mod document;
mod environment;
mod folder;
mod read;
mod stamp;

pub use document::{Document, PlanRecord, SCHEMA};
pub use environment::{ClientRecord, Environment};
pub use folder::Folder;
pub use read::{is_unfinished, read};
