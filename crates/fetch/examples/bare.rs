//! The engine alone, for a list of URLs: what a bulk download would make if it recorded nothing.
//! `cargo run --release --example bare FILE`

use std::io::{BufRead, BufReader};
use std::time::Duration;

use hecaton::{Batch, Client, Config, Reactor, Request};

const IN_FLIGHT: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a file of URLs")?;
    let mut lines = BufReader::new(std::fs::File::open(path)?).lines();
    let reactor = Reactor::new()?;
    let mut batch = Batch::new(
        Client::try_new(Config::new(Duration::from_secs(30)))?,
        IN_FLIGHT,
    );
    let (mut outcomes, mut good, mut all) = (Vec::new(), 0_u64, 0_u64);
    loop {
        while batch.len() < IN_FLIGHT {
            let Some(url) = lines.next() else { break };
            batch.push(all, Request::get(&url?)?);
            all += 1;
        }
        if batch.is_empty() {
            break;
        }
        reactor.block_on(batch.wait(&mut outcomes));
        for (_, outcome) in outcomes.drain(..) {
            good += u64::from(outcome.is_ok_and(|response| response.status() == 200));
        }
    }
    println!("{good} of {all}");
    Ok(())
}
