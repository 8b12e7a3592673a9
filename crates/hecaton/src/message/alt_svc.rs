//! A server's announcement by `Alt-Svc` (RFC 7838): where else, and over which protocol, it responds.

use std::time::Duration;

/// How long an announcement without `ma` holds (§3.1).
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest time that an announcement is heeded.
const MOST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A server that responds over HTTP/3 on this port of the same host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Http3At {
    pub port: u16,
    /// How long that holds.
    pub for_time: Duration,
}

/// The first service over HTTP/3 on the same host that a response announces by its `Alt-Svc` fields, or none. It
/// replaces earlier announcements. Services on other hosts are passed over.
pub(crate) fn http3_at<'a>(values: impl Iterator<Item = &'a [u8]>, host: &str) -> Option<Http3At> {
    let mut found = None;
    for value in values {
        let mut rest = value.trim_ascii();
        if rest == b"clear" {
            return None;
        }
        while let Some(service) = Service::take(&mut rest) {
            found = found.or_else(|| service.http3(host));
        }
    }
    found
}

/// One alternative service.
struct Service<'a> {
    protocol: &'a [u8],
    authority: Vec<u8>,
    max_age: Option<Vec<u8>>,
}

impl<'a> Service<'a> {
    /// Takes the next service out of a list; none if there is none that can be read.
    fn take(rest: &mut &'a [u8]) -> Option<Service<'a>> {
        let protocol = take_token(rest)?;
        take_byte(rest, b'=')?;
        let mut service = Service {
            protocol,
            authority: take_value(rest)?,
            max_age: None,
        };
        loop {
            *rest = rest.trim_ascii_start();
            if take_byte(rest, b';').is_none() {
                break;
            }
            *rest = rest.trim_ascii_start();
            let name = take_token(rest)?;
            take_byte(rest, b'=')?;
            let value = take_value(rest)?;
            if name.eq_ignore_ascii_case(b"ma") {
                service.max_age = Some(value);
            }
        }
        if take_byte(rest, b',').is_some() {
            *rest = rest.trim_ascii_start();
        } else if !rest.is_empty() {
            return None;
        }
        Some(service)
    }

    fn http3(&self, host: &str) -> Option<Http3At> {
        if self.protocol != b"h3" {
            return None;
        }
        let colon = self.authority.iter().rposition(|byte| *byte == b':')?;
        let (name, port) = (&self.authority[..colon], &self.authority[colon + 1..]);
        let name = std::str::from_utf8(name).ok()?;
        let port = number(port).and_then(|port| u16::try_from(port).ok())?;
        let for_time = match &self.max_age {
            None => DAY,
            Some(text) => Duration::from_secs(number(text)?).min(MOST),
        };
        let here = name.is_empty() || name.trim_matches(['[', ']']).eq_ignore_ascii_case(host);
        (here && port > 0 && !for_time.is_zero()).then_some(Http3At { port, for_time })
    }
}

fn number(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    // More digits than fit are a very long time.
    let parse = || {
        std::str::from_utf8(text)
            .ok()
            .map(|text| text.parse().unwrap_or(u64::MAX))
    };
    digits.then(parse).flatten()
}

fn take_byte(rest: &mut &[u8], byte: u8) -> Option<()> {
    *rest = rest.strip_prefix(&[byte])?;
    Some(())
}

/// A token (RFC 9110 §5.6.2), not empty.
fn take_token<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let length = rest.iter().take_while(|byte| is_of_token(byte)).count();
    let (token, after) = rest.split_at(length);
    *rest = after;
    (length > 0).then_some(token)
}

/// A token or a quoted string.
fn take_value(rest: &mut &[u8]) -> Option<Vec<u8>> {
    if take_byte(rest, b'"').is_none() {
        return take_token(rest).map(<[u8]>::to_vec);
    }
    let mut value = Vec::new();
    loop {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        match byte {
            b'"' => return Some(value),
            b'\\' => {
                let (byte, after) = rest.split_first()?;
                *rest = after;
                value.push(*byte);
            }
            byte => value.push(*byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Option<(u16, u64)> {
        let values = values.iter().map(|value| value.as_bytes());
        let found = http3_at(values, "host.example")?;
        Some((found.port, found.for_time.as_secs()))
    }

    #[test]
    fn the_first_service_over_http3_on_this_host_counts() {
        let day = 24 * 60 * 60;
        for (values, expected) in [
            (&[r#"h3=":443""#][..], Some((443, day))),
            (&[r#"h3=":443"; ma=3600"#], Some((443, 3600))),
            (&[r#"h3=":443";ma="60";persist=1"#], Some((443, 60))),
            (
                &[r#"h2=":444", h3=":445"; ma=5 , h3=":446""#],
                Some((445, 5)),
            ),
            (&[r#"h3-29=":1""#, r#"h3=":2""#], Some((2, day))),
            (&[r#"h3="HOST.example:8443""#], Some((8443, day))),
            (&[r#"h3="other.example:443""#], None),
            (&[r#"h3="other.example:443", h3=":7""#], Some((7, day))),
            (
                &[r#"h3=":443"; ma=99999999999999999999"#],
                Some((443, 30 * day)),
            ),
            (&[r#"h3=":443"; ma=0"#], None),
            (&["clear"], None),
            (&[r#"h3=":443""#, "clear"], None),
            (&[], None),
        ] {
            assert_eq!(read(values), expected, "{values:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_announces_nothing() {
        for value in [
            "",
            "h3",
            "h3=",
            r#"h3=""#,
            r#"h3=":"#,
            r#"h3=":0""#,
            r#"h3=":70000""#,
            r#"h3=":x""#,
            r#"h3=":443"; ma"#,
            r#"h3=":443"; ma=x"#,
            r#"h3=":443" h2=":1""#,
            r#"=":443""#,
            "Clear",
        ] {
            assert_eq!(read(&[value]), None, "{value}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_input_ends(value: Vec<u8>) {
            http3_at([&value[..]].into_iter(), "host");
        }

        #[test]
        fn text_like_a_list_ends(value in r#"(h3|h2|=|"|:|;|,|ma|clear|\\|[0-9]| ){0,40}"#) {
            read(&[&value]);
        }
    }
}
