//! Why a row is rejected, or ranked with a warning: each rule compares one claim with what the server's log says, and
//! names both numbers.
//!
//! A rejected row stays visible with its reason and is never ranked. Work beyond the plan costs a client its own time, so it
//! is a figure with a warning. The order of [`RULES`] is the order of causes: a request that never arrived also spoils
//! the checksum, so it is reported first.

mod connections;
mod latencies;
mod logged;
mod requests;
mod rounds;
mod warnings;
mod work;

use super::words::plural;
use crate::run::Round;

pub use connections::{opened, reopened};
pub use latencies::{clock_step, sooner_than_the_loader};
pub(super) use rounds::{claimed, seen, together};
pub(super) use warnings::behind;
pub use warnings::in_flight;
pub use work::offence;

/// Version of the rules, written in every document: rows that one version ranks another may reject.
pub const VERSION: u32 = 11;

/// The consequence for a row where a rule finds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// It claims what is not so, or did less than was planned: it is not ranked.
    Rejected,
    /// It is ranked, and a sentence says what a reader should know.
    Warning,
}

/// The part of a run that a rule looks at.
enum Looks {
    /// Each round and each proof by itself.
    Round(fn(&Round) -> Option<String>),
    /// All rounds together; a rule that rejects looks at the proofs too.
    Row(fn(&[&Round]) -> Option<String>),
}

struct Rule {
    name: &'static str,
    follows: Follows,
    looks: Looks,
}

macro_rules! table {
    ($($follows:ident $looks:ident $module:ident::$name:ident,)*) => {
        [$(Rule {
            name: stringify!($name),
            follows: Follows::$follows,
            looks: Looks::$looks($module::$name),
        },)*]
    };
}

/// All rules, in the order of causes.
const RULES: [Rule; 45] = table![
    Rejected Round requests::only_a_reference,
    Rejected Round requests::unaccounted,
    Rejected Round requests::kinds_wrong,
    Rejected Round requests::failed,
    Rejected Round requests::unnoticed,
    Rejected Round requests::never_arrived,
    Rejected Round logged::never_logged,
    Rejected Round logged::logged_as_failed,
    Rejected Round logged::logged_otherwise,
    Rejected Round requests::duplicated,
    Rejected Round requests::foreign,
    Rejected Round requests::requested_otherwise,
    Rejected Round requests::too_early,
    Rejected Round requests::checksum_wrong,
    Rejected Round requests::bytes_wrong,
    Rejected Round requests::aborted,
    Rejected Round connections::over_another_version,
    Rejected Round connections::many_ahead,
    Rejected Round work::offended,
    Rejected Round connections::pipelined,
    Rejected Round connections::too_few_in_flight,
    Rejected Round connections::too_many_in_flight,
    Rejected Round connections::reused,
    Rejected Round connections::opened_ahead,
    Rejected Round requests::probe_incomplete,
    Rejected Round latencies::not_all_timed,
    Rejected Row latencies::more_than_requested,
    Rejected Row latencies::shorter_than_held,
    Rejected Row latencies::shorter_than_due,
    Warning Row connections::reopened,
    Warning Row warnings::many_connections,
    Warning Row warnings::trusted,
    Warning Row warnings::coarse_clock,
    Warning Row warnings::few_in_flight,
    Warning Row warnings::much_between,
    Warning Row warnings::much_outside,
    Warning Row requests::failed_by_a_service,
    Warning Row logged::logged_again,
    Warning Row logged::logged_late,
    Warning Row warnings::sends_late,
    Warning Row warnings::resumed,
    Warning Row warnings::no_interim,
    Warning Row warnings::left_open,
    Warning Row warnings::disturbed,
    Warning Row warnings::flooded,
];

/// The name of each rule, and what follows from it.
pub fn consequences() -> impl Iterator<Item = (&'static str, Follows)> {
    RULES.iter().map(|rule| (rule.name, rule.follows))
}

/// The reason why the rounds of one cell, and the proofs beside them, must not be ranked, in words; none when nothing disagrees.
///
/// Rounds without a log are only checked against themselves. Connections are checked as those of
/// HTTP/1.1: reused, or one for each request, as the cell says.
pub fn rejection(rounds: &[&Round]) -> Option<String> {
    let proofs: Vec<Round> = rounds.iter().filter_map(|round| round.of_proof()).collect();
    let all: Vec<&Round> = rounds.iter().copied().chain(&proofs).collect();
    found(Follows::Rejected, &all).next()
}

/// Warnings about the rounds of one cell, in sentences without a full stop.
pub fn warnings(rounds: &[&Round]) -> Vec<String> {
    found(Follows::Warning, rounds).collect()
}

/// The findings of the rules with this consequence, in their order.
fn found<'a>(consequence: Follows, rounds: &'a [&Round]) -> impl Iterator<Item = String> + 'a {
    let own = RULES.iter().filter(move |rule| rule.follows == consequence);
    own.filter_map(move |rule| match rule.looks {
        Looks::Row(look) => look(rounds),
        Looks::Round(look) => {
            let reasons: Vec<String> = rounds.iter().filter_map(|round| look(round)).collect();
            let all = plural(rounds.len() as u64, "round");
            Some(format!(
                "{} (in {} of {all})",
                reasons.first()?,
                reasons.len()
            ))
        }
    })
}
