//! How many connections may be open: the system's limit of open files, raised as far as it goes.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::error::{Error, Result};

/// Files that are open beside connections: segments and archives of the parts that are worked on, and what a process has anyway.
const OTHERS: u64 = 128;

/// How many idle connections may be kept beside so many requests in flight.
///
/// # Errors
/// When so many cannot be in flight.
pub fn most_idle(concurrency: usize) -> Result<usize> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    let needed = needed(concurrency);
    let limit = match soft < needed {
        true => {
            let raised = needed.min(hard);
            setrlimit(Resource::RLIMIT_NOFILE, raised, hard).map_or(soft, |()| raised)
        }
        false => soft,
    };
    idle(concurrency, limit)
}

/// As many idle connections are kept as there may be requests in flight.
fn needed(concurrency: usize) -> u64 {
    (concurrency as u64)
        .saturating_mul(2)
        .saturating_add(OTHERS)
}

fn idle(concurrency: usize, limit: u64) -> Result<usize> {
    let left = limit.min(needed(concurrency)).saturating_sub(OTHERS);
    match left.checked_sub(concurrency as u64) {
        Some(idle) => Ok((idle as usize).max(1)),
        None if left == 0 => Err(Error::failed(format!(
            "this process may have {limit} files open, which is too few: raise the limit to {} or more (ulimit -n)",
            needed(concurrency)
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
        assert_eq!(idle(200, 1_000_000).unwrap(), 200);
        assert_eq!(idle(800, 1024).unwrap(), 96);
        assert_eq!(idle(896, 1024).unwrap(), 1);
        let refused = idle(897, 1024).unwrap_err().to_string();
        assert!(refused.contains("--concurrency 896"), "{refused}");
        assert!(idle(1, 100).unwrap_err().to_string().contains("too few"));
    }
}
