//! Users that drivers run as, so that none may look into the lab, signal another, or change what was written down.

use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};

/// Numbers that systems leave to users who come and go (systemd's `DynamicUser`).
const FIRST: u32 = 61_184;
const COUNT: u32 = 4000;

/// A user that no driver of any lab on this machine runs as.
#[derive(Debug)]
pub struct User {
    pub id: u32,
    /// A name that one process can have at a time, and that is free again when the process ends, however it does.
    _claim: UnixListener,
}

/// Whether drivers can run as others than this process; not if `HECATON_USERS` is `off`.
pub fn are_possible() -> bool {
    let unwanted = std::env::var_os("HECATON_USERS").is_some_and(|wish| wish == "off");
    cfg!(target_os = "linux") && nix::unistd::geteuid().is_root() && !unwanted
}

/// A user that nothing else runs as; none where that is not possible.
///
/// # Errors
/// When all are taken: a driver that ran as the lab's own user instead could do as it likes.
pub fn of_its_own() -> Result<Option<User>> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if !are_possible() {
        return Ok(None);
    }
    let ids = (0..COUNT).map(|_| {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        FIRST + std::process::id().wrapping_mul(97).wrapping_add(next) % COUNT
    });
    first_free(ids).map(Some)
}

fn first_free(mut ids: impl Iterator<Item = u32>) -> Result<User> {
    ids.find_map(claim).context(
        "no user is free for a driver: other programs hold all the names by which the lab claims users; end them, or choose HECATON_USERS=off",
    )
}

#[cfg(target_os = "linux")]
fn claim(id: u32) -> Option<User> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    let name = SocketAddr::from_abstract_name(format!("hecaton-user-{id}")).ok()?;
    let claim = UnixListener::bind_addr(&name).ok()?;
    Some(User { id, _claim: claim })
}

/// Only Linux has names for sockets that end with their process.
#[cfg(not(target_os = "linux"))]
fn claim(_id: u32) -> Option<User> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_user_that_another_has_is_free_again_after_it() {
        // Beyond those that drivers get.
        let id = FIRST + COUNT + std::process::id();
        let first = claim(id).unwrap();
        assert_eq!(first.id, id);
        assert!(claim(id).is_none());
        let error = first_free([id].into_iter()).unwrap_err().to_string();
        assert!(error.contains("no user is free"), "{error}");
        drop(first);
        assert!(claim(id).is_some());
    }
}
