//! One's own service: whether it responds, and how long it takes.

use std::time::Duration;

use anyhow::Result;

use super::requests::{REQUEST_TIMEOUT, drawn};
use super::{Cell, Driver, Runner};
use crate::plan::ServiceTime;
use crate::run::Claim;
use crate::run::extras::Files;
use crate::run::service::{Late, Service};
use crate::spec::Target;

/// Most requests of one try of a service, if several requests take turns.
const MOST_TRIED: u64 = 100;

/// Tries of a service before a client is given up.
const TRIES: u32 = 3;

/// So many requests on each connection tell how long one's own service takes, if each is for the same.
const TIMED_WAVES: u64 = 3;

impl<'a> Runner<'a> {
    /// Adds what is needed for the requests to one's own service, and what is known of it.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub(in crate::run) fn at_service(self) -> Result<Runner<'a>> {
        Ok(Runner {
            files: Files::of(&self.sweep.target)?,
            service: Service::of(&self.sweep.target)?,
            ..self
        })
    }

    /// Lines of the access log that came after their round had been judged, and since the last call.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(in crate::run) fn late_lines(&mut self, is_end: bool) -> Result<Vec<Late>> {
        self.service.late(is_end)
    }

    /// Tries one's own service with one request, or, where several take turns, with one of each. If all fail, tries up
    /// to two times more, and returns the driver's account of the last failure if these fail too. A status from 400 to 499
    /// would come again, so it ends the tries.
    ///
    /// # Errors
    /// When the driver does not do its part.
    pub fn try_service(&mut self, driver: &mut Driver) -> Result<Option<Claim>> {
        let cell = self.some_cell(driver, 1);
        driver.prepare(&self.preparation(&cell))?;
        // Where several requests take turns, a single failure is no reason to end.
        let count = self.tried_in_turn();
        let mut failure = None;
        for _ in 0..TRIES {
            let go = drawn(count);
            self.service.begin()?;
            let (claim, _) = driver.go(go.clone(), count as u32 * REQUEST_TIMEOUT)?;
            if claim.done > 0 {
                let logged = self.service.entries(&go, &claim, None)?;
                self.service.check(logged.as_ref())?;
                return Ok(None);
            }
            let is_final = claim.kind().starts_with("status 4");
            failure = Some(claim);
            if is_final {
                break;
            }
        }
        Ok(failure)
    }

    /// Requests to one's own service of which each is different, as far as they are tried.
    fn tried_in_turn(&self) -> u64 {
        match &self.sweep.target {
            Target::Foreign { extras, .. } => extras.urls.unwrap_or(1).min(MOST_TRIED),
            Target::TestServer => 1,
        }
    }

    /// Times one's own service by the first client that it responds to. One request is in flight, and then as many as the
    /// client ever has. None later, and none at the test server.
    ///
    /// # Errors
    /// When the driver does not do its part.
    pub fn time_service(&mut self, driver: &mut Driver) -> Result<Option<ServiceTime>> {
        let Target::Foreign { .. } = &self.sweep.target else {
            return Ok(None);
        };
        if std::mem::replace(&mut self.is_timed, true) {
            return Ok(None);
        }
        let most = self.sweep.highest_concurrency_of(driver.client());
        let mut each = |concurrency: usize| {
            let cell = self.some_cell(driver, concurrency);
            let wave = self.open_connections(driver, &cell)?;
            let in_flight = cell.load.concurrency as u64;
            let waves = TIMED_WAVES.max(self.tried_in_turn().div_ceil(in_flight));
            let count = waves * in_flight;
            let (_, wall) = driver.go(drawn(count), wave.saturating_mul(waves as u32))?;
            anyhow::Ok(wall.div_f64(count as f64))
        };
        let alone = each(1)?;
        let together = if most == 1 { alone } else { each(most)? };
        Ok(Some(ServiceTime { alone, together }))
    }

    /// On a foreign server: prepares and sends one wave, which opens the connections. Returns its length.
    pub(super) fn open_connections(
        &mut self,
        driver: &mut Driver,
        cell: &Cell,
    ) -> Result<Duration> {
        driver.prepare(&self.preparation(cell))?;
        let go = drawn(cell.load.concurrency as u64);
        Ok(driver.go(go, REQUEST_TIMEOUT)?.1)
    }
}
