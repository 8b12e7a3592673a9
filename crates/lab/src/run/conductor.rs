//! The conductor: starts the drivers of each launch and leads them through their visits.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hecaton_origin::{Options, Origin, Tls};

use super::visit::Bench;
use super::{Driver, Hello, Pinning, Round};
use crate::plan::visits;
use crate::spec::{Manifest, RAW, Sweep, Target, Usage};

/// What a run needs besides the question.
pub struct Stage {
    /// This very program, which is also the raw loader.
    pub program: PathBuf,
    /// Folder for the error output of drivers.
    pub logs: PathBuf,
    /// Which core does what.
    pub pinning: Option<Pinning>,
    /// How long an answer may take beyond three times what is expected.
    pub patience: Duration,
    /// Becomes true when the run should end.
    pub stop: Arc<AtomicBool>,
}

/// What happens during a run.
pub enum Event<'a> {
    /// A driver has been started and said who it is.
    Started(&'a Hello),
    /// The raw loader cannot serve this target, so there is no ceiling.
    NoCeiling(String),
    /// A round has been measured.
    Measured(Box<Round>),
}

/// Makes every visit of a sweep, in order.
///
/// # Errors
/// The first thing that goes wrong, whether here or in `observe`; every round until then has been handed over.
pub fn sweep(
    sweep: &Sweep,
    stage: &Stage,
    observe: &mut dyn FnMut(Event<'_>) -> Result<()>,
) -> Result<()> {
    let origin = start_origin(sweep, stage.pinning)?;
    let ca = origin.as_ref().map(|origin| authority(origin, &stage.logs));
    let ca = ca.transpose()?.flatten();
    let mut bench = Bench::new(sweep, origin, ca.clone());
    let visits = visits(sweep);
    for launch in visits.chunk_by(|left, right| left.launch == right.launch) {
        let number = launch[0].launch;
        let mut drivers = start_drivers(sweep, stage, number, observe)?;
        for driver in &mut drivers {
            driver.resume();
            bench.warm_up(driver)?;
            driver.pause();
        }
        for visit in launch {
            // A client that cannot serve the target has been reported and has no driver.
            let Some(driver) = drivers
                .iter_mut()
                .find(|driver| driver.client() == visit.cell.client)
            else {
                continue;
            };
            driver.resume();
            let round = bench.visit(driver, visit)?;
            driver.pause();
            observe(Event::Measured(Box::new(round)))?;
        }
        for driver in drivers {
            driver.resume();
            driver.bye()?;
        }
    }
    if let Some(ca) = ca {
        let _ = std::fs::remove_file(ca); // else its folder would stay for it alone
    }
    Ok(())
}

fn start_origin(sweep: &Sweep, pinning: Option<Pinning>) -> Result<Option<Origin>> {
    if !sweep.target.is_origin() {
        return Ok(None);
    }
    let options = Options {
        delay: sweep.delay,
        seed: sweep.seed,
        core: pinning.map(|pinning| pinning.origin_core),
        tls: sweep.tls.then(Tls::default),
        ..Options::default()
    };
    Ok(Some(
        Origin::start(options).context("the origin cannot start")?,
    ))
}

/// The file with the certificate of the authority that the origin's is signed by; none without TLS.
fn authority(origin: &Origin, folder: &Path) -> Result<Option<PathBuf>> {
    let Some(pem) = origin.ca_pem() else {
        return Ok(None);
    };
    let path = std::path::absolute(folder.join("ca.pem"))?;
    std::fs::write(&path, pem).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Some(path))
}

/// Starts one process of every client; each waits, stopped, for its turn.
fn start_drivers(
    sweep: &Sweep,
    stage: &Stage,
    launch: u32,
    observe: &mut dyn FnMut(Event<'_>) -> Result<()>,
) -> Result<Vec<Driver>> {
    let raw = Manifest::raw(&stage.program);
    let mut drivers = Vec::new();
    let raw = sweep.ceiling.then_some(&raw);
    for manifest in sweep.clients.iter().chain(raw) {
        let log = log_of(&stage.logs, &manifest.client, launch);
        let core = stage.pinning.map(|pinning| pinning.client_core);
        let mut driver = Driver::start(manifest, core, &log, stage.patience, stage.stop.clone())?;
        let hello = driver.hello()?;
        match objection(&hello, sweep) {
            None => observe(Event::Started(&hello))?,
            Some(why) if hello.name == RAW && !sweep.clients.is_empty() => {
                if launch == 0 {
                    observe(Event::NoCeiling(why))?;
                }
                continue;
            }
            Some(why) => bail!(Usage(format!(
                "{}; leave it out or ask for something else",
                why
            ))),
        }
        driver.pause();
        drivers.push(driver);
    }
    Ok(drivers)
}

fn log_of(folder: &Path, client: &str, launch: u32) -> PathBuf {
    folder.join(format!("{client}-{launch}.log"))
}

/// Why a client cannot be asked for this sweep.
fn objection(hello: &Hello, sweep: &Sweep) -> Option<String> {
    let name = &hello.name;
    let highest = sweep.highest_concurrency();
    if hello.max_concurrency < highest {
        return Some(format!(
            "{name} keeps at most {} requests in flight, not {highest}",
            hello.max_concurrency
        ));
    }
    for keepalive in sweep.ways_to_connect(name) {
        if !hello.keepalive.contains(&keepalive) {
            let cannot = if keepalive {
                "keep connections"
            } else {
                "open a connection for each request"
            };
            return Some(format!("{name} does not {cannot}"));
        }
    }
    let https = match &sweep.target {
        Target::Origin => sweep.tls,
        Target::Foreign { url, .. } => url.starts_with("https:"),
    };
    if https && !hello.tls {
        return Some(format!("{name} does not speak https"));
    }
    let Target::Foreign { method, .. } = &sweep.target else {
        return None;
    };
    if !hello.methods.contains(method) {
        return Some(format!("{name} does not send {method}"));
    }
    None
}

#[cfg(test)]
mod tests {
    use hecaton_origin::Delay;

    use super::*;

    fn hello() -> Hello {
        let text = r#"{"proto":1,"name":"x","version":"1","runtime":"r","engine":"e","http":["1.1"],"tls":false,
            "models":["threads"],"keepalive":[true],"retries":"off","max_concurrency":50,"cores":1,"verify":["tail"],
            "methods":["GET"]}"#;
        serde_json::from_str(text).unwrap()
    }

    fn sweep(concurrency: usize, method: &str, url: &str) -> Sweep {
        Sweep {
            clients: vec![],
            concurrency: vec![1, concurrency],
            body_bytes: vec![0],
            keepalive: vec![true],
            tls: false,
            ceiling: true,
            delay: Delay::None,
            rounds: 1,
            launches: 1,
            round_time: Duration::from_millis(100),
            warm_up: Duration::ZERO,
            seed: 1,
            target: Target::Foreign {
                method: method.into(),
                url: url.into(),
                requests: 500,
            },
        }
    }

    #[test]
    fn a_client_is_only_asked_for_what_it_can_do() {
        assert_eq!(
            objection(&hello(), &sweep(50, "GET", "http://127.0.0.1/")),
            None
        );
        let cases = [
            (
                sweep(51, "GET", "http://127.0.0.1/"),
                "x keeps at most 50 requests in flight, not 51",
            ),
            (
                sweep(50, "GET", "https://127.0.0.1/"),
                "x does not speak https",
            ),
            (sweep(50, "PUT", "http://127.0.0.1/"), "x does not send PUT"),
        ];
        for (sweep, why) in cases {
            assert_eq!(objection(&hello(), &sweep).as_deref(), Some(why));
        }
        let mut keeping = sweep(50, "GET", "http://127.0.0.1/");
        keeping.clients = vec![Manifest {
            client: "x".into(),
            ..Manifest::raw(Path::new("hecaton"))
        }];
        assert_eq!(objection(&hello(), &keeping), None);
        let forgetful = Hello {
            keepalive: vec![false],
            ..hello()
        };
        assert_eq!(
            objection(&forgetful, &keeping).as_deref(),
            Some("x does not keep connections")
        );
        keeping.keepalive = vec![false];
        assert_eq!(
            objection(&hello(), &keeping).as_deref(),
            Some("x does not open a connection for each request")
        );
    }
}
