//! End-to-end tests: see the files beside this one. Tests of several crates use `peer`.

pub mod peer;
