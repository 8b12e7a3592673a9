//! A redirect that was followed, and what its status asks for (RFC 9110 §15.4).

/// A redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The status that redirected: 301, 302, 303, 307 or 308.
    pub status: u16,
    /// The URL that answered so, absolute and without fragment.
    pub url: String,
}

impl Redirect {
    /// Whether an answer with this status may lead elsewhere.
    pub fn is_one(status: u16) -> bool {
        matches!(status, 301 | 302 | 303 | 307 | 308)
    }

    /// Whether a request of this method goes on as a GET without its body: 303 asks for the result by GET, 301 and 302 turn a
    /// POST into a GET as they have always done, and 307 and 308 keep method and body.
    pub fn becomes_get(status: u16, method: &str) -> bool {
        match status {
            303 => method != "HEAD",
            301 | 302 => method == "POST",
            _ => false,
        }
    }
}
