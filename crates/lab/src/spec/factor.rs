//! The factors of an experiment: in what one cell may differ from another. This file says how each is set, how its
//! values are described, and which cells it keeps together. A new one is a field of [`Load`], a line in [`FACTORS`],
//! and its effect on a trial (`run/trial/`).

use super::{Job, Load, Mode, parse_delay};

/// One factor beside the client.
#[derive(Debug)]
pub struct Factor {
    /// Its name on the command line, as in `--set tls=on`; empty if it cannot be set there.
    pub name: &'static str,
    /// Changes a load to what is written, or says what is wrong with it.
    set: fn(&mut Load, &str) -> Result<(), String>,
    /// Its words about a load, given the usual load of the plan; none if they are not needed.
    words: fn(&Load, &Load) -> Option<String>,
    /// Its words about one side of a pair, which differs from the other in it.
    side: fn(&Load) -> Option<String>,
    /// Makes loads alike that may be measured together where a block is long.
    joins: fn(&mut Load),
}

/// For a factor that cannot be set.
const UNSET: fn(&mut Load, &str) -> Result<(), String> = |_, _| Ok(());

/// Every factor, in the order in which loads are described.
#[rustfmt::skip]
pub const FACTORS: [Factor; 11] = [
    Factor { name: "", set: UNSET, words: batch, side: |_| None, joins: |load| if load.mode.take().is_some() { load.concurrency = 0 } },
    Factor { name: "concurrency", set: |load, text| number(text).map(|n| load.concurrency = n), words: concurrency, side: |load| Some(format!("concurrency {}", load.concurrency)), joins: |_| () },
    Factor { name: "body", set: |load, text| number(text).map(|n| load.body_bytes = n), words: |_, _| None, side: |load| Some(format!("body {}", load.body_bytes)), joins: |_| () },
    Factor { name: "", set: UNSET, words: |load, _| load.round_trip_ms.map(|trip| format!("round trip {trip} ms")), side: |_| None, joins: |_| () },
    Factor { name: "delay", set: delay, words: |load, usual| (load.delay != usual.delay).then(|| format!("delay {}", load.delay)), side: |load| Some(format!("delay {}", load.delay)), joins: |load| load.delay = Load::PLAIN.delay },
    Factor { name: "tls", set: |load, text| switch(text).map(|on| load.tls = on), words: |load, usual| (load.tls && !usual.tls).then(|| "TLS".into()), side: |load| Some(format!("tls {}", on(load.tls))), joins: |load| load.tls = false },
    Factor { name: "http", set: version, words: |load, _| load.shares_connections().then(|| load.version().into()), side: |load| Some(load.version().into()), joins: |load| (load.http2, load.http3) = (false, false) },
    Factor { name: "resumption", set: |load, text| switch(text).map(|on| load.no_resumption = !on), words: |load, _| load.no_resumption.then(|| "whole handshakes".into()), side: |load| Some(format!("resumption {}", on(!load.no_resumption))), joins: |load| load.no_resumption = false },
    Factor { name: "keepalive", set: |load, text| switch(text).map(|on| load.keepalive = on), words: |load, _| (!load.keepalive).then(|| "a new connection each".into()), side: |load| Some(format!("keepalive {}", on(load.keepalive))), joins: |load| load.keepalive = true },
    Factor { name: "job", set: job, words: |load, usual| (load.job != usual.job && !load.job.is_plain()).then(|| job_words(load.job).into()), side: |load| Some(format!("job {}", load.job.name())), joins: |load| load.job = Job::Plain },
    Factor { name: "rate", set: |load, text| text.parse().map(|rate| load.rate = Some(rate)), words: |load, _| load.rate.map(|rate| format!("rate {rate}")), side: |load| Some(load.rate.map_or("closed loop".into(), |rate| format!("rate {rate}"))), joins: |_| () },
];

impl Factor {
    /// The one with this name.
    ///
    /// # Errors
    /// A sentence with the names that there are.
    pub fn named(name: &str) -> Result<&'static Factor, String> {
        let known = FACTORS.iter().filter(|factor| !factor.name.is_empty());
        let found = known.clone().find(|factor| factor.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = known.map(|factor| factor.name).collect();
            let (last, others) = names.split_last().expect("there are some");
            format!(
                "`{name}` cannot be set; use {} or {last}",
                others.join(", ")
            )
        })
    }

    /// Says which factors cannot be set for a server other than the lab's.
    pub fn only_of_the_lab() -> String {
        let of_clients = ["keepalive", "concurrency"];
        let names = FACTORS.iter().map(|factor| factor.name);
        let names = names.filter(|name| !name.is_empty() && !of_clients.contains(name));
        let names: Vec<&str> = names.collect();
        let (last, others) = names.split_last().expect("there are some");
        format!(
            "{} and {last} are of the lab's own server; at a URL only {} can be set",
            others.join(", "),
            of_clients.join(" and ")
        )
    }

    /// Changes a load to what is written.
    ///
    /// # Errors
    /// A sentence with what may be written.
    pub fn set(&self, load: &mut Load, text: &str) -> Result<(), String> {
        (self.set)(load, text).map_err(|why| format!("{} {why}", self.name))
    }
}

/// A load in words: how it differs from the others of its client, the body left out. `usual` is that of the plan.
pub fn load_words(load: &Load, usual: &Load) -> String {
    let words = FACTORS.iter();
    let words = words.filter_map(|factor| (factor.words)(load, usual));
    words.collect::<Vec<_>>().join(", ")
}

/// A load in words, without the concurrency and without what the usual load of the plan is called, too.
pub fn other_words(load: &Load, usual: &Load) -> String {
    let others = FACTORS.iter().filter(|it| it.name != "concurrency");
    let words = others.filter_map(|factor| {
        let (own, of_usual) = ((factor.words)(load, usual)?, (factor.words)(usual, usual));
        (Some(&own) != of_usual.as_ref()).then_some(own)
    });
    words.collect::<Vec<_>>().join(", ")
}

/// In which factors one side of a pair differs from the other, in words.
pub fn side_words(side: &Load, other: &Load) -> Vec<String> {
    let differs = |factor: &Factor| {
        let (own, others) = ((factor.side)(side), (factor.side)(other));
        own.filter(|own| Some(own) != others.as_ref())
    };
    FACTORS.iter().filter_map(differs).collect()
}

/// The common part of the loads that are measured together. Batches are compared by their size, whatever is in flight
/// at once.
pub fn together(load: &Load) -> Load {
    let mut joined = *load;
    FACTORS.iter().for_each(|it| (it.joins)(&mut joined));
    joined
}

fn concurrency(load: &Load, usual: &Load) -> Option<String> {
    // A batch of a known size says how many are in flight.
    let is_batch = batch(load, usual).is_some();
    (!is_batch).then(|| format!("concurrency {}", load.concurrency))
}

fn batch(load: &Load, usual: &Load) -> Option<String> {
    let size = load.requests.filter(|_| load.requests != usual.requests)?;
    Some(match load.mode {
        Some(Mode::Sync) => format!("batch of {size} one after another"),
        _ => format!("batch of {size} at once"),
    })
}

fn delay(load: &mut Load, text: &str) -> Result<(), String> {
    load.delay = parse_delay(text).map_err(|why| format!("cannot be `{text}`: {why}"))?;
    Ok(())
}

fn job(load: &mut Load, text: &str) -> Result<(), String> {
    let jobs = [Job::Plain, Job::Json, Job::Gzip];
    let found = jobs.into_iter().find(|job| job.name() == text);
    load.job = found.ok_or_else(|| format!("is plain, json or gzip, not `{text}`"))?;
    Ok(())
}

fn version(load: &mut Load, text: &str) -> Result<(), String> {
    (load.http2, load.http3) = match text {
        "1.1" => (false, false),
        "2" => (true, false),
        "3" => (false, true),
        _ => return Err(format!("is 1.1, 2 or 3, not `{text}`")),
    };
    Ok(())
}

fn job_words(job: Job) -> &'static str {
    match job {
        Job::Json => "JSON",
        job => job.name(),
    }
}

fn on(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| format!("is not a number: `{text}`; write it as in 20"))
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("is on or off, not `{text}`")),
    }
}
