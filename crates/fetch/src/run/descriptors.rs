//! How many connections may be open: the system's limit of open files, raised as far as it goes.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::error::{Error, Result};

/// Files that are open beside connections: segments and archives of the parts that are worked on, and what a process
/// has anyway.
const OTHERS: u64 = 128;

/// Files that are open for each further client, which may have a thread of its own: its reactor, and what it writes.
const OF_A_CLIENT: u64 = 16;

/// Idle connections that are kept if the system lets so many be open: a list of many hosts returns to each of them.
const MANY: usize = 4096;

/// macOS says that there is no limit, and refuses more than this (`OPEN_MAX`).
const MOST_ON_MACOS: u64 = 10_240;

/// How many idle connections each of so many clients of a run may keep, beside so many requests in flight together.
///
/// # Errors
/// When so many cannot be in flight.
pub fn most_idle(concurrency: usize, clients: usize) -> Result<usize> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    let wanted = wanted(concurrency, clients);
    let limit = match soft < wanted {
        true => {
            let most = wanted.min(hard);
            let taken = |&to: &u64| setrlimit(Resource::RLIMIT_NOFILE, to, hard).is_ok();
            let all = [most, most.min(MOST_ON_MACOS).max(soft)];
            all.into_iter().find(taken).unwrap_or(soft)
        }
        false => soft,
    };
    idle(concurrency, clients, limit)
}

/// Enough for each client to have as many idle connections as all have requests in flight: it may get all of them.
fn needed(concurrency: usize, clients: usize) -> u64 {
    (concurrency as u64)
        .saturating_mul(clients as u64 + 1)
        .saturating_add(others(clients))
}

/// The same with many idle connections in all.
fn wanted(concurrency: usize, clients: usize) -> u64 {
    let many = concurrency.saturating_add(MANY) as u64;
    needed(concurrency, clients).max(many.saturating_add(others(clients)))
}

fn others(clients: usize) -> u64 {
    OTHERS + OF_A_CLIENT * (clients as u64 - 1)
}

fn idle(concurrency: usize, clients: usize, limit: u64) -> Result<usize> {
    let left = limit
        .min(wanted(concurrency, clients))
        .saturating_sub(others(clients));
    match left.checked_sub(concurrency as u64) {
        Some(idle) => Ok((idle as usize / clients).max(1)),
        None if left == 0 => Err(Error::failed(format!(
            "this process may have {limit} files open, which is too few: raise the limit to {} or more (ulimit -n)",
            needed(concurrency, clients)
        ))),
        None => Err(Error::failed(format!(
            "concurrency is {concurrency}, and this process may have {limit} files open: use --concurrency {left} or less, or raise the limit (ulimit -n)"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_what_would() {
        assert_eq!(idle(200, 1, 1_000_000).unwrap(), MANY);
        assert_eq!(idle(9000, 1, 1_000_000).unwrap(), 9000);
        assert_eq!(idle(800, 1, 1024).unwrap(), 96);
        assert_eq!(idle(896, 1, 1024).unwrap(), 1);
        let refused = idle(897, 1, 1024).unwrap_err().to_string();
        assert!(refused.contains("--concurrency 896"), "{refused}");
        assert_eq!(idle(200, 4, 1_000_000).unwrap(), MANY / 4);
        assert_eq!(idle(200, 4, 1024).unwrap(), (1024 - 128 - 48 - 200) / 4);
        assert!(idle(1, 1, 100).unwrap_err().to_string().contains("too few"));
    }
}
