//! Bulk jobs: every input of a long list fetched, and recorded exactly once.
//!
//! The rooms in the order of the flow; each imports only from those before it: `job` (what is asked) → `host` (whom a URL
//! concerns) → `input` (a list → inputs) →
//! `template` (an input → a request in words) → `expression` (what counts as good, what is shown) → `take` (what is wanted of a body) →
//! `robots` (what sites ask) → `sink` (where bodies go) → `plan` (inputs → parts, sealed) → `request`
//! (an input → the engine's request) → `segment` (what a part has come to, and the `COMMIT` that counts) → `seal` (a part → its results) →
//! `run` (parts are worked on) → `show` (a folder, for people) → `start` (a job into a folder) → `again` (some of it once more) →
//! `dispatch` (parts handed out to many machines).
//! `frame` and `record` are what files are made of, `error` is how things fail.

#![forbid(unsafe_code)]

pub mod job;

pub mod host;

pub mod input;

pub mod template;

pub mod expression;

pub mod take;

pub mod robots;

pub mod sink;

pub mod plan;

pub mod request;

pub mod segment;

pub mod seal;

pub mod run;

pub mod show;

pub mod start;

pub mod again;

#[cfg(feature = "nats")]
pub mod dispatch;

pub mod error;
pub mod frame;
pub mod record;

#[cfg(test)]
mod python;
