//! Open files: how many a sweep needs, and whether the system allows that many.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::spec::{Sweep, Usage};

/// Open files of a process besides its connections.
const OTHERS: u64 = 128;

/// Descriptors that the busiest process of a sweep needs.
///
/// A driver may open its next pool before it has closed the last one, so each pool counts twice, unless the process is
/// prepared only once. The connections of all clients end in the process of the test server.
pub fn descriptors_needed(sweep: &Sweep) -> u64 {
    let pools = if sweep.target.is_test_server() {
        (sweep.client_names().len() + sweep.controls.len()) as u64
    } else {
        1
    };
    let at_once = if prepared_once(sweep) { 1 } else { 2 };
    (sweep.highest_concurrency() as u64).saturating_mul(at_once * pools) + OTHERS
}

/// Whether every process makes a single trial, and was not warmed up before.
fn prepared_once(sweep: &Sweep) -> bool {
    let clients = sweep.clients.iter();
    let one_each = clients
        .map(|known| sweep.cells_of(&known.client).count())
        .max()
        <= Some(1);
    one_each && sweep.invocations == sweep.rounds && sweep.warm_up.is_zero()
}

/// Raises this process's limit as far as the system lets it; processes started later inherit it.
/// Returns the limit that holds now.
///
/// # Errors
/// [`Usage`] when fewer than `needed` are allowed.
pub fn allow_descriptors(needed: u64) -> Result<u64, Usage> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    let raised = setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok();
    let allowed = if raised { hard } else { soft };
    if allowed < needed {
        return Err(Usage(format!(
            "these connections need {needed} open files and the system allows {allowed}; choose a lower \
             --concurrency or raise `ulimit -Hn`"
        )));
    }
    Ok(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_both_numbers_when_the_system_allows_too_few() {
        let error = allow_descriptors(u64::MAX).unwrap_err().0;
        assert!(
            error.contains(&u64::MAX.to_string()) && error.contains("ulimit"),
            "{error}"
        );
        let allowed = allow_descriptors(1).unwrap();
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap().0, allowed);
    }
}
