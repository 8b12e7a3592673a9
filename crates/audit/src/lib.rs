//! Audits HTTP clients by the log of a server that misbehaves.
//!
//! The stages import in one direction: `case` (the data) → `server` (what happens) → `subject` (who is audited, and the
//! clients of our own) → `facts` → `judge` (one verdict) → `run` → `report`.

pub mod case;

pub mod server;

pub mod subject;

pub mod clients;

pub mod facts;

mod judge;

pub mod run;

pub mod listen;

pub mod report;
