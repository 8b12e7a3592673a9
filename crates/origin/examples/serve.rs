//! Serves an origin until standard input ends; prints its base URL first and its summary last.

use std::io::{Read, stdin};

use hecaton_origin::{Options, Origin};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let core = std::env::args().nth(1).and_then(|core| core.parse().ok());
    let origin = Origin::start(Options {
        core,
        ..Options::default()
    })?;
    println!("{}", origin.base_url());
    stdin().read_to_end(&mut Vec::new())?;
    println!("{}", serde_json::to_string_pretty(&origin.stop())?);
    Ok(())
}
