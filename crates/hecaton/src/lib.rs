//! An HTTP client engine: many requests at once, and exactly one outcome for each.
//!
//! A request passes through the modules in this order, and each module imports only from itself and from later ones.
//! `batch` decides how many requests run at once. `client` runs one request: deadline, redirects, attempts, retries.
//! `pool` chooses its connection. `multiplex` hides which protocol a shared connection has. `h3`, `h2` and `h1` run the
//! request on the connection. `transport` opens connections. `content`
//! decodes bodies. `runtime` drives everything. `config` has the settings and every default. `message` has requests,
//! responses and errors.
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
//! No request is ever sent twice unless [`Retry`] is set or a server sends a challenge of digest authentication, and
//! every try is listed. There are three exceptions, which are listed too ([`Ending::Resent`]):
//!
//! - A request is re-sent if the server certainly did nothing with it: its connection, which had carried a request, was
//!   closed before a byte was written, or an HTTP/2 or HTTP/3 server says so.
//! - Any request is re-sent, once, if its new connection ended before a byte was written.
//! - An idempotent request is re-sent, once, if its connection ended before a byte of the response came (RFC 9110
//!   §9.2.2).
//!
//! [`Config::reconnect`] switches off the second and the third.

#![forbid(unsafe_code)]
// The code that HTTP/3 shares with HTTP/2 has parts that HTTP/2 does not use.
#![cfg_attr(not(feature = "http3"), allow(dead_code))]

// In the order in which a request passes through them; each imports only from those below it (`tests/architecture/`).
mod batch;

mod client;

mod pool;

mod multiplex;

#[cfg(feature = "http3")]
mod h3;

mod h2;

mod h1;

mod transport;

mod content;

mod runtime;

mod config;

mod message;

#[cfg(any(fuzzing, test))]
#[path = "../fuzz/promises/mod.rs"]
pub mod fuzzing;

pub use batch::streaming::{InParts, Part};
pub use batch::{Aborted, Batch, Limits, check_rate};
pub use client::hooks::{Changes, Given, GivenFailure, GivenResponse, Hooks, Upcoming};
pub use client::sharing::Settings;
pub use client::streaming::Streaming;
pub use client::{Client, Outcome};
pub use config::addresses::Addresses;
pub use config::allowed::{AllowAddress, Networks};
pub use config::cookies::{Cookie, Cookies};
pub use config::pem::Pem;
pub use config::proxy::Proxy;
pub use config::{Config, Protocol, TlsVersion};
pub use http::Method;
pub use message::address::InvalidUrl;
pub use message::attempt::{Attempt, Ending, Version};
pub use message::body::Source;
pub use message::connection_facts::{ConnectionFacts, Endpoint, TlsFacts};
pub use message::digest::Login;
pub use message::error::Error;
pub use message::failure::{InvalidRequest, Kind, Phase};
pub use message::origin::{Origin, Scheme};
pub use message::reason::Reason;
pub use message::redirect::Redirect;
pub use message::request::Request;
pub use message::response::Response;
pub use message::retry::Retry;
pub use message::template::{Defaults, Template};
pub use message::zone::ZonedAddress;
pub use runtime::descriptors::forget_inherited;
pub use runtime::reactor::Reactor;
pub use runtime::readable::Readable;

// For the gem, `hecaton fetch` and their documentation alone. These are no part of the interface, and may change in any
// version.
#[doc(hidden)]
pub use config::cookies::octets as cookie_octets;
#[doc(hidden)]
pub use config::request_table::{REQUEST_OPTIONS, RequestOption};
#[doc(hidden)]
pub use config::table::{SETTINGS, Setting};
#[doc(hidden)]
pub use content::growing::grown;
#[doc(hidden)]
pub use message::public_headers::is_public;
#[doc(hidden)]
pub use message::reference::{join, resolve};
#[doc(hidden)]
pub use message::retry::retry_after;
#[doc(hidden)]
pub use message::words::{hexadecimal, without_os_numbers};
pub use pool::stats::Stats;
#[doc(hidden)]
pub use runtime::descriptors::forget_inherited_late;
#[doc(hidden)]
pub use runtime::yield_now::{Turn, begin_turn, poll_turn};
