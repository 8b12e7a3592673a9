//! The command hecaton.
fn main() {}
