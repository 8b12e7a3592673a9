//! Bulk jobs: every input of a long list fetched, and recorded exactly once.

#![forbid(unsafe_code)]

pub mod job;

pub mod input;

pub mod host;

pub mod request;

pub mod plan;

pub mod segment;

pub mod seal;

pub mod run;

pub mod show;

pub mod start;

pub mod error;
pub mod frame;
pub mod record;
