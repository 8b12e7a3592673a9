//! Which path asks for what.
//!
//! | path | answer |
//! |---|---|
//! | `/r/<id>` | a body that ends in the id's token; JSON with `Accept: application/json` |
//! | `/echo` | what arrived, as JSON |
//! | `/status/<code>` | that status, 200 to 599 |
//! | `/chunked/<n>` | n chunks and a trailer |
//! | `/bytes/<n>` | n bytes |
//! | `/delay/<ms>` | an answer after that time, an hour at most |
//! | `/close` | an answer, after which the connection is closed |
//! | `/eof` | a body that ends with the connection |
//! | `/fault/<kind>` | something wrong: see `fault.rs` |
//! | `/ledger` | the summary as JSON; not counted as a request |

use std::time::Duration;

use crate::fault::Fault;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Item(u64),
    Echo,
    Status(u16),
    Chunked(u64),
    Bytes(u64),
    Delay(Duration),
    Close,
    Eof,
    Fault(Fault),
    Ledger,
    Unknown,
}

/// Longest `/delay/<ms>`.
const LONGEST_DELAY_MS: u64 = 3_600_000;

/// The route of a request target; what has no route is `Unknown`.
pub(crate) fn of(target: &str) -> Route {
    let path = path(target);
    if let Some(id) = path.strip_prefix("/r/") {
        return number(id).map_or(Route::Unknown, Route::Item);
    }
    match path {
        "/echo" => Route::Echo,
        "/close" => Route::Close,
        "/eof" => Route::Eof,
        "/ledger" => Route::Ledger,
        _ => with_argument(path).unwrap_or(Route::Unknown),
    }
}

fn with_argument(path: &str) -> Option<Route> {
    let (name, argument) = path.strip_prefix('/')?.split_once('/')?;
    match name {
        "status" => {
            let status = u16::try_from(number(argument)?).ok()?;
            (200..600)
                .contains(&status)
                .then_some(Route::Status(status))
        }
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
fn path(target: &str) -> &str {
    let path = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            rest.find('/').map_or("/", |slash| &rest[slash..])
        }
        _ => target,
    };
    path.split_once('?').map_or(path, |(path, _)| path)
}

/// Decimal digits only: `+1` is no id.
fn number(text: &str) -> Option<u64> {
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
            ("/r/0", Route::Item(0)),
            ("/r/18446744073709551615?a=b", Route::Item(u64::MAX)),
            ("http://host:80/r/7", Route::Item(7)),
            ("/echo?u=http://x/r/1", Route::Echo),
            ("/status/204", Route::Status(204)),
            ("/delay/20", Route::Delay(Duration::from_millis(20))),
            ("/chunked/3", Route::Chunked(3)),
            ("/bytes/0", Route::Bytes(0)),
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
