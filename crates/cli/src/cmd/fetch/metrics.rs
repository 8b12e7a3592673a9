//! `--metrics HOST:PORT`: how far a run is, in the OpenMetrics format, for Prometheus and the like.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use hecaton_fetch::error::Error;
use hecaton_fetch::run::Snapshot;
use hecaton_fetch::segment::Tally;
use parking_lot::Mutex;

/// The longest that a scraper may take to send its request, or to read the response.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most clients that are served at once; more are disconnected.
const MOST_CLIENTS: usize = 64;

/// The most bytes of a request.
const LONGEST: usize = 8 << 10;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves the last snapshot until the process ends.
#[derive(Clone, Default)]
pub struct Metrics(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    snapshot: Snapshot,
    /// The highest value of each count until now: a counter must not fall when another worker takes a part over.
    most: Tally,
}

impl Metrics {
    /// Listens on an address such as `127.0.0.1:9100`, and says where if the port was 0.
    ///
    /// # Errors
    /// When it is no address, or is in use.
    pub fn serve(address: &str) -> Result<Metrics> {
        let listener = TcpListener::bind(address).map_err(|error| {
            let why = format!("cannot listen on {address} for --metrics: {error}; use HOST:PORT, as in 127.0.0.1:9100");
            Error::usage(why)
        })?;
        let bound = listener.local_addr()?;
        if address.ends_with(":0") {
            crate::say!("metrics: http://{bound}/metrics");
        }
        let metrics = Metrics::default();
        let served = metrics.clone();
        // The threads end with the process. A scraper does not wait for clients that are silent, and a stranger cannot
        // make many threads.
        std::thread::spawn(move || {
            let busy = Arc::new(());
            for stream in listener.incoming().flatten() {
                let (served, held) = (served.clone(), busy.clone());
                if Arc::strong_count(&busy) > MOST_CLIENTS {
                    continue;
                }
                std::thread::spawn(move || {
                    // A client that has disconnected gets nothing.
                    let _ = served.respond(stream);
                    drop(held);
                });
            }
        });
        Ok(metrics)
    }

    /// Notes how far the run is.
    pub fn note(&self, snapshot: &Snapshot) {
        let mut held = self.0.lock();
        held.snapshot.clone_from(snapshot);
        held.most.raise(&snapshot.tally);
    }

    fn respond(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let path = path(&mut stream)?;
        let (status, body) = match path.as_deref() {
            Some("/metrics") => {
                let held = self.0.lock();
                ("200 OK", text(&held.snapshot, &held.most))
            }
            Some(_) => ("404 Not Found", "see /metrics\n".to_owned()),
            None => ("400 Bad Request", "not a GET of a path\n".to_owned()),
        };
        let kind = match status {
            "200 OK" => OPEN_METRICS,
            _ => "text/plain; charset=utf-8",
        };
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    }
}

/// The path of a GET, once its head has come.
fn path(stream: &mut TcpStream) -> std::io::Result<Option<String>> {
    let begun = std::time::Instant::now();
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut piece)?;
        head.extend_from_slice(&piece[..read]);
        if read == 0 || head.len() > LONGEST || begun.elapsed() > PATIENCE {
            return Ok(None);
        }
    }
    let head = String::from_utf8_lossy(&head);
    let target = head
        .strip_prefix("GET ")
        .and_then(|rest| rest.split(' ').next());
    let path = target.and_then(|target| target.split('?').next());
    Ok(path.map(str::to_owned))
}

/// The families of samples: the name, the type and the meaning of each.
const FAMILIES: [(&str, &str, &str); 10] = [
    ("inputs", "gauge", "Inputs of the job."),
    (
        "records",
        "counter",
        "Inputs that have their record, by outcome.",
    ),
    (
        "pages",
        "counter",
        "Pages that others follow, whose records are beside those.",
    ),
    ("good", "counter", "Good responses."),
    ("parts", "gauge", "Parts of the job."),
    ("parts_done", "gauge", "Parts that are done."),
    ("in_flight", "gauge", "Requests in flight."),
    (
        "rate",
        "gauge",
        "Records a second in the last five seconds.",
    ),
    ("run_seconds", "gauge", "Time since this run began."),
    ("trouble", "gauge", "1 while the worker cannot get parts."),
];

/// The samples of a family, each with what follows the family's name.
fn samples(family: &str, snapshot: &Snapshot, tally: &Tally) -> Vec<(String, f64)> {
    let value = match family {
        "records" => {
            let label = |outcome| format!("_total{{outcome=\"{outcome}\"}}");
            let all = outcomes(tally).map(|(outcome, number)| (label(outcome), number as f64));
            return all.into();
        }
        "pages" => return vec![("_total".into(), tally.pages as f64)],
        "good" => return vec![("_total".into(), tally.ok as f64)],
        "inputs" => snapshot.inputs as f64,
        "parts" => snapshot.parts as f64,
        "parts_done" => snapshot.parts_done as f64,
        "in_flight" => snapshot.in_flight as f64,
        "rate" => snapshot.rate,
        "run_seconds" => snapshot.seconds,
        _ => f64::from(u8::from(snapshot.trouble.is_some())),
    };
    vec![(String::new(), value)]
}

/// A snapshot in the OpenMetrics format.
fn text(snapshot: &Snapshot, tally: &Tally) -> String {
    let mut out = String::new();
    // Writing into a String cannot fail.
    for (family, kind, help) in FAMILIES {
        let name = format!("hecaton_fetch_{family}");
        let _ = writeln!(out, "# TYPE {name} {kind}\n# HELP {name} {help}");
        if name.ends_with("_seconds") {
            let _ = writeln!(out, "# UNIT {name} seconds");
        }
        for (suffix, value) in samples(family, snapshot, tally) {
            let _ = writeln!(out, "{name}{suffix} {value}");
        }
    }
    out + "# EOF\n"
}

fn outcomes(tally: &Tally) -> [(&'static str, u64); 8] {
    [
        ("response", tally.responses),
        ("unchanged", tally.unchanged),
        ("onward", tally.onward),
        ("error", tally.errors),
        ("skipped", tally.skipped),
        ("unreached", tally.unreached),
        ("unknown", tally.unknown),
        ("invalid", tally.invalid),
    ]
}
