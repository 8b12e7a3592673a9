//! The effects of a load's factors on a trial. They decide which test server it needs, which keys the driver gets, and
//! what the driver must be able to do. The server gets the delay, the body and the like in each round (`trial/requests.rs`).

use std::collections::BTreeMap;

use hecaton_test_server::{Http2, Http3, Options, Tls};
use serde_json::Value;

use super::{Hello, Verify};
use crate::plan::Load;
use crate::spec::Job;

/// The test server that a load needs. Loads with equal options share one.
pub fn server(load: &Load) -> Options {
    Options {
        tls: load.tls.then(|| Tls {
            no_resumption: load.no_resumption,
            ..Tls::default()
        }),
        http2: load.http2.then(Http2::default),
        http3: load.http3.then(Http3::default),
        ..Options::default()
    }
}

/// The optional keys of `prepare` that a load needs.
pub(super) fn optional_keys(load: &Load) -> BTreeMap<String, Value> {
    let version = match (load.http2, load.http3) {
        (true, _) => "2",
        (_, true) => "3",
        _ => return BTreeMap::new(),
    };
    BTreeMap::from([("http".into(), version.into())])
}

/// How a driver verifies bodies.
pub(super) fn verify(load: &Load) -> Verify {
    match load.job {
        Job::Gzip => Verify::Gzip,
        Job::Json => Verify::Json,
        Job::Plain => Verify::Tail,
    }
}

/// Why a client cannot do what a load requires, without its name.
pub(super) fn objection(hello: &Hello, load: &Load) -> Option<&'static str> {
    let keeps = hello.keepalive.contains(&load.keepalive);
    let objections = [
        (!keeps && load.keepalive, "does not keep connections"),
        (
            !keeps && !load.keepalive,
            "does not open a connection for each request",
        ),
        (load.tls && !hello.tls, "does not support https"),
        (
            load.http2 && !hello.can_http("2"),
            "cannot send requests over HTTP/2",
        ),
        (
            load.http3 && !hello.can_http("3"),
            "cannot send requests over HTTP/3",
        ),
        (
            load.job == Job::Gzip && !hello.verify.contains(&Verify::Gzip),
            "does not decode gzip",
        ),
    ];
    let found = objections.into_iter().find(|(cannot, _)| *cannot);
    found.map(|(_, why)| why)
}
