//! Promises about requests to a user's own service that differ from each other. Those of a HAR file take turns. Where
//! an access log is read, each has its id in a header field.

use anyhow::{Context, Result, ensure};
use hecaton_lab::run::{Files, ID_PREFIX, Prepare, Verify};
use hecaton_lab::spec::{Extras, Skill, Target};
use serde_json::json;

use super::check::{Check, DriverProcess};
use super::commands::{FIRST, go, to};
use super::recorder::{Recorded, Recorder};
use super::work::all_done;

/// Requests of a round: as many of each that takes turns.
const COUNT: u64 = 30;

/// The header field with the id.
const ID: &str = "X-Hecaton-Check";

/// The field by which requests that take turns differ, beside their method, path and body.
const TURN: &str = "x-turn";

/// One of the requests that take turns.
struct Turn {
    method: &'static str,
    path: &'static str,
    body: Option<&'static str>,
}

static TURNS: [Turn; 3] = [
    Turn {
        method: "GET",
        path: "/first?a=1",
        body: None,
    },
    Turn {
        method: "POST",
        path: "/second",
        body: Some("{\"order\": 1}"),
    },
    Turn {
        method: "PUT",
        path: "/third",
        body: Some("ä body of the third"),
    },
];

/// Requests take turns by their ids, each with its own method, URL, header fields and body.
pub(super) fn takes_turns(check: &Check<'_>) -> Result<()> {
    check.with_process(|process| {
        if !process.hello.can(Skill::Requests) {
            return Ok(());
        }
        let with_id = process.hello.can(Skill::IdField);
        let turns: Vec<&Turn> = TURNS
            .iter()
            .filter(|turn| process.hello.methods.iter().any(|own| own == turn.method))
            .collect();
        let recorder = Recorder::start()?;
        let files = Files::of(&takers(&turns, &recorder))?;
        let prepare = Prepare {
            requests: files.requests.clone(),
            id_field: with_id.then(|| ID.to_owned()),
            ..to(recorder.url("/none"), false, Verify::None)
        };
        for (id, request) in sent(check, process, &prepare, &recorder, with_id)? {
            let turn = match id {
                Some(id) => usize::try_from(id)? % turns.len(),
                None => turn_of(&request)?,
            };
            turns[turn].check(turn, &request)?;
        }
        Ok(())
    })
}

/// Each request has its id in a header field, and is sent once.
pub(super) fn gives_ids(check: &Check<'_>) -> Result<()> {
    check.with_process(|process| {
        if !process.hello.can(Skill::IdField) {
            return Ok(());
        }
        let recorder = Recorder::start()?;
        let prepare = Prepare {
            id_field: Some(ID.to_owned()),
            ..to(recorder.url("/one"), false, Verify::None)
        };
        for (_, request) in sent(check, process, &prepare, &recorder, true)? {
            ensure!(
                (&*request.method, &*request.path) == ("GET", "/one"),
                "instead of GET /one it sent {} {}",
                request.method,
                request.path
            );
        }
        Ok(())
    })
}

/// The service whose requests take turns.
fn takers(turns: &[&Turn], recorder: &Recorder) -> Target {
    let line = |(place, turn): (usize, &&Turn)| {
        let mut entry = json!({
            "method": turn.method, "url": recorder.url(turn.path), "fields": { "X-Turn": place.to_string() },
        });
        if let Some(body) = turn.body {
            entry["body"] = body.into();
        }
        format!("{entry}\n")
    };
    let extras = Extras {
        har: turns.iter().enumerate().map(line).collect(),
        ..Extras::default()
    };
    Target::Foreign {
        method: "GET".into(),
        url: recorder.url("/none"),
        requests: COUNT,
        extras: Box::new(extras),
    }
}

/// Sends a round; what arrived, each with its id if it should have one.
fn sent(
    check: &Check<'_>,
    process: &mut DriverProcess,
    prepare: &Prepare,
    recorder: &Recorder,
    with_id: bool,
) -> Result<Vec<(Option<u64>, Recorded)>> {
    let claim = check.round(&mut process.driver, prepare, go(COUNT))?;
    all_done(&claim, COUNT)?;
    let requests = recorder.take();
    ensure!(
        requests.len() as u64 == COUNT,
        "it claims {COUNT} done, and {} arrived",
        requests.len()
    );
    let with_ids = requests.into_iter().map(|request| {
        let id = with_id.then(|| id_of(&request)).transpose()?;
        Ok((id, request))
    });
    let mut with_ids: Vec<(Option<u64>, Recorded)> = with_ids.collect::<Result<_>>()?;
    with_ids.sort_by_key(|(id, _)| *id);
    let expected = (FIRST..FIRST + COUNT).map(|id| with_id.then_some(id));
    ensure!(
        with_ids.iter().map(|(id, _)| *id).eq(expected),
        "not each id from {FIRST} on arrived once in {ID}"
    );
    Ok(with_ids)
}

fn id_of(request: &Recorded) -> Result<u64> {
    let value = request.fields.get(&ID.to_ascii_lowercase());
    let value = value.with_context(|| format!("a request arrived without {ID}"))?;
    let digits = value.strip_prefix(ID_PREFIX).and_then(|id| id.parse().ok());
    digits
        .with_context(|| format!("{ID} is `{value}`, and not `{ID_PREFIX}` with the id behind it"))
}

fn turn_of(request: &Recorded) -> Result<usize> {
    let value = request.fields.get(TURN);
    let value = value.context("a request arrived without the header field of its line")?;
    Ok(value.parse()?)
}

impl Turn {
    fn check(&self, place: usize, request: &Recorded) -> Result<()> {
        let found = (&*request.method, &*request.path);
        ensure!(
            found == (self.method, self.path),
            "instead of {} {} it sent {} {}",
            self.method,
            self.path,
            found.0,
            found.1
        );
        let turn = turn_of(request)?;
        ensure!(
            turn == place,
            "line {place} was sent with the header field of line {turn}"
        );
        let body = self.body.unwrap_or_default().as_bytes();
        ensure!(
            request.body == body,
            "the body of {} {} was {:?}",
            self.method,
            self.path,
            String::from_utf8_lossy(&request.body)
        );
        Ok(())
    }
}
