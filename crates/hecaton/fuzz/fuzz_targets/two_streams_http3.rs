//! Two responses on one connection over HTTP/3: what is handed over as a success is all of what was sent.
#![no_main]

// It needs nothing but what the engine makes public, so that tests run it too.
#[path = "../../../../tests/engine/http3_script.rs"]
mod http3_script;
#[path = "../../../../tests/engine/two_streams.rs"]
mod two_streams;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| http3_script::run(http3_script::Script::new(bytes)));
