//! Bulk jobs: every input of a long list fetched, and recorded exactly once.
//!
//! The rooms in the order of the flow; each imports only from itself and from those that it needs below it: `input` (a list →
//! inputs) → `template` (an input → a request) → `expression` (what counts as good, what is shown) → `take` (what is wanted of a
//! body) → `host`, `robots` (whom a request concerns, and what is asked of us) → `sink` (where bodies go) → `show` (a folder → CSV,
//! Parquet, a page).

#![forbid(unsafe_code)]

pub mod expression;
pub mod host;
pub mod input;
pub mod record;
pub mod robots;
pub mod show;
pub mod sink;
pub mod take;
pub mod template;

#[cfg(test)]
mod python;
