//! Which headers of a client go where.

use super::*;
use crate::message::fields::Fields;

fn template(base_url: Option<&str>) -> Arc<Template> {
    let named = |(name, value): (&str, &str)| (name.to_owned(), value.as_bytes().to_vec());
    let headers = [
        ("X-Api-Key", "key"),
        ("X-Any", "1"),
        ("X-Tenant", "t"),
        ("User-Agent", "me"),
    ];
    let template = Template::new(&Defaults {
        base_url: base_url.map(str::to_owned),
        headers: headers.map(named).to_vec(),
        public_headers: vec!["X-TENANT".into()],
        ..Defaults::default()
    });
    Arc::new(template.unwrap())
}

fn get(template: &Arc<Template>, url: &str) -> Request {
    template.get(url.to_owned().into()).unwrap()
}

fn fields(request: &Request) -> String {
    String::from_utf8(request.fields.clone()).unwrap()
}

const ALL: &str = "X-Api-Key: key\r\nX-Any: 1\r\nX-Tenant: t\r\nUser-Agent: me\r\n";
const PUBLIC: &str = "X-Tenant: t\r\nUser-Agent: me\r\n";

#[test]
fn headers_of_a_client_with_a_base_stay_at_its_origin() {
    let home = template(Some("http://home:8080/v1/"));
    for url in ["users", "/x", "http://HOME:8080/y", "//home:8080"] {
        assert_eq!(fields(&get(&home, url)), ALL, "{url}");
    }
    for url in [
        "http://home/",
        "https://home:8080/",
        "http://other:8080/",
        "//home",
        "http://home.other:8080/",
        "http://home.other:8080/",
    ] {
        let request = get(&home, url).without("authorization").unwrap();
        assert_eq!(fields(&request), PUBLIC, "{url}");
    }
    assert_eq!(fields(&get(&template(None), "http://any/")), ALL);
}

#[test]
fn only_public_headers_go_to_another_origin() {
    for base in [None, Some("http://home/")] {
        let mut request = get(&template(base), "http://user:secret@home/");
        for name in [
            "X-Own",
            "X-Session",
            "X-Any",
            "Ocp-Apim-Subscription-Key",
            "X-Functions-Key",
            "DD-APPLICATION-KEY",
            "X-Access-Key",
            "api_key",
            "X-Amz-Credential",
            "Referer",
        ] {
            request = request.header(name, b"dropped").unwrap();
        }
        request = request.header("Range", b"bytes=1-").unwrap();
        request.leave_origin();
        assert_eq!(fields(&request), format!("{PUBLIC}Range: bytes=1-\r\n"));
        assert_eq!(request.login(), None);
    }
}

#[test]
fn a_requests_own_header_that_is_named_public_goes_along() {
    let mut request = get(&template(None), "http://home/")
        .header("x-TENANT", b"own")
        .unwrap();
    request.leave_origin();
    let headers = fields(&request).to_ascii_lowercase();
    assert_eq!(headers, "user-agent: me\r\nx-tenant: own\r\n");
}

#[test]
fn a_header_that_replaces_a_clients_stays_behind_even_if_the_clients_was_not_sent() {
    let template = Template::new(&Defaults {
        base_url: Some("http://home/".into()),
        headers: vec![("X-Tenant-Key".into(), b"theirs".to_vec())],
        ..Defaults::default()
    });
    let elsewhere = get(&Arc::new(template.unwrap()), "http://other/");
    let mut request = elsewhere.header("X-Tenant-Key", b"own").unwrap();
    assert_eq!(fields(&request), "X-Tenant-Key: own\r\n");
    request.leave_origin();
    assert_eq!(fields(&request), "");
}

#[test]
fn a_requests_own_headers_replace_the_clients() {
    let home = template(Some("http://home/"));
    let own = get(&home, "x")
        .header("x-any", b"own")
        .unwrap()
        .header("X-Any", b"twice")
        .unwrap();
    let own = own.without("X-Api-Key").unwrap();
    let expected = "X-Tenant: t\r\nUser-Agent: me\r\nx-any: own\r\nX-Any: twice\r\n";
    assert_eq!(fields(&own), expected);
    assert!(own.flags.has_user_agent);
    assert!(!own.without("user-agent").unwrap().flags.has_user_agent);
}

#[test]
fn credentials_of_a_url_replace_the_clients_but_not_the_requests() {
    let of_base = Template::new(&Defaults {
        base_url: Some("http://user:p%40ss@home/".into()),
        ..Defaults::default()
    });
    let of_base = Arc::new(of_base.unwrap());
    let authorization = |request: &Request| {
        let value = Fields(&request.fields).get("authorization");
        value.map(|value| String::from_utf8_lossy(value).into_owned())
    };
    let basic = |pair: &str| {
        use base64::Engine;
        let encoded = base64::prelude::BASE64_STANDARD.encode(pair);
        Some(format!("Basic {encoded}"))
    };
    assert_eq!(authorization(&get(&of_base, "x")), basic("user:p@ss"));
    assert_eq!(authorization(&get(&of_base, "http://away/")), None);
    let other = get(&of_base, "http://other:%C3%A9@home/");
    assert_eq!(authorization(&other), basic("other:é"));
    assert_eq!(Fields(&other.fields).iter().count(), 1);
    let own = other.clone().header("Authorization", b"own").unwrap();
    assert_eq!(own.fields, b"Authorization: own\r\n");
    assert_eq!(
        authorization(&other.without("authorization").unwrap()),
        None
    );
    let debug = format!("{:?}", get(&of_base, "x"));
    assert!(
        !debug.contains("p@ss") && !debug.contains("p%40ss"),
        "{debug}"
    );
}

#[test]
fn a_clients_host_header_is_sent_to_its_base_alone() {
    let template = Template::new(&Defaults {
        base_url: Some("http://home/".into()),
        headers: vec![("Host".into(), b"virtual".to_vec())],
        ..Defaults::default()
    });
    let template = Arc::new(template.unwrap());
    assert_eq!(get(&template, "x").host, "virtual");
    assert_eq!(get(&template, "http://away/").host, "away");
    assert_eq!(get(&template, "x").without("host").unwrap().host, "home");
}

#[test]
fn credentials_are_never_public() {
    for name in ["Authorization", "COOKIE", "Proxy-Authorization", "a b"] {
        let defaults = Defaults {
            public_headers: vec![name.into()],
            ..Defaults::default()
        };
        let refused = Template::new(&defaults).unwrap_err().to_string();
        assert!(refused.contains(name), "{refused}");
    }
}

#[test]
fn strict_urls_are_encoded_already() {
    let strict = Template::new(&Defaults {
        strict_urls: true,
        ..Defaults::default()
    });
    let strict = Arc::new(strict.unwrap());
    for url in ["http://host/a b", "http://host/é", "http://bücher.example/"] {
        let refused = strict.get(url.to_owned().into()).unwrap_err().to_string();
        assert!(refused.contains("percent-encode"), "{refused}");
    }
}

#[test]
fn a_valid_url_is_the_same_with_a_base_and_without() {
    let (home, none) = (template(Some("http://home/v1/")), template(None));
    for url in [
        "http://home/a/../b?c='d'&e=%7e",
        "http://home/%2e%2e/x",
        "http://away:8080/a//./b?'",
        "https://Away/?a[]=1|2",
        "http://away?q",
    ] {
        assert_eq!(get(&home, url).url(), get(&none, url).url(), "{url}");
    }
    assert_eq!(get(&home, "x?c='d'").url(), "http://home/v1/x?c='d'");
    assert_eq!(get(&home, "../%2e/x").url(), "http://home/%2e/x");
}
