//! End-to-end tests: see the files beside this one. What several crates' tests use is here.

pub mod peer;
