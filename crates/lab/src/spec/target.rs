//! Where requests go: the lab's own test server, or a server that the lab knows nothing about.

use std::net::IpAddr;
use std::path::PathBuf;

use http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::{Expected, Usage};

/// The server under the clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Target {
    /// The lab's test server, whose log decides.
    #[serde(alias = "origin")]
    TestServer,
    /// Someone else's server: no log, so nothing of what drivers claim can be verified.
    Foreign {
        /// Method of every request, upper case.
        method: String,
        /// Requested as it is, every time.
        url: String,
        /// Requests of one round; 0 for as many as fill its time.
        requests: u64,
        /// The other parts of requests.
        #[serde(flatten)]
        extras: Box<Extras>,
    },
}

/// The parts of requests to one's own service besides a method and a URL. No document contains a part that may be a
/// secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extras {
    /// Names of header fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// Bytes of the body; absent where requests have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_body_bytes: Option<u64>,
    /// How many URLs take turns; absent where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urls: Option<u64>,
    /// How many requests of a file took turns. Only older runs have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_in_turn: Option<u64>,
    /// The header field with the id of each request, where the service's access log was read; absent where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_field: Option<String>,
    /// Which statuses count as success; absent for those from 200 to 299.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expected>,
    /// The URLs that take turns, a line each; empty where there is one.
    #[serde(skip)]
    pub mix: String,
    /// The service's access log.
    #[serde(skip)]
    pub access_log: Option<PathBuf>,
    /// A process of the service.
    #[serde(skip)]
    pub server_pid: Option<i32>,
    /// The header fields, a line each.
    #[serde(skip)]
    pub fields: String,
    /// The body.
    #[serde(skip)]
    pub body: Option<Vec<u8>>,
    /// A file with the certificates to trust instead of the system's.
    #[serde(skip)]
    pub ca: Option<PathBuf>,
}

impl Extras {
    /// Checks header fields, each as `Name: value`.
    ///
    /// # Errors
    /// [`Usage`] when one is no header field.
    pub fn new(
        headers: &[String],
        body: Option<Vec<u8>>,
        ca: Option<PathBuf>,
    ) -> Result<Extras, Usage> {
        let (mut names, mut fields) = (Vec::new(), String::new());
        for header in headers {
            let (name, value) = header.split_once(':').unwrap_or((header, ""));
            let (name, value) = (name.trim(), value.trim());
            if !header.contains(':') || !is_field(name, value) {
                return Err(Usage(format!(
                    "the header `{name}` is not a header field; write it as in -H 'Accept: text/html'"
                )));
            }
            names.push(name.to_owned());
            fields += &format!("{name}: {value}\n");
        }
        Ok(Extras {
            headers: names,
            request_body_bytes: body.as_ref().map(|body| body.len() as u64),
            fields,
            body,
            ca,
            ..Extras::default()
        })
    }

    /// Lets the URLs of a text take turns, a line each; empty lines and those that begin with `#` are none. Returns the
    /// first URL.
    ///
    /// # Errors
    /// [`Usage`] when there is none, or when two are of different origins: a client keeps connections to one.
    pub fn mix(&mut self, text: &str) -> Result<String, Usage> {
        let lines = text.lines().map(str::trim);
        let urls: Vec<&str> = lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect();
        let Some(first) = urls.first() else {
            return Err(Usage("the file of URLs has none; write one a line".into()));
        };
        let (origin, mut mix) = (absolute(first)?.origin(), String::new());
        for url in &urls {
            let parsed = absolute(url)?;
            if parsed.origin() != origin {
                return Err(Usage(format!(
                    "`{url}` and `{first}` are of different origins; the URLs of a mix have scheme, host and port in common"
                )));
            }
            mix += &format!("{parsed}\n");
        }
        if urls.len() > 1 {
            (self.urls, self.mix) = (Some(urls.len() as u64), mix);
        }
        Ok((*first).to_owned())
    }
}

impl Target {
    /// Checks a foreign target.
    ///
    /// # Errors
    /// [`Usage`] when the URL is not absolute http or https, when there is nothing to send, or when the host is
    /// not this machine and `owned` is false.
    pub fn foreign(
        method: &str,
        url: &str,
        requests: Option<u64>,
        extras: Extras,
        owned: bool,
    ) -> Result<Target, Usage> {
        let method = method.to_ascii_uppercase();
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(Usage(format!(
                "`{method}` is not an HTTP method; write GET, HEAD, POST, …"
            )));
        }
        let parsed = absolute(url)?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host().is_none() {
            return Err(Usage(format!(
                "`{url}` is neither http nor https; write it as in http://127.0.0.1:8080/path"
            )));
        }
        if requests == Some(0) {
            return Err(Usage(
                "REQUESTS is 0; choose at least one request per round".into(),
            ));
        }
        if !owned && !is_loopback(&parsed) {
            return Err(Usage(format!(
                "{} is not this machine, and a sweep sends it as many requests as it can; add --i-own-this-host if \
                 you may do that",
                parsed.host_str().unwrap_or_default()
            )));
        }
        Ok(Target::Foreign {
            method,
            url: parsed.into(),
            requests: requests.unwrap_or(0),
            extras: Box::new(extras),
        })
    }

    /// Whether the server's work can be told from that of other programs. A service on this machine is one of them if nobody
    /// named its process.
    pub fn is_known_from_others(&self) -> bool {
        match self {
            Target::TestServer => true,
            Target::Foreign { url, extras, .. } => {
                let is_here = Url::parse(url).is_ok_and(|url| is_loopback(&url));
                !is_here || extras.server_pid.is_some()
            }
        }
    }

    /// Whether the requests go to the lab's own test server.
    pub fn is_test_server(&self) -> bool {
        matches!(self, Target::TestServer)
    }
}

/// Whether this is the name and the value of a header field.
fn is_field(name: &str, value: &str) -> bool {
    HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok()
}

fn absolute(url: &str) -> Result<Url, Usage> {
    if let Some(meant) = with_scheme(url) {
        return Err(Usage(format!(
            "`{url}` has no scheme; did you mean {meant}?"
        )));
    }
    Url::parse(url).map_err(|error| {
        Usage(format!(
            "`{url}` is not a URL ({error}); write it whole, as in http://127.0.0.1:8080/path"
        ))
    })
}

/// The URL that was meant by a host and perhaps a port without a scheme; none for anything else.
fn with_scheme(url: &str) -> Option<String> {
    let names_scheme = url.contains("://") || Url::parse(url).is_ok_and(|url| url.has_host());
    let host = url.split(['/', ':', '?']).next().unwrap_or_default();
    let is_host = host == "localhost" || host.contains('.');
    let meant = format!("http://{url}");
    (!names_scheme && is_host && Url::parse(&meant).is_ok()).then_some(meant)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(method: &str, url: &str, requests: u64) -> String {
        let extras = Extras::default();
        Target::foreign(method, url, Some(requests), extras, false)
            .unwrap_err()
            .0
    }

    #[test]
    fn takes_this_machine_and_owned_hosts() {
        for url in [
            "http://127.0.0.1:80/",
            "http://localhost:3000/x",
            "http://[::1]:80/",
            "http://127.9.9.9/",
        ] {
            let target = Target::foreign("get", url, Some(1), Extras::default(), false);
            assert!(target.is_ok(), "{url}");
        }
        let url = "http://example.com/a b";
        let target = Target::foreign("get", url, Some(5), Extras::default(), true).unwrap();
        let expected = Target::Foreign {
            method: "GET".into(),
            url: "http://example.com/a%20b".into(),
            requests: 5,
            extras: Box::default(),
        };
        assert_eq!(target, expected);
    }

    #[test]
    fn a_service_on_this_machine_is_known_from_other_programs_by_its_process() {
        let at = |url: &str, server_pid: Option<i32>| Target::Foreign {
            method: "GET".into(),
            url: url.into(),
            requests: 5,
            extras: Box::new(Extras {
                server_pid,
                ..Extras::default()
            }),
        };
        for (target, is_known) in [
            (Target::TestServer, true),
            (at("http://127.0.0.1:8080/", None), false),
            (at("http://localhost:8080/", None), false),
            (at("http://[::1]:8080/", None), false),
            (at("http://127.0.0.1:8080/", Some(1)), true),
            (at("http://example.com/", None), true),
        ] {
            assert_eq!(target.is_known_from_others(), is_known, "{target:?}");
        }
    }

    #[test]
    fn a_document_has_the_names_of_headers_and_no_values() {
        let headers = ["Authorization: Bearer secret".to_owned(), "X-A:b".into()];
        let extras = Extras::new(&headers, Some(b"{}".to_vec()), None).unwrap();
        assert_eq!(extras.fields, "Authorization: Bearer secret\nX-A: b\n");
        let target = Target::foreign("POST", "http://localhost/", None, extras, false).unwrap();
        let text = serde_json::to_string(&target).unwrap();
        assert!(
            text.contains("Authorization") && !text.contains("secret"),
            "{text}"
        );
        for wrong in ["no colon", ": x", "a b: c", "a: b\r\nc: d"] {
            assert!(
                Extras::new(&[wrong.to_owned()], None, None).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn the_target_of_an_older_run_whose_requests_took_turns_is_read() {
        let target = r#"{ "kind": "foreign", "method": "GET", "url": "http://localhost/", "requests": 9,
            "headers": [], "requests_in_turn": 3, "other_origins": 1 }"#;
        let Target::Foreign { extras, .. } = serde_json::from_str(target).unwrap() else {
            panic!("another target");
        };
        assert_eq!(extras.requests_in_turn, Some(3));
    }

    #[test]
    fn urls_of_one_origin_take_turns() {
        let mut extras = Extras::default();
        let first = extras.mix("# a comment\nhttp://127.0.0.1:1/a b\n\nhttp://127.0.0.1:1/c\n");
        assert_eq!(first.unwrap(), "http://127.0.0.1:1/a b");
        assert_eq!(
            (extras.urls, &*extras.mix),
            (Some(2), "http://127.0.0.1:1/a%20b\nhttp://127.0.0.1:1/c\n")
        );
        for (wrong, words) in [
            ("# nothing", "has none"),
            (
                "http://127.0.0.1:1/\nhttp://127.0.0.1:2/",
                "different origins",
            ),
            ("http://127.0.0.1:1/\n/path", "not a URL"),
        ] {
            let says = Extras::default().mix(wrong).unwrap_err().0;
            assert!(says.contains(words), "{says}");
        }
    }

    #[test]
    fn refuses_strangers_and_nonsense() {
        assert!(refusal("GET", "http://example.com/", 1).contains("--i-own-this-host"));
        assert!(refusal("GET", "http://127.0.0.1.example.com/", 1).contains("--i-own-this-host"));
        assert!(refusal("GET", "ftp://127.0.0.1/", 1).contains("neither http nor https"));
        assert!(refusal("GET", "localhost:80", 1).contains("has no scheme"));
        assert!(refusal("GET", "/path", 1).contains("not a URL"));
        assert!(refusal("G T", "http://127.0.0.1/", 1).contains("not an HTTP method"));
        assert!(refusal("GET", "http://127.0.0.1/", 0).contains("REQUESTS"));
    }
}
