//! The text of an error when a proxy does not connect to an origin.

use std::fmt::Display;

use crate::message::failure::{Failure, Kind, Phase};
use crate::message::origin::Origin;
use crate::message::reason::Reason;

/// Why a proxy does not connect to an origin.
#[derive(Debug)]
pub(crate) struct Refused {
    pub why: String,
    /// Whether the proxy responded with a status, which `why` begins with.
    pub by_status: bool,
    /// Whether another try would fail in the same way.
    pub for_good: bool,
}

impl Refused {
    /// The failure of the request. `proxy` names the proxy.
    pub fn into_failure(self, proxy: impl Display, origin: &Origin) -> Failure {
        let (Origin { host, port, .. }, why) = (origin, self.why);
        let detail = format!("{proxy} does not connect to {host} port {port}: {why}");
        let reason = self.by_status.then_some(Reason::ProxyRefused);
        let failure = Failure::new(Kind::Connect, Phase::Connect, detail).for_reason(reason);
        match self.for_good {
            true => failure.for_good(),
            false => failure,
        }
    }
}

impl From<String> for Refused {
    fn from(why: String) -> Refused {
        Refused {
            why,
            by_status: false,
            for_good: false,
        }
    }
}

impl From<&str> for Refused {
    fn from(why: &str) -> Refused {
        why.to_owned().into()
    }
}
