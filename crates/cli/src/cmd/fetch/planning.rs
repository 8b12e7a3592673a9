//! Inputs are read and planned: the first Ctrl-C or SIGTERM meanwhile, and what is said of a plan without inputs.

use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use hecaton_fetch::start::Started;

use crate::exit::INTERRUPTED;

/// How often the flag is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A sentence for a job whose sitemaps list nothing. The job is good, and its user may have meant another sitemap.
pub fn nothing_listed(started: &Started) -> Option<String> {
    if started.plan.inputs > 0 {
        return None;
    }
    match &started.job.input.sitemap[..] {
        [] => None,
        [one] => Some(format!("the sitemap {one} lists no page")),
        several => Some(format!("the sitemaps {} list no page", several.join(", "))),
    }
}

/// Reads the inputs of a job and plans it. The first signal ends the command meanwhile, because a read may wait for
/// ever. A plan counts once its last file is renamed, so that the end may come at any moment.
pub fn until_stopped<T>(stop: &Arc<AtomicBool>, plan: impl FnOnce() -> T) -> T {
    let (done, wait) = channel::<()>();
    let stop = stop.clone();
    let watch = thread::spawn(move || {
        while wait.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            if stop.load(Ordering::Relaxed) {
                crate::say!(
                    "hecaton: stopped while the inputs were read: none of them was requested, and the same command begins again"
                );
                exit(INTERRUPTED.into());
            }
        }
    });
    let planned = plan();
    drop(done);
    // If the command ends there, it does nothing more here.
    let _ = watch.join();
    planned
}
