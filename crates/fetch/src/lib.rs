//! Bulk downloads: every input of a long list fetched, and recorded exactly once.
//!
//! The modules in the order of the flow; each imports only from earlier ones. `job` holds the settings. `objects` is
//! object storage. `host` compares hosts and says whose they are. `input` reads lists. `template` fills columns into
//! texts. `expression` evaluates conditions. `take` extracts values from bodies. `robots` reads robots.txt. `sink`
//! stores bodies. `plan` divides inputs into parts. `request` makes the engine's requests. `segment` stores what a part
//! has done, and the `COMMIT` that decides. `finalize` writes the results of a part. `run` sends and records. `show`
//! reads a folder for people. `verify` looks whether all of it is there. `start` plans or resumes a job. `again` sends
//! some inputs once more. `finish` completes a job and makes its products. `remote` has a job in object storage.
//! `place` is what a verb does with a job, wherever it lives. `dispatch` distributes parts to many machines. `frame`
//! and `record` are the formats of files, and `error` has the kinds of failure.

#![forbid(unsafe_code)]

pub mod job;

#[cfg(feature = "objects")]
pub mod objects;

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

pub mod finalize;

pub mod run;

pub mod show;

pub mod verify;

pub mod start;

pub mod again;

pub mod finish;

#[cfg(feature = "objects")]
pub mod remote;

pub mod place;

pub mod dispatch;

pub mod error;
pub mod frame;
pub mod record;

#[cfg(test)]
mod python;
