//! The bodies of redirects: skipped if the redirect is followed, and handed to the caller if not.

use std::time::Duration;

use hecaton::Request;

use crate::World;
use crate::scripted::{Scripted, response_text};

/// The bodies behind these heads never come, or are cut, or are too large.
#[test]
fn a_redirect_is_followed_whatever_becomes_of_its_body() {
    let head = |fields: &str| format!("HTTP/1.1 302 X\r\nlocation: /end\r\n{fields}\r\n");
    let server = Scripted::new(|_| {
        vec![
            ("/never", head("content-length: 5\r\n")),
            ("/cut", head("transfer-encoding: chunked\r\n") + "5\r\nab"),
            (
                "/garbage",
                head("transfer-encoding: chunked\r\n") + "no chunk",
            ),
            (
                "/large",
                head("content-length: 100000\r\n") + &"x".repeat(100_000),
            ),
            ("/endless", head("content-encoding: gzip\r\n") + "no gzip"),
            ("/end", response_text(200, "", "arrived")),
        ]
    });
    let world = World::with(|config| {
        config.redirects = 3;
        config.max_body = 1000;
        config.timeout = Duration::from_secs(60);
        // Otherwise the limit between two pieces would end it.
        config.read_timeout = None;
    });
    for path in ["/never", "/cut", "/garbage", "/large", "/endless"] {
        let request = Request::get(&format!("{}{path}", server.url)).unwrap();
        let response = world
            .send(request)
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(&response.body()[..], b"arrived", "{path}");
    }
}

#[test]
fn a_redirect_that_is_not_followed_comes_with_its_body() {
    let server = Scripted::new(|_| {
        vec![
            ("/300", response_text(300, "location: /end\r\n", "choose")),
            ("/302", response_text(302, "", "nowhere")),
            ("/304", "HTTP/1.1 304 X\r\n\r\n".into()),
        ]
    });
    for (path, body) in [("/300", "choose"), ("/302", "nowhere"), ("/304", "")] {
        let request = Request::get(&format!("{}{path}", server.url)).unwrap();
        let world = World::with(|config| config.redirects = 3);
        let response = world.send(request).unwrap();
        assert_eq!(response.body(), body, "{path}");
    }
}
