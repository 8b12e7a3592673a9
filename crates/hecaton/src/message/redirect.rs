//! A redirect that was followed.

/// A redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The status that redirected: 301, 302, 303, 307 or 308.
    pub status: u16,
    /// The URL that answered so, absolute and without fragment.
    pub url: String,
}
