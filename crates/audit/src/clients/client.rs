//! The saint and the sinner: what they remember between their calls.

use super::connection::Connection;
use super::cookies::Jar;
use super::http3;
use super::route::Route;
use super::sins::Sins;

/// A client without faults, but for the sins that are switched on.
#[derive(Default)]
pub struct Client {
    pub(super) sins: Sins,
    pub(super) jar: Jar,
    /// Idle connections, the last used one at the end.
    pub(super) idle: Vec<Connection>,
    /// Connections of HTTP/3.
    pub(super) sessions: http3::Sessions,
    pub(super) route: Route,
    /// Whether a connection was refused, which a sin never forgets.
    pub(super) refused: bool,
    /// Connections that a sin never closes.
    pub(super) lost: Vec<Connection>,
    /// How many connections of the pool a sin never gives back.
    pub(super) lost_slots: usize,
}

impl Client {
    /// The saint.
    pub fn saint() -> Client {
        Client::default()
    }

    /// The sinner, with one sin.
    pub fn sinner(sin: &str) -> Client {
        Client {
            sins: Sins(Some(sin.to_owned())),
            ..Client::default()
        }
    }
}
