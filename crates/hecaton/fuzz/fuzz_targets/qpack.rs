//! See `qpack` in `promises/http3.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hecaton::fuzzing::qpack(bytes));
