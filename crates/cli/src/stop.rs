//! Ctrl-C and SIGTERM: the first ends the run in order, the second ends the command at once.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use anyhow::Result;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The only flag of this process, so that a signal between two parts of a run ends the next part too.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// A flag that becomes true when the user or the system ends the run.
///
/// # Errors
/// When the system refuses a signal handler.
pub fn on_request() -> Result<Arc<AtomicBool>> {
    if let Some(stop) = STOP.get() {
        return Ok(stop.clone());
    }
    let stop = STOP.get_or_init(Default::default).clone();
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag down and raises it, the second finds it raised.
        flag::register_conditional_shutdown(signal, 130, stop.clone())?;
        flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}
