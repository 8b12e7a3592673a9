//! The hosts that redirects may lead to: the list of `redirect_hosts`.

use std::net::IpAddr;

use crate::message::failure::InvalidRequest;
use crate::message::origin::{Origin, is_within};

/// Whether every entry is a host.
pub(crate) fn check(list: &[String]) -> Result<(), InvalidRequest> {
    match list.iter().find(|entry| !is_host(entry)) {
        None => Ok(()),
        Some(entry) => Err(InvalidRequest(format!(
            "redirect_hosts: {entry:?} is not a host: give names, \"*.example.org\" or addresses, without scheme and port"
        ))),
    }
}

fn is_host(entry: &str) -> bool {
    let name = entry.strip_prefix("*.").unwrap_or(entry);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    address(entry).is_some() || (!name.trim_matches('.').is_empty() && name.bytes().all(fits))
}

/// Whether a redirect may lead from `here` to `there`: to another host only if there is no list, or if the list
/// includes that host.
pub(crate) fn allow(list: Option<&[String]>, here: &Origin, there: &Origin) -> bool {
    list.is_none_or(|list| here.host == there.host || include(list, &there.host))
}

/// Whether a host, as a URL has it but without brackets, is in the list.
fn include(list: &[String], host: &str) -> bool {
    let host = bare(host);
    let address = address(host);
    list.iter().any(|entry| is(bare(entry), host, address))
}

fn is(entry: &str, host: &str, address: Option<IpAddr>) -> bool {
    if address.is_some() {
        return self::address(entry) == address;
    }
    let Some(parent) = entry.strip_prefix("*.") else {
        return entry.eq_ignore_ascii_case(host);
    };
    // The part before it has at least one letter and a dot.
    host.len() > parent.len() + 1 && is_within(host, parent)
}

fn address(host: &str) -> Option<IpAddr> {
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    inner.unwrap_or(host).parse().ok()
}

/// Without the dot that makes a name absolute.
fn bare(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::redirect_rules::{Limits, Trail};
    use crate::message::request::Request;

    fn included(entry: &str, host: &str) -> bool {
        include(&["other.example".into(), entry.into()], host)
    }

    #[test]
    fn a_name_is_itself_alone_and_a_star_all_under_it() {
        assert!(included("Example.org", "example.ORG.") && included("example.org.", "example.org"));
        for host in [
            "a.example.org",
            "example.org.evil",
            "anexample.org",
            "example.or",
            "",
            "org",
        ] {
            assert!(!included("example.org", host), "{host}");
        }
        assert!(
            included("*.example.org", "a.Example.org")
                && included("*.example.org", "a.b.example.org.")
        );
        for host in [
            "example.org",
            ".example.org",
            "anexample.org",
            "a.example.org.evil",
            "",
            "é.xample.org",
        ] {
            assert!(!included("*.example.org", host), "{host}");
        }
        assert!(!include(&[], "example.org"));
    }

    #[test]
    fn an_address_is_compared_as_one() {
        assert!(
            included("127.0.0.1", "127.0.0.1")
                && included("[::1]", "0:0::1")
                && included("::1", "::1")
        );
        assert!(!included("127.0.0.1", "127.0.0.2") && !included("*.0.0.1", "127.0.0.1"));
    }

    #[test]
    fn an_invalid_host_is_refused() {
        for good in [
            "example.org",
            "*.example.org",
            "a_b.c-d",
            "localhost.",
            "127.0.0.1",
            "::1",
            "[::1]",
        ] {
            assert!(check(&[good.into()]).is_ok(), "{good}");
        }
        for bad in [
            "",
            "*",
            "*.",
            ".",
            "https://a",
            "a:80",
            "a/b",
            "a b",
            "a*",
            "[::1]:80",
            "bücher.example",
        ] {
            let error = check(&["fine".into(), bad.into()]).unwrap_err().to_string();
            assert!(error.starts_with("redirect_hosts: "), "{error}");
        }
    }

    #[test]
    fn hosts_may_be_named_that_redirects_may_lead_to() {
        let hosts: Vec<String> = vec!["a.example".into(), "*.b.example".into(), "::1".into()];
        let leads = |location: &str, hosts: &[String]| {
            let mut request = Request::get("http://host/a").unwrap();
            let limits = Limits {
                most: 3,
                to_http: false,
                may_return: false,
                hosts: Some(hosts),
                with_login: false,
            };
            let fields = format!("location: {location}\r\n");
            let mut trail = Trail::new(&request, limits);
            let followed = trail.follow(&mut request, 302, fields.as_bytes());
            followed.map_err(|failure| failure.detail)
        };
        for there in [
            "http://A.example:81/",
            "//x.b.example/",
            "http://[::1]/",
            "/here",
            "//host:81/",
        ] {
            assert_eq!(leads(there, &hosts), Ok(true), "{there}");
        }
        for there in [
            "http://c.example/?secret",
            "http://b.example/",
            "http://127.0.0.1/",
        ] {
            let why = leads(there, &hosts).unwrap_err();
            assert!(
                why.contains("not among the redirect_hosts") && !why.contains("secret"),
                "{why}"
            );
        }
        assert_eq!(leads("/here", &[]), Ok(true), "the same host needs no name");
        assert!(leads("//a.example/", &[]).is_err());
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(entry in "\\PC{0,12}", host in "\\PC{0,12}") {
            let _ = check(std::slice::from_ref(&entry));
            let _ = include(&[entry], &host);
        }
    }
}
