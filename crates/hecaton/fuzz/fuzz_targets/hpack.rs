//! See `hpack` in `src/fuzzing.rs` of the engine.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hecaton::fuzzing::hpack(bytes));
