//! Facts about one's own service besides the claims of clients: its access log, and the CPU time of its processes.

use std::time::Duration;

use anyhow::{Result, bail};

use super::access_log::{AccessLog, Expectation, ID_PREFIX, LogEntries, path};
use super::pace::Paced;
use super::{Account, Cell, Claim, Go, members};
use crate::spec::{Expected, Extras, Target};

/// The witnesses of a run; none where the target is the lab's own, or nobody named any.
#[derive(Default)]
pub(super) struct Service {
    log: Option<AccessLog>,
    pid: Option<i32>,
    expected: Option<Expected>,
    id_field: String,
    /// The requests that take turns.
    turns: Vec<Option<(String, String)>>,
    /// The rounds that the log has judged.
    judged: Vec<(Cell, u32)>,
}

/// Lines of the access log that came when their round had been judged.
#[derive(Debug)]
pub struct Late {
    /// The cell of the round.
    pub cell: Cell,
    /// Its block.
    pub block: u32,
    /// How many.
    pub lines: u64,
}

impl Service {
    /// Those that a target names.
    ///
    /// # Errors
    /// When the log cannot be read, or no process has the ID.
    pub(super) fn of(target: &Target) -> Result<Service> {
        let Target::Foreign {
            method,
            url,
            extras,
            ..
        } = target
        else {
            return Ok(Service::default());
        };
        if let Some(pid) = extras.server_pid.filter(|pid| !members::lives(*pid)) {
            bail!(
                "no process has the ID {pid}; --server-pid takes the ID of your service's process"
            );
        }
        Ok(Service {
            log: extras
                .access_log
                .as_deref()
                .map(AccessLog::open)
                .transpose()?,
            pid: extras.server_pid,
            expected: extras.expect.clone(),
            id_field: extras.id_field.clone().unwrap_or_default(),
            turns: turns(method, url, extras),
            judged: Vec::new(),
        })
    }

    /// Fails when requests have been sent and the access log has none of them: then it would refute every client.
    pub(super) fn check(&self, logged: Option<&LogEntries>) -> Result<()> {
        let (Some(log), Some(logged)) = (&self.log, logged) else {
            return Ok(());
        };
        if logged.distinct > 0 {
            return Ok(());
        }
        let (field, path) = (&self.id_field, log.path().display());
        bail!(
            "the access log {path} has no line with the id of a request that was just sent ({field}: {ID_PREFIX}…); let the service log \
             this header field, and each line at once"
        )
    }

    /// Before a round.
    pub(super) fn begin(&mut self) -> Result<Option<Account>> {
        if let Some(log) = &mut self.log {
            log.skip()?;
        }
        Ok(self.account())
    }

    /// The CPU time of the service since a round began with `before`; none where its process was not named.
    pub(super) fn used_since(&self, before: Option<Account>) -> Option<Duration> {
        let now = self.account();
        now.zip(before)
            .map(|(now, before)| now.total_since(&before))
    }

    /// The CPU time of the service: of the process that was named and of all below it.
    fn account(&self) -> Option<Account> {
        self.pid.map(|pid| Account::read(&members::tree(pid)))
    }

    /// The requests of a round have been judged: what the log says of them from now on is late.
    pub(super) fn judge(&mut self, cell: &Cell, block: u32, go: &Go) {
        if let Some(log) = &mut self.log {
            log.judge(go.first, go.count);
            self.judged.push((cell.clone(), block));
        }
    }

    /// Late lines since this was called last. At the end of a run those are waited for that are under way.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(super) fn late(&mut self, is_end: bool) -> Result<Vec<Late>> {
        let Some(log) = &mut self.log else {
            return Ok(Vec::new());
        };
        if is_end {
            log.settle()?;
        }
        let late = log.late().into_iter().map(|(place, lines)| {
            let (cell, block) = self.judged[place].clone();
            Late { cell, block, lines }
        });
        Ok(late.collect())
    }

    /// What the access log has of a round that has ended.
    pub(super) fn entries(
        &mut self,
        go: &Go,
        claim: &Claim,
        paced: Option<&Paced>,
    ) -> Result<Option<LogEntries>> {
        let is_success = |status: u16| match &self.expected {
            Some(expected) => expected.holds(status),
            None => (200..300).contains(&status),
        };
        let start = Duration::from_micros(go.start.unwrap_or_default());
        let due = |place| start + paced.map(|paced| paced.offset(place)).unwrap_or_default();
        let expectation = Expectation {
            first: go.first,
            count: go.count,
            done: claim.done,
            is_success: &is_success,
            due: paced.is_some().then_some(&due),
            turns: &self.turns,
        };
        let logged = self.log.as_mut().map(|log| log.entries(&expectation));
        logged.transpose()
    }
}

/// The method and the path of each request that takes turns.
fn turns(method: &str, url: &str, extras: &Extras) -> Vec<Option<(String, String)>> {
    let urls = match extras.mix.is_empty() {
        true => url,
        false => &extras.mix,
    };
    urls.lines().map(|url| turn(method, url)).collect()
}

/// None where a path has characters that clients may escape or not.
fn turn(method: &str, url: &str) -> Option<(String, String)> {
    let path = path(url);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    let plain = path.bytes().all(is_plain) && !path.contains("/.") && !path.contains("//");
    plain.then(|| (method.to_owned(), path))
}
