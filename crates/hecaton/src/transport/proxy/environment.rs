//! The proxies in the environment.

use std::sync::Arc;

use super::exceptions::Exceptions;
use super::{Proxies, Server};
use crate::message::failure::InvalidRequest;

/// Reads the variables with `get`. Given exceptions replace `no_proxy`.
pub(super) fn read(
    get: impl Fn(&str) -> Option<String>,
    exceptions: Option<String>,
) -> Result<Proxies, InvalidRequest> {
    let either = |lower: &str| get(lower).or_else(|| get(&lower.to_uppercase()));
    // A CGI program finds the request's header `Proxy` under this name, and any client can send it.
    let http = match get("REQUEST_METHOD") {
        Some(_) => get("http_proxy"),
        None => either("http_proxy"),
    };
    let server = |name: &str, own: Option<String>| match own.or_else(|| either("all_proxy")) {
        // A variable that is set to nothing means no proxy.
        Some(url) if !url.trim().is_empty() => Server::parse(url.trim())
            .map(|server| Some(Arc::new(server)))
            .map_err(|why| InvalidRequest(format!("the environment's {name}: {why}"))),
        _ => Ok(None),
    };
    let exceptions = exceptions
        .or_else(|| either("no_proxy"))
        .unwrap_or_default();
    Ok(Proxies {
        http: server("http_proxy", http)?,
        https: server("https_proxy", either("https_proxy"))?,
        exceptions: Exceptions::parse(&exceptions),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;

    /// Host and port of the proxy for this URL.
    fn proxy(variables: &[(&str, &str)], url: &str) -> Option<String> {
        let get = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| value.to_string())
        };
        let proxies = read(get, None).unwrap();
        let origin = Request::get(url).unwrap().origin().clone();
        proxies
            .of(&origin)
            .map(|server| format!("{}:{}", server.host, server.port))
    }

    #[test]
    fn each_scheme_has_its_variable_and_all_proxy_is_for_both() {
        let set = [("http_proxy", "http://a:1"), ("https_proxy", "b:2")];
        assert_eq!(proxy(&set, "http://host/").unwrap(), "a:1");
        assert_eq!(proxy(&set, "https://host/").unwrap(), "b:2");
        let set = [("ALL_PROXY", "socks5://c:3"), ("HTTPS_PROXY", "")];
        assert_eq!(proxy(&set, "http://host/").unwrap(), "c:3");
        assert_eq!(proxy(&set, "https://host/"), None, "set to nothing is none");
        assert_eq!(proxy(&[], "http://host/"), None);
    }

    #[test]
    fn lower_case_goes_first() {
        let set = [("HTTP_PROXY", "http://a:1"), ("http_proxy", "http://b:2")];
        assert_eq!(proxy(&set, "http://host/").unwrap(), "b:2");
        assert_eq!(proxy(&set[..1], "http://host/").unwrap(), "a:1");
    }

    #[test]
    fn a_header_of_a_cgi_request_is_no_proxy() {
        let set = [("HTTP_PROXY", "http://evil:1"), ("REQUEST_METHOD", "GET")];
        assert_eq!(proxy(&set, "http://host/"), None);
        let set = [("http_proxy", "http://a:1"), ("REQUEST_METHOD", "GET")];
        assert_eq!(proxy(&set, "http://host/").unwrap(), "a:1");
    }

    #[test]
    fn loopback_goes_through_the_proxy_too_unless_excepted() {
        let set = [
            ("all_proxy", "http://a:1"),
            ("NO_PROXY", "localhost,127.0.0.0/8"),
        ];
        assert_eq!(proxy(&set, "http://localhost/"), None);
        assert_eq!(proxy(&set, "http://127.1.2.3/"), None);
        assert!(proxy(&set[..1], "http://localhost/").is_some());
    }

    #[test]
    fn an_invalid_variable_is_named_without_its_credentials() {
        let get = |name: &str| (name == "https_proxy").then(|| "ftp://user:secret@host".into());
        let error = read(get, None).unwrap_err().to_string();
        assert!(
            error.contains("https_proxy") && error.contains("ftp"),
            "{error}"
        );
        assert!(
            !error.contains("secret") && !error.contains("user"),
            "{error}"
        );
    }
}
