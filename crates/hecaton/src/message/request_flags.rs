//! The meaning of a request's headers for the client itself.

use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, EXPECT, HeaderName, PROXY_AUTHORIZATION, RANGE, UPGRADE,
    USER_AGENT,
};

/// The meaning of a request's headers for the client itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestFlags {
    pub has_user_agent: bool,
    pub has_accept: bool,
    /// Whether one of these two is empty: then it is not sent.
    pub has_empty: bool,
    /// Whether its headers name content codings: then the body is decoded only if the settings say so.
    pub has_coding: bool,
    /// Whether its headers name a range: then the body is not decoded.
    pub has_range: bool,
    /// Whether its headers have credentials for a proxy, which only a proxy may see.
    pub has_proxy_authorization: bool,
    /// Whether its headers say that it is the last one on its connection.
    pub closes: bool,
    /// Whether its headers have an `Upgrade` to another protocol.
    pub upgrades: bool,
    /// Whether its headers say that its body waits for `100 Continue`.
    pub expects: bool,
}

impl RequestFlags {
    /// Adds the flags of other headers.
    pub fn add(&mut self, others: RequestFlags) {
        self.has_user_agent |= others.has_user_agent;
        self.has_accept |= others.has_accept;
        self.has_empty |= others.has_empty;
        self.has_coding |= others.has_coding;
        self.has_range |= others.has_range;
        self.has_proxy_authorization |= others.has_proxy_authorization;
        self.closes |= others.closes;
        self.upgrades |= others.upgrades;
        self.expects |= others.expects;
    }

    /// Reads a field; its name is in lower case.
    pub fn note(&mut self, name: &str, value: &[u8]) {
        let is = |known: HeaderName| name == known.as_str();
        self.has_user_agent |= is(USER_AGENT);
        self.has_accept |= is(ACCEPT);
        self.has_empty |= is_left_out(name, value);
        self.has_coding |= is(ACCEPT_ENCODING);
        self.has_range |= is(RANGE);
        self.closes |= is(CONNECTION) && says_close(value);
        self.has_proxy_authorization |= is(PROXY_AUTHORIZATION);
        self.upgrades |= is(UPGRADE);
        self.expects |= is(EXPECT) && value.trim_ascii().eq_ignore_ascii_case(b"100-continue");
    }
}

/// Whether a field, its name in any case, means that the request has none: an empty `User-Agent` or `Accept`, which the
/// client would add.
pub(crate) fn is_left_out(name: &str, value: &[u8]) -> bool {
    let is = |known: HeaderName| name.eq_ignore_ascii_case(known.as_str());
    value.trim_ascii().is_empty() && (is(USER_AGENT) || is(ACCEPT))
}

/// Whether `close` is among the options of a `Connection` header.
fn says_close(value: &[u8]) -> bool {
    value
        .split(|byte| *byte == b',')
        .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
}
