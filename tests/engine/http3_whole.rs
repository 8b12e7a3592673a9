//! A body over HTTP/3 is whole or an error, whatever else the server sends on its connection.

use crate::http2_whole::random_scripts;
use crate::http3_script::{Script, run};

#[test]
fn two_responses_of_any_script_are_whole_or_errors() {
    random_scripts(60, |bytes| run(Script::new(bytes)));
}

#[test]
fn the_seeds_of_the_fuzz_target() {
    let seeds = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/hecaton/fuzz/seeds/two_streams_http3"
    );
    for seed in std::fs::read_dir(seeds).unwrap() {
        let bytes = std::fs::read(seed.unwrap().path()).unwrap();
        println!("{bytes:?}"); // Shown if it fails.
        run(Script::new(&bytes));
    }
}
