//! What a proxy is reported to have said when it does not connect to an origin.

/// Why a proxy does not connect to an origin.
#[derive(Debug)]
pub(crate) struct Refused {
    pub why: String,
    /// Whether it would say the same if it was asked again.
    pub for_good: bool,
}

impl From<String> for Refused {
    fn from(why: String) -> Refused {
        Refused {
            why,
            for_good: false,
        }
    }
}

impl From<&str> for Refused {
    fn from(why: &str) -> Refused {
        why.to_owned().into()
    }
}
