//! One line of an access log: what it says about a request that the lab sent.

use std::time::{Duration, UNIX_EPOCH};

use humantime::parse_rfc3339_weak;
use serde_json::Value;

/// In front of the id in the header field of each request, so that no other number in a line is taken for one.
pub const ID_PREFIX: &str = "hecaton-";

/// Names under which logs in JSON have the time of a line.
const TIMES: [&str; 8] = [
    "msec",
    "time",
    "timestamp",
    "@timestamp",
    "ts",
    "time_iso8601",
    "time_local",
    "date",
];

/// Names under which logs in JSON have how long a request took, in seconds.
const DURATIONS: [&str; 3] = ["request_time", "duration", "elapsed"];

/// Names under which logs in JSON have the method and the target of a request, where they do not have its first line as
/// `request`.
const METHODS: [&str; 2] = ["method", "request_method"];
const TARGETS: [&str; 4] = ["uri", "request_uri", "path", "url"];

/// The facts of one request, from its line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Logged {
    /// The id of the request.
    pub(super) id: u64,
    /// The status of the response; none where the line does not say it.
    pub(super) status: Option<u16>,
    /// When the service got the request, since 1970. None where the line says it less exactly than to the millisecond.
    pub(super) arrived: Option<Duration>,
    /// Its method and its path without a query; none where the line does not say them.
    pub(super) request: Option<(String, String)>,
}

/// Reads a line in the common or combined format, or in JSON; none where it has no id of the lab.
pub(super) fn read_line(line: &str) -> Option<Logged> {
    let id = id(line)?;
    let logged = match serde_json::from_str::<Value>(line.trim()) {
        Ok(Value::Object(keys)) => {
            let known = |names: &[&str]| names.iter().find_map(|name| keys.get(*name));
            let status = keys.get("status").or_else(|| keys.get("status_code"));
            let took = known(&DURATIONS).and_then(seconds).unwrap_or_default();
            let text = |names: &[&str]| known(names).and_then(Value::as_str);
            let named = text(&METHODS).zip(text(&TARGETS));
            Logged {
                id,
                status: status
                    .and_then(number)
                    .and_then(|status| u16::try_from(status as u64).ok()),
                arrived: known(&TIMES)
                    .and_then(moment)
                    .and_then(|ended| ended.checked_sub(took)),
                request: match text(&["request"]) {
                    Some(line) => of_request_line(line),
                    None => named.map(|(method, target)| (method.to_owned(), path(target))),
                },
            }
        }
        _ => Logged {
            id,
            status: status(line),
            arrived: None,
            request: line
                .split_once('"')
                .and_then(|(_, quoted)| of_request_line(quoted)),
        },
    };
    Some(logged)
}

/// The id that follows the prefix: digits, and then no other digit.
fn id(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once(ID_PREFIX)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse().ok()
}

/// The method and the path of `GET /a?b HTTP/1.1`.
fn of_request_line(line: &str) -> Option<(String, String)> {
    let (before, _) = line.split_once(" HTTP/")?;
    let (method, target) = before.split_once(' ')?;
    Some((method.to_owned(), path(target)))
}

/// The path of a target or of a URL, without a query.
pub(in crate::run) fn path(target: &str) -> String {
    let target = match target.split_once("://") {
        Some((_, behind)) => behind.find('/').map_or("/", |at| &behind[at..]),
        None => target,
    };
    let path = target.split(['?', '#']).next().unwrap_or_default();
    path.to_owned()
}

/// The number behind the quoted request, as in `"GET / HTTP/1.1" 200 5`.
fn status(line: &str) -> Option<u16> {
    let (_, behind) = line.split_once(" HTTP/")?;
    let (_, behind) = behind.split_once('"')?;
    behind.split_whitespace().next()?.parse().ok()
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// Seconds, as a number or as text such as `0.012` or `0.012s`.
fn seconds(value: &Value) -> Option<Duration> {
    let text = value.as_str().map(|text| text.trim_end_matches('s'));
    let seconds = value.as_f64().or_else(|| text?.parse().ok())?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// A time with milliseconds at least: seconds since 1970 with a fraction, or an RFC 3339 time with a fraction.
fn moment(value: &Value) -> Option<Duration> {
    let text = value.to_string();
    let text = text.trim_matches('"');
    let fraction = text
        .split_once('.')?
        .1
        .bytes()
        .take_while(u8::is_ascii_digit);
    if fraction.count() < 3 {
        return None;
    }
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => rfc3339(text),
    }
}

/// `2026-11-23T23:20:01.123+01:00` since 1970.
fn rfc3339(text: &str) -> Option<Duration> {
    let (date, rest) = text.split_at_checked(10)?;
    let (clock, zone) = rest.split_at(rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len()));
    let local = parse_rfc3339_weak(&format!("{date}{}", clock.replace('t', "T"))).ok()?;
    let since = local.duration_since(UNIX_EPOCH).ok()?;
    let Some(ahead) = zone.strip_prefix(['+', '-']) else {
        return Some(since);
    };
    let (hours, minutes) = ahead.split_at_checked(2)?;
    let minutes: u8 = minutes.trim_start_matches(':').parse().ok()?;
    let minutes = u64::from(hours.parse::<u8>().ok()?) * 60 + u64::from(minutes);
    let ahead = Some(Duration::from_secs(minutes * 60)).filter(|_| minutes < 24 * 60)?;
    match zone.starts_with('-') {
        true => since.checked_add(ahead),
        false => since.checked_sub(ahead),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_formats_are_read() {
        let common = r#"127.0.0.1 - - [23/Nov/2026:23:20:01 +0000] "GET /a?x=" HTTP/1.1" 200 5 "-" "x/1" "hecaton-1234567890""#;
        assert_eq!(
            read_line(common),
            Some(Logged {
                id: 1_234_567_890,
                status: Some(200),
                arrived: None,
                request: Some(("GET".into(), "/a".into())),
            })
        );
        let json = r#"{"msec": "1795476001.500", "request_time": "0.250", "status": "503", "id": "hecaton-1234567890"}"#;
        let logged = read_line(json).unwrap();
        assert_eq!((logged.id, logged.status), (1_234_567_890, Some(503)));
        assert_eq!(
            logged.arrived,
            Some(Duration::from_millis(1_795_476_001_250))
        );
        let json =
            r#"{"ts":"2026-11-23T23:20:01.250+01:00","status":200,"headers":{"x":"hecaton-1"}}"#;
        let logged = read_line(json).unwrap();
        assert_eq!((logged.id, logged.status), (1, Some(200)));
        assert_eq!(logged.request, None);
        for keys in [
            r#""request":"POST /a/b?c HTTP/2.0""#,
            r#""request_method":"POST","uri":"/a/b""#,
            r#""method":"POST","url":"https://h:1/a/b?c""#,
        ] {
            let logged = read_line(&format!(r#"{{{keys},"id":"hecaton-1"}}"#)).unwrap();
            assert_eq!(
                logged.request,
                Some(("POST".into(), "/a/b".into())),
                "{keys}"
            );
        }
        assert_eq!(
            logged.arrived,
            Some(Duration::from_millis(1_795_472_401_250))
        );
    }

    #[test]
    fn a_time_of_whole_seconds_says_no_lateness_and_other_lines_nothing() {
        let logged = read_line(r#"{"time":"2026-11-23T23:20:01Z","status":200,"id":"hecaton-7"}"#);
        assert_eq!(logged.unwrap().arrived, None);
        for line in [
            "",
            "{",
            "hecaton-",
            "hecaton-x",
            r#"{"id":"1234567890"}"#,
            "hecaton-99999999999999999999999",
        ] {
            assert_eq!(read_line(line), None, "{line}");
        }
        for time in [
            "é026-11-23T23:20:01.000Z",
            "9999-99-99T01:01:01.123",
            "2026-11-23T9223372036854775807:1:1.123",
            "2026-11-23T23:20:01.123+1",
        ] {
            let line = format!(r#"{{"time":"{time}","id":"hecaton-7"}}"#);
            assert_eq!(read_line(&line).unwrap().arrived, None, "{line}");
        }
    }
}
