//! Promises about a driver between commands and at its end.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use hecaton_lab::run::{Driver, Verify};

use super::check::Check;
use super::commands::{go, page, server, to};

/// Most times that a driver is watched. A just-in-time compiler may still be at work after the first requests.
const WATCHES: usize = 4;

/// How long a driver is watched to see that it does nothing.
const IDLE: Duration = Duration::from_millis(300);

/// Share of a core that a driver may use while it has no command.
const IDLE_SHARE: f64 = 0.1;

/// Watches the driver after a round, with its connections open.
pub(super) fn is_idle(check: &Check<'_>) -> Result<()> {
    check.with_process(|process| rests(check, &mut process.driver))
}

fn rests(check: &Check<'_>, driver: &mut Driver) -> Result<()> {
    let server = server()?;
    let prepare = to(format!("{}/r/", server.base_url()), true, Verify::Tail);
    server.open_round(page(0));
    check.prepare(driver, &prepare)?;
    ensure!(
        server.close_round().requests == 0,
        "it sent requests during prepare"
    );
    check.round(driver, &prepare, go(20))?;
    let mut least = f64::INFINITY;
    for _ in 0..WATCHES {
        server.open_round(page(0));
        let before = driver.account();
        std::thread::sleep(IDLE);
        let (user, system) = driver.account().since(&before);
        let page = server.close_round();
        ensure!(
            page.requests == 0,
            "it sent {} requests between commands",
            page.requests
        );
        least = least.min((user + system).as_secs_f64() / IDLE.as_secs_f64());
        if least < IDLE_SHARE {
            return Ok(());
        }
    }
    bail!("it used {:.0} % of a core", least * 100.0)
}

pub(super) fn ends(status: String) -> Result<()> {
    ensure!(status == "exit status: 0", "it ended with {status}");
    Ok(())
}
