//! Users that drivers run as, so that none may look into the lab, signal another, or change what was written down.

use std::sync::atomic::{AtomicU32, Ordering};

/// Numbers that systems leave to users who come and go (systemd's `DynamicUser`).
const FIRST: u32 = 61_184;
const COUNT: u32 = 4000;

/// A user that nothing else runs as; none where this process may not become others, or `HECATON_USERS` is `off`.
pub fn of_its_own() -> Option<u32> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let unwanted = std::env::var_os("HECATON_USERS").is_some_and(|wish| wish == "off");
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    let offset = std::process::id().wrapping_mul(97).wrapping_add(next) % COUNT;
    (nix::unistd::geteuid().is_root() && !unwanted).then_some(FIRST + offset)
}
