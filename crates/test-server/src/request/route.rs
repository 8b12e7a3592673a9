//! The paths of the test server, and what each returns.
//!
//! | path | response |
//! |---|---|
//! | `/r/<id>`, `/r/<word>/<id>` | a body that ends in the id's check value; JSON with `Accept: application/json` |
//! | `/echo` | what arrived, as JSON |
//! | `/status/<code>?<name>=<value>` | that status, 200 to 599, with the headers of the query |
//! | `/headers?<name>=<value>` | the same with status 200 |
//! | `/chunked/<n>` | n chunks and a trailer |
//! | `/bytes/<n>` | n bytes |
//! | `/pieces/<n>/<bytes>/<ms>` | n pieces of a body, with pauses between them |
//! | `/encoded/<coding>/<n>` | n bytes of text in `gzip`, `deflate`, `br` or `zstd`; a list (`gzip,br`) is applied in order, `?layers=<k>` repeats it; `gzip-corrupt` and `gzip-truncated` damage it |
//! | `/bomb/<coding>/<MiB>` | that many mebibytes of zeros, small on the wire |
//! | `/redirect/<status>/<n>?to=<URL>` | n redirects, the last to the URL or else to `/echo` |
//! | `/redirect-loop` | 302 to itself |
//! | `/cookies/set?<name>=<value>` | a `Set-Cookie` for each pair; attributes may follow in the value (`a=1%3B%20Path%3D/x`) |
//! | `/cookies` | the cookies that came, as JSON |
//! | `/basic/<user>/<password>` | 200 with these credentials, else 401 and a challenge |
//! | `/upload` | length and CRC-32 of the request's body, as JSON |
//! | `/early` | 413 before the request's body is read; the connection is closed |
//! | `/delay/<ms>` | a response after that time, an hour at most |
//! | `/close` | a response, after which the connection is closed |
//! | `/eof` | a body that ends with the connection |
//! | `/fault/<kind>` | a fault: see `fault.rs` |
//! | `/ledger` | the summary as JSON; not counted as a request |

use std::time::Duration;

use crate::request::body::Keep;
use crate::request::fault::Fault;

/// The route of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// An id, and the word before it if the path has one.
    Item(u64, Option<u64>),
    Echo,
    Status(u16),
    Chunked(u64),
    Bytes(u64),
    Delay(Duration),
    Close,
    Eof,
    Fault(Fault),
    Ledger,
    Special(Special),
    Unknown,
}

/// Routes whose responses depend on more of the request: see `special.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Encoded,
    Bomb,
    Pieces,
    Status(u16),
    Headers,
    Redirect,
    RedirectLoop,
    SetCookies,
    Cookies,
    Basic,
    Upload,
    Early,
}

impl Route {
    /// Whether the response needs the request's head as text.
    pub(crate) fn needs_detail(self) -> bool {
        matches!(self, Route::Echo | Route::Special(_))
    }

    /// Whether the response is sent without reading the request's body.
    pub(crate) fn is_early(self) -> bool {
        matches!(
            self,
            Route::Special(Special::Early) | Route::Fault(Fault::Early)
        )
    }

    /// How much of the request's body the response needs.
    pub(crate) fn keep(self) -> Keep {
        match self {
            Route::Echo => Keep::Bytes,
            Route::Special(Special::Upload) => Keep::Sum,
            _ => Keep::Nothing,
        }
    }
}

/// Longest `/delay/<ms>`.
const LONGEST_DELAY_MS: u64 = 3_600_000;

/// The route of a request target; `Unknown` for other paths.
pub(crate) fn of(target: &str) -> Route {
    let path = path(target);
    if let Some(id) = path.strip_prefix("/r/") {
        return item(id).unwrap_or(Route::Unknown);
    }
    match path {
        "/echo" => Route::Echo,
        "/close" => Route::Close,
        "/eof" => Route::Eof,
        "/ledger" => Route::Ledger,
        "/headers" => Route::Special(Special::Headers),
        "/redirect-loop" => Route::Special(Special::RedirectLoop),
        "/cookies" => Route::Special(Special::Cookies),
        "/cookies/set" => Route::Special(Special::SetCookies),
        "/upload" => Route::Special(Special::Upload),
        "/early" => Route::Special(Special::Early),
        _ => with_argument(path, target.contains('?')).unwrap_or(Route::Unknown),
    }
}

/// An id alone, or after a word of sixteen hexadecimal digits.
fn item(text: &str) -> Option<Route> {
    match text.split_once('/') {
        None => Some(Route::Item(number(text)?, None)),
        Some((word, id)) => {
            let digits = word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
            let word = u64::from_str_radix(word, 16).ok().filter(|_| digits)?;
            Some(Route::Item(number(id)?, Some(word)))
        }
    }
}

fn with_argument(path: &str, has_query: bool) -> Option<Route> {
    let (name, argument) = path.strip_prefix('/')?.split_once('/')?;
    match name {
        "status" => {
            let status = u16::try_from(number(argument)?).ok()?;
            let known = (200..600).contains(&status);
            known.then_some(if has_query {
                Route::Special(Special::Status(status))
            } else {
                Route::Status(status)
            })
        }
        "encoded" => Some(Route::Special(Special::Encoded)),
        "bomb" => Some(Route::Special(Special::Bomb)),
        "pieces" => Some(Route::Special(Special::Pieces)),
        "redirect" => Some(Route::Special(Special::Redirect)),
        "basic" => Some(Route::Special(Special::Basic)),
        "chunked" => number(argument).map(Route::Chunked),
        "bytes" => number(argument).map(Route::Bytes),
        "delay" => {
            let ms = number(argument).filter(|ms| *ms <= LONGEST_DELAY_MS)?;
            Some(Route::Delay(Duration::from_millis(ms)))
        }
        "fault" => Fault::named(argument).map(Route::Fault),
        _ => None,
    }
}

/// The path of a target in origin form (`/a?b`) or absolute form (`http://host/a?b`).
pub(crate) fn path(target: &str) -> &str {
    let path = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            rest.find('/').map_or("/", |slash| &rest[slash..])
        }
        _ => target,
    };
    path.split_once('?').map_or(path, |(path, _)| path)
}

/// Decimal digits only: `+1` is no id.
pub(crate) fn number(text: &str) -> Option<u64> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_their_routes() {
        let routes = [
            ("/r/0", Route::Item(0, None)),
            ("/r/18446744073709551615?a=b", Route::Item(u64::MAX, None)),
            ("http://host:80/r/7", Route::Item(7, None)),
            ("/r/00000000000000ff/7", Route::Item(7, Some(255))),
            ("/echo?u=http://x/r/1", Route::Echo),
            ("/status/204", Route::Status(204)),
            ("/delay/20", Route::Delay(Duration::from_millis(20))),
            ("/chunked/3", Route::Chunked(3)),
            ("/bytes/0", Route::Bytes(0)),
            (
                "/status/503?Retry-After=1",
                Route::Special(Special::Status(503)),
            ),
            ("/cookies/set?a=1", Route::Special(Special::SetCookies)),
            ("/pieces/1/2/3", Route::Special(Special::Pieces)),
            ("/fault/reset", Route::Fault(Fault::Reset)),
        ];
        for (target, route) in routes {
            assert_eq!(of(target), route, "{target}");
        }
    }

    #[test]
    fn everything_else_is_unknown() {
        let targets = [
            "/",
            "*",
            "",
            "/r/",
            "/r/+1",
            "/r/1/2",
            "/r/+0000000000000ff/7",
            "/r/00000000000000ff/",
            "/r/18446744073709551616",
            "/status/99",
            "/status/600",
            "/fault/none",
            "/echo/",
            "/delay/99999999999",
            "http://host",
        ];
        for target in targets {
            assert_eq!(of(target), Route::Unknown, "{target}");
        }
    }
}
