//! An HTTP client engine: many requests at once, and exactly one outcome for each.
//!
//! The files in the order a request meets them: [`config`](Config) (limits, and the one home of every
//! default) → `template`, `address` and `request` (checked before anything is sent) → `batch` (how many at once) with `lanes` (limits for each origin) and `parts` (answers
//! that are handed over in parts) → `client`
//! (one deadline around it all) → `hops` (`redirect`, `cookies`) → `attempts` (`moves`, `retry`) → `turns`, `pool`, `connect`, `tls`, `wire` and
//! `connection` (which one) → `exchange` (one
//! request on one connection) with `outgoing` and `incoming` (what is still to be written and read) → `h1` (the bytes) →
//! `response`, `stream` or `error`, all with the `attempt`s that led there. `timer` holds each phase to
//! its limit, and `reactor` lets
//! threads that are not asynchronous wait for all this; `descriptors` are what a forked child closes; `keeper` drives idle connections while nobody waits.
//!
//! ```no_run
//! use std::time::Duration;
//! use hecaton::{Client, Config, Reactor, Request};
//!
//! let reactor = Reactor::new()?;
//! let client = Client::new(Config::new(Duration::from_secs(5)));
//! let response = reactor.block_on(client.send(Request::get("http://127.0.0.1:8080/users/1")?))?;
//! assert_eq!(response.status(), 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No request is ever sent twice unless [`Retry`] is set, and then every try is listed. Two things are done
//! again by themselves, and that is listed too ([`Ending::Moved`]): a request that the server did nothing of for sure (no
//! byte of it was written, because its pooled connection turned out to be closed, or an HTTP/2 server says so), and, once,
//! an idempotent request whose pooled connection ended before a byte of the response came (RFC 9110 §9.2.2;
//! [`Config::reconnect`] switches it off). Both move to another connection.

#![forbid(unsafe_code)]

mod address;
mod allowance;
mod attempt;
mod attempts;
mod batch;
mod body;
mod buffered;
mod client;
mod config;
mod connect;
mod connection;
mod cookies;
mod crowd;
mod decode;
mod descriptors;
mod error;
mod exchange;
#[cfg(fuzzing)]
pub mod fuzzing;
mod h1;
mod h2;
mod hops;
mod in_flight;
mod incoming;
mod keeper;
mod lanes;
mod moves;
mod origin;
mod outgoing;
mod parts;
mod pipe;
mod pool;
mod reactor;
mod redirect;
mod redirect_hosts;
mod reference;
mod request;
mod response;
mod rest;
mod retry;
mod spent;
mod stats;
mod stream;
mod template;
mod timer;
mod tls;
mod turns;
mod wire;

pub use address::InvalidUrl;
pub use attempt::{Attempt, Ending, Version};
pub use batch::{Aborted, Batch, Limits};
pub use body::Source;
pub use client::{Client, Outcome};
pub use config::{Config, Protocol};
pub use connect::{Addresses, AllowAddress, Networks, Proxy};
pub use cookies::{Cookie, Cookies};
pub use descriptors::forget_inherited;
pub use error::{Error, InvalidRequest, Kind, Phase};
pub use http::Method;
pub use origin::{Origin, Scheme};
pub use parts::{InParts, Part};
pub use reactor::Reactor;
pub use redirect::Redirect;
pub use reference::resolve;
pub use request::Request;
pub use response::Response;
pub use retry::Retry;
pub use stats::Stats;
pub use stream::Streaming;
pub use template::{Defaults, Template};
pub use tls::{Pem, TlsVersion};
