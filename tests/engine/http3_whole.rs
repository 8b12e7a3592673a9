//! A body over HTTP/3 is whole or an error, whatever else the server sends on its connection.

use crate::http3_script::{Script, run};

#[test]
fn two_responses_of_any_script_are_whole_or_errors() {
    let mut state = 1_u64;
    // Knuth's generator; its upper bits are good enough.
    let mut next = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    for _ in 0..60 {
        let length = 1 + 2 * usize::from(next() % 16);
        let bytes: Vec<u8> = (0..length).map(|_| next()).collect();
        println!("{bytes:?}"); // Shown if it fails.
        run(Script::new(&bytes));
    }
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
