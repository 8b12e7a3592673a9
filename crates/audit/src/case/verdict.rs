//! Verdicts, and how much harm a bad outcome does. `judge` decides which one a run gets.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The verdict on a client in a case, from the worst to the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A MUST of an RFC is broken.
    Violation,
    /// No rule, but it duplicates a side effect, loses data, leaks a credential, hangs or wastes connections.
    Hazard,
    /// A SHOULD of an RFC is broken.
    Deviation,
    /// The client's claim or options differ from the log.
    Mismatch,
    /// A measured value.
    Info,
    /// As it should be.
    Pass,
    /// Runs differ, or no outcome of the case holds.
    Inconclusive,
    /// The fault of the case was not applied.
    #[serde(alias = "setup failed")]
    SetupFailed,
    /// The case supposes something that this client does not do.
    #[serde(alias = "not applicable")]
    NotApplicable,
    /// The client cannot make this call.
    Unsupported,
    /// It is known, but not published.
    #[serde(alias = "left out")]
    LeftOut,
}

impl Verdict {
    /// All, the worst first.
    pub const ALL: [Verdict; 11] = [
        Verdict::Violation,
        Verdict::Hazard,
        Verdict::Deviation,
        Verdict::Mismatch,
        Verdict::Info,
        Verdict::Pass,
        Verdict::Inconclusive,
        Verdict::SetupFailed,
        Verdict::NotApplicable,
        Verdict::Unsupported,
        Verdict::LeftOut,
    ];

    /// Whether it says something bad about the client.
    pub fn is_finding(self) -> bool {
        self <= Verdict::Mismatch
    }

    /// Whether it must be listed where findings are expected: one of those, or a case that showed nothing.
    pub fn is_listed(self) -> bool {
        self.is_finding() || matches!(self, Verdict::Inconclusive | Verdict::SetupFailed)
    }

    /// A number of results in words. A finding has a plural, as in `2 violations`; no other verdict has one, as
    /// in `2 pass`.
    pub fn counted(self, count: usize) -> String {
        let ending = match self {
            _ if count == 1 || !self.is_finding() => "",
            Verdict::Mismatch => "es",
            _ => "s",
        };
        format!("{count} {self}{ending}")
    }

    /// A letter for matrices.
    pub fn letter(self) -> char {
        match self {
            Verdict::Violation => 'V',
            Verdict::Hazard => 'H',
            Verdict::Deviation => 'D',
            Verdict::Mismatch => 'M',
            Verdict::Info => 'i',
            Verdict::Pass => '·',
            Verdict::Inconclusive => '?',
            Verdict::SetupFailed => '!',
            Verdict::NotApplicable => '-',
            Verdict::Unsupported => ' ',
            Verdict::LeftOut => '×',
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Violation => "violation",
            Verdict::Hazard => "hazard",
            Verdict::Deviation => "deviation",
            Verdict::Mismatch => "mismatch",
            Verdict::Info => "info",
            Verdict::Pass => "pass",
            Verdict::Inconclusive => "inconclusive",
            Verdict::SetupFailed => "setup failed",
            Verdict::NotApplicable => "not applicable",
            Verdict::Unsupported => "unsupported",
            Verdict::LeftOut => "left out",
        })
    }
}

/// The harm of a bad outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A secret goes where it should not.
    LeaksCredential,
    /// Something is done twice.
    DuplicatesSideEffects,
    /// A response is taken for that of another request.
    MixesResponses,
    /// A part of the data is missing, and nobody is warned.
    LosesData,
    /// The caller waits longer than its limit.
    Hangs,
    /// Connections or bytes are used for nothing.
    WastesConnections,
    /// The client reads or writes something else than it should.
    Misreads,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::LeaksCredential => "leaks a credential",
            Severity::DuplicatesSideEffects => "duplicates side effects",
            Severity::MixesResponses => "mixes responses",
            Severity::LosesData => "loses data",
            Severity::Hangs => "hangs",
            Severity::WastesConnections => "wastes connections",
            Severity::Misreads => "misreads",
        })
    }
}
