//! Reads lists as a job does, and says how fast: `cargo run --release --example read_list FILE…`

use std::time::Instant;

use hecaton_fetch::host::Host;
use hecaton_fetch::input::{Inputs, Source};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sources = std::env::args()
        .skip(1)
        .map(|name| Source::named(&name))
        .collect();
    let start = Instant::now();
    let (mut inputs, mut invalid, mut hosts) = (0_u64, 0_u64, 0_u64);
    for entry in Inputs::open(sources, None)? {
        match entry?.held {
            Ok(columns) => {
                inputs += 1;
                let url = columns.get("url");
                hosts += u64::from(url.is_some_and(|url| Host::of(url).is_ok()));
            }
            Err(_) => invalid += 1,
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let all = (inputs + invalid) as f64;
    println!(
        "{inputs} inputs, {invalid} invalid, {hosts} hosts, {:.0} a second",
        all / seconds
    );
    Ok(())
}
