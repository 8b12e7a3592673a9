//! The setting `resolve`: known addresses, which need no lookup, and how long the results of lookups are cached.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::message::failure::InvalidRequest;
use crate::message::zone::ZonedAddress;

/// The host that stands for all.
const ANY: &str = "*";

/// Addresses that need no lookup: for each host and port the addresses to connect to, in order.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Addresses {
    fixed: BTreeMap<(String, u16), Vec<ZonedAddress>>,
    /// How long the result of a lookup is cached; zero means that it is not cached.
    pub(crate) cache_time: Duration,
}

impl Addresses {
    /// Adds a `host:port`, and at least one address of it. The host `*` stands for all that are not named.
    pub fn add(&mut self, host_and_port: &str, addresses: &[&str]) -> Result<(), InvalidRequest> {
        let refused = |why: &str| InvalidRequest(format!("resolve: {host_and_port:?} {why}"));
        let parts = host_and_port
            .rsplit_once(':')
            .filter(|(host, _)| !host.is_empty());
        let (host, port) = parts.ok_or_else(|| refused("is not \"host:port\""))?;
        let port = port
            .parse()
            .map_err(|_| refused("has a port that is not a number from 1 to 65535"))?;
        let addresses: Result<Vec<ZonedAddress>, _> = addresses.iter().map(|a| a.parse()).collect();
        match addresses {
            Ok(addresses) if !addresses.is_empty() => {
                self.fixed
                    .insert((host.to_ascii_lowercase(), port), addresses);
                Ok(())
            }
            _ => Err(refused("needs IP addresses, at least one")),
        }
    }

    /// Caches the results of lookups for this time, of at most some ten thousand names. This is for programs that send
    /// a few requests each to many hosts. If no connection could be opened to a name's addresses, the name is looked up
    /// again.
    pub fn cache_for(&mut self, time: Duration) {
        self.cache_time = time;
    }

    pub(crate) fn of(&self, host: &str, port: u16) -> Option<&[ZonedAddress]> {
        if self.fixed.is_empty() {
            return None;
        }
        let of = |host: &str| self.fixed.get(&(host.to_owned(), port));
        of(host).or_else(|| of(ANY)).map(Vec::as_slice)
    }
}

impl fmt::Debug for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fixed.fmt(f)
    }
}
