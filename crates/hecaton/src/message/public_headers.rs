//! Which headers may go to another origin, along with a redirect or to an absolute URL beside a `base_url`.

use http::HeaderName;

use crate::message::failure::InvalidRequest;

/// Headers without credentials: they say what is requested, or describe the body.
const ALWAYS_PUBLIC: [&str; 27] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-digest",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-md5",
    "content-range",
    "content-type",
    "digest",
    "expect",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "pragma",
    "prefer",
    "priority",
    "range",
    "repr-digest",
    "te",
    "user-agent",
];

/// Headers that may never be public, because they are credentials.
const NEVER_PUBLIC: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// The names that a client says are public, in lower case and checked.
pub(crate) fn public_names(names: &[String]) -> Result<Vec<String>, InvalidRequest> {
    let checked = |name: &String| {
        let refused = |why: &str| InvalidRequest(format!("public_headers: {name:?} {why}"));
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| refused("is not the name of a header"))?;
        if NEVER_PUBLIC.contains(&key.as_str()) {
            return Err(refused(
                "is a credential and never public: give it with the request that needs it",
            ));
        }
        Ok(key.as_str().to_owned())
    };
    names.iter().map(checked).collect()
}

/// Whether a header of this name, in any case, may leave its origin where these are named as `public_headers`. No name
/// proves that a header is not a key, so nothing else may leave, whether the client or the request has it. This is the
/// one rule, for redirects and for absolute URLs beside a base.
pub fn is_public(named: &[String], name: &str) -> bool {
    let mut always = ALWAYS_PUBLIC.iter();
    let mut named = named.iter();
    always.any(|public| public.eq_ignore_ascii_case(name))
        || named.any(|public| public.eq_ignore_ascii_case(name))
}
