//! The outcome in a record: how the last request of an input ended, against what sending it again would repeat.
//! `tests` has it as a table. A redirect that is refused is an error without it, and a 304 `unchanged` (`settling`).
//!
//! A POST without a key whose 303 was followed was acted on, whatever becomes of the GET. To send it again is to act
//! twice, so its record is `unknown` unless that GET has a good response.

use crate::record::Outcome;

/// The act that is repeated if an input is sent again from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// Nothing: its method may be repeated, it has a key, or nothing of it was sent.
    None,
    /// A request that must not be repeated, and may have arrived.
    MayHaveActed,
    /// A request that a server acted on: it redirected it to a GET of what came of that.
    HasActed,
}

/// The outcome that is recorded for an input that ended so, and may be good.
pub fn recorded(end: Outcome, ok: bool, risk: Risk) -> Outcome {
    match (risk, end) {
        // Its redirects are followed later.
        (_, Outcome::Onward) => end,
        (Risk::HasActed, _) if !ok => Outcome::Unknown,
        (Risk::MayHaveActed, Outcome::Error) => Outcome::Unknown,
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use Outcome::{Error, Invalid, Onward, Response, Skipped, Unknown, Unreached};

    use super::*;

    /// How an input ended, whether that is good, and what is recorded of it for each risk.
    const TABLE: [(Outcome, bool, [Outcome; 3]); 8] = [
        (Response, true, [Response, Response, Response]),
        // A status that is not good, a check that failed, or a redirect that is not followed.
        (Response, false, [Response, Response, Unknown]),
        (Error, false, [Error, Unknown, Unknown]),
        (Skipped, false, [Skipped, Skipped, Unknown]),
        (Unreached, false, [Unreached, Unreached, Unknown]),
        (Invalid, false, [Invalid, Invalid, Unknown]),
        (Onward, false, [Onward; 3]),
        (Unknown, false, [Unknown; 3]),
    ];

    #[test]
    fn what_a_server_acted_on_is_unknown_unless_its_result_is_good() {
        for (end, ok, outcomes) in TABLE {
            let risks = [Risk::None, Risk::MayHaveActed, Risk::HasActed];
            for (risk, outcome) in risks.into_iter().zip(outcomes) {
                assert_eq!(recorded(end, ok, risk), outcome, "{end:?} {ok} {risk:?}");
            }
        }
    }
}
