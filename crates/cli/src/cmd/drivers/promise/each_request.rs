//! The promise that each request to a user's own service has its id in a header field, where an access log is read.

use anyhow::{Context, Result, ensure};
use hecaton_lab::run::{ID_PREFIX, Prepare, Verify};
use hecaton_lab::spec::Skill;

use super::check::Check;
use super::commands::{FIRST, go, to};
use super::recorder::{Recorded, Recorder};
use super::work::all_done;

/// Requests of a round.
const COUNT: u64 = 30;

/// The header field with the id.
const ID: &str = "X-Hecaton-Check";

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
        let claim = check.round(&mut process.driver, &prepare, go(COUNT))?;
        all_done(&claim, COUNT)?;
        let requests = recorder.take();
        ensure!(
            requests.len() as u64 == COUNT,
            "it claims {COUNT} done, and {} arrived",
            requests.len()
        );
        for request in &requests {
            ensure!(
                (&*request.method, &*request.path) == ("GET", "/one"),
                "instead of GET /one it sent {} {}",
                request.method,
                request.path
            );
        }
        let mut ids: Vec<u64> = requests.iter().map(id_of).collect::<Result<_>>()?;
        ids.sort_unstable();
        ensure!(
            ids.into_iter().eq(FIRST..FIRST + COUNT),
            "not each id from {FIRST} on arrived once in {ID}"
        );
        Ok(())
    })
}

fn id_of(request: &Recorded) -> Result<u64> {
    let value = request.fields.get(&ID.to_ascii_lowercase());
    let value = value.with_context(|| format!("a request arrived without {ID}"))?;
    let digits = value.strip_prefix(ID_PREFIX).and_then(|id| id.parse().ok());
    digits
        .with_context(|| format!("{ID} is `{value}`, and not `{ID_PREFIX}` with the id behind it"))
}
