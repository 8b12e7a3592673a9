//! Names → addresses: fixed by the settings, else from the system's resolver, one lookup for a name at a time.
//!
//! The system's resolver blocks a thread for as long as it likes, and cannot be stopped. So a name is never looked up
//! twice at the same time: other requests join the lookup, even one that was given up. Only 512 different names at
//! once, tokio's limit on threads, could hold up others.
//!
//! So a burst of requests to one new host costs one lookup. Nothing is cached unless the settings say so (`dns_cache`):
//! the system knows how long a result is valid, and caches by itself. `localhost` and all names under it are 127.0.0.1
//! and ::1 without a lookup (RFC 6761). IPv4 goes first, because most local servers listen there.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};
use std::sync::{Arc, Mutex};
#[cfg(test)]
use std::time::Duration;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};

use super::dns_cache::DnsCache;
use crate::config::addresses::Addresses;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::origin::is_within;
use crate::message::zone::{self, ZonedAddress};
use crate::runtime::lock::lock;

/// IPv4 first, because most local servers listen there.
const LOOPBACK: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
];

type Found = Result<Arc<[IpAddr]>, Arc<str>>;
type Going = Arc<Mutex<HashMap<String, Shared<BoxFuture<'static, Found>>>>>;

pub(super) struct Resolver {
    fixed: Addresses,
    going: Going,
    cache: Arc<Mutex<DnsCache>>,
    lookup: fn(&str) -> io::Result<Vec<IpAddr>>,
}

impl Resolver {
    pub fn new(fixed: &Addresses) -> Resolver {
        Resolver {
            fixed: fixed.clone(),
            going: Going::default(),
            cache: Arc::new(Mutex::new(DnsCache::new(fixed.cache_time))),
            lookup: look_up_by_system,
        }
    }

    /// Calls this function instead of the system's resolver.
    #[cfg(test)]
    pub fn with_lookup(lookup: fn(&str) -> io::Result<Vec<IpAddr>>) -> Resolver {
        Resolver::with_cache(Duration::ZERO, lookup)
    }

    /// A resolver with another lookup than the system's, and a DNS cache.
    #[cfg(test)]
    pub fn with_cache(time: Duration, lookup: fn(&str) -> io::Result<Vec<IpAddr>>) -> Resolver {
        let mut fixed = Addresses::default();
        fixed.cache_for(time);
        Resolver {
            lookup,
            ..Resolver::new(&fixed)
        }
    }

    /// The addresses of a host that needs no lookup, at least one.
    pub fn known(&self, host: &str, port: u16) -> Option<Vec<SocketAddr>> {
        let with_port = |address: &IpAddr| SocketAddr::new(*address, port);
        if let Some(fixed) = self.fixed.of(host, port) {
            // A zone that this machine does not have leaves its address out.
            let fixed = fixed.iter().filter_map(|one| in_zone(one, port).ok());
            return Some(fixed.collect());
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some(vec![with_port(&address)]);
        }
        if let Some((address, zone)) = zone::split(host) {
            let number = number_of_zone(zone)?;
            return Some(vec![SocketAddrV6::new(address, port, 0, number).into()]);
        }
        // Numbers as browsers and resolvers read them too: as one number, in hex or octal, with parts left out.
        if let Ok(url::Host::Ipv4(address)) = url::Host::parse(host) {
            return Some(vec![with_port(&address.into())]);
        }
        is_localhost(host).then(|| LOOPBACK.iter().map(with_port).collect())
    }

    /// At least one address, in the order of preference.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        let failed = |why: &str| {
            let detail = format!("cannot resolve {host}: {why}");
            Failure::new(Kind::Resolve, Phase::Resolve, detail)
        };
        match self.known(host, port) {
            Some(known) if known.is_empty() => {
                return Err(failed("this machine has none of the networks in `resolve`"));
            }
            Some(known) => return Ok(known),
            None => {}
        }
        let with_port = |address: &IpAddr| SocketAddr::new(*address, port);
        if let Some((_, zone)) = zone::split(host) {
            return Err(failed(&no_network(zone)));
        }
        match self.look_up(host).await {
            Ok(found) if found.is_empty() => Err(failed("it has no address")),
            Ok(found) => Ok(found.iter().map(with_port).collect()),
            Err(why) => Err(failed(&why)),
        }
    }

    /// Forgets what a lookup found, if no connection could be opened to it.
    pub fn forget(&self, host: &str) {
        if !self.fixed.cache_time.is_zero() {
            lock(&self.cache).forget(host);
        }
    }

    /// Forgets what a lookup found unless the result is taken off, because the host may have moved. That holds however
    /// the attempt ends: a server that has gone for good often says nothing, and the request gives up.
    pub fn unless_reached<'a>(&'a self, host: &'a str) -> Unreached<'a> {
        Unreached(Some((self, host)))
    }

    async fn look_up(&self, host: &str) -> Found {
        let lookup = {
            let mut going = lock(&self.going);
            match going.get(host) {
                Some(lookup) => lookup.clone(),
                // A lookup that has just ended is in the cache already.
                None => {
                    if let Some(found) = lock(&self.cache).get(host, Instant::now()) {
                        return Ok(found);
                    }
                    let lookup = self.start(host);
                    going.insert(host.to_owned(), lookup.clone());
                    lookup
                }
            }
        };
        lookup.await
    }

    fn start(&self, host: &str) -> Shared<BoxFuture<'static, Found>> {
        let (lookup, host, cache) = (self.lookup, host.to_owned(), self.cache.clone());
        let ended = Ended(self.going.clone(), host.clone());
        let task = tokio::task::spawn_blocking(move || {
            // The result is in the cache before the lookup is off the list, so that no request looks it up again in
            // between.
            let _ended = ended;
            let found: Found = match lookup(&host) {
                Ok(found) => Ok(found.into()),
                Err(error) => Err(error.to_string().into()),
            };
            if let Ok(found) = &found {
                lock(&cache).keep(&host, found, Instant::now());
            }
            found
        });
        let found = async move {
            match task.await {
                Ok(found) => found,
                Err(error) => Err(error.to_string().into()),
            }
        };
        found.boxed().shared()
    }
}

/// A host that no connection has been opened to yet.
pub(super) struct Unreached<'a>(Option<(&'a Resolver, &'a str)>);

impl Unreached<'_> {
    pub fn reached(mut self) {
        self.0 = None;
    }
}

impl Drop for Unreached<'_> {
    fn drop(&mut self) {
        if let Some((resolver, host)) = self.0 {
            resolver.forget(host);
        }
    }
}

/// Takes a lookup off the list when it ends, in whatever way, because its result may be old for the next request.
struct Ended(Going, String);

impl Drop for Ended {
    fn drop(&mut self) {
        lock(&self.0).remove(&self.1);
    }
}

/// Whether a name means this machine, whatever the system or a DNS server says (RFC 6761 §6.3).
fn is_localhost(host: &str) -> bool {
    is_within(host.strip_suffix('.').unwrap_or(host), "localhost")
}

/// An address with its port, in the zone that it names; a sentence if this machine does not have that.
pub(super) fn in_zone(address: &ZonedAddress, port: u16) -> Result<SocketAddr, String> {
    match (address.ip, &address.zone) {
        (IpAddr::V6(ip), Some(zone)) => {
            let number = number_of_zone(zone).ok_or_else(|| no_network(zone))?;
            Ok(SocketAddrV6::new(ip, port, 0, number).into())
        }
        (ip, _) => Ok(SocketAddr::new(ip, port)),
    }
}

fn no_network(zone: &str) -> String {
    format!("this machine has no network {zone:?}")
}

/// The number of a zone: one of this machine's networks by name, or already a number.
fn number_of_zone(zone: &str) -> Option<u32> {
    let named = nix::net::if_::if_nametoindex(zone).ok();
    named.or_else(|| zone.parse().ok())
}

fn look_up_by_system(host: &str) -> io::Result<Vec<IpAddr>> {
    Ok((host, 0)
        .to_socket_addrs()?
        .map(|found| found.ip())
        .collect())
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::task::Poll;
    use std::thread;

    use futures_util::future::join_all;

    use super::*;
    use crate::Reactor;

    static LOOKUPS: AtomicUsize = AtomicUsize::new(0);
    static MAY_END: AtomicBool = AtomicBool::new(false);

    /// A lookup that ends when it may.
    fn slowly(_: &str) -> io::Result<Vec<IpAddr>> {
        LOOKUPS.fetch_add(1, Ordering::SeqCst);
        while !MAY_END.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(vec![Ipv4Addr::LOCALHOST.into()])
    }

    #[test]
    fn an_address_is_one_however_it_is_written() {
        let resolver = Resolver::with_lookup(|_| Err(io::Error::other("nobody knows")));
        for host in [
            "169.254.43518",
            "2852039166",
            "0xA9FEA9FE",
            "0251.0376.0251.0376",
        ] {
            let expected = SocketAddr::from(([169, 254, 169, 254], 80));
            assert_eq!(resolver.known(host, 80), Some(vec![expected]), "{host}");
        }
        for host in ["a.example", "1.example", "dead.beef"] {
            assert_eq!(resolver.known(host, 80), None, "{host}");
        }
    }

    #[test]
    fn localhost_is_loopback_without_a_lookup_unless_a_setting_differs() {
        let mut resolver = Resolver::with_lookup(|_| Err(io::Error::other("nobody knows")));
        resolver
            .fixed
            .add("b.localhost:80", &["127.0.0.9"])
            .unwrap();
        let resolve = |host: &str| {
            let found = Reactor::new().unwrap().block_on(resolver.resolve(host, 80));
            found.map(|all| {
                all.iter()
                    .map(|one| one.ip().to_string())
                    .collect::<Vec<_>>()
            })
        };
        for host in [
            "localhost",
            "localhost.",
            "a.localhost",
            "x.y.LocalHost.",
            ".localhost",
        ] {
            assert_eq!(resolve(host).unwrap(), ["127.0.0.1", "::1"], "{host}");
        }
        assert_eq!(resolve("b.localhost").unwrap(), ["127.0.0.9"]);
        for host in [
            "notlocalhost",
            "localhost.example",
            "localhos",
            "localhost..",
            "é.ocalhost",
        ] {
            assert!(resolve(host).is_err(), "{host}");
        }
    }

    #[test]
    fn lookups_of_one_name_are_shared_even_after_one_was_given_up() {
        let resolver = Resolver::with_lookup(slowly);
        let reactor = Reactor::new().unwrap();
        reactor.block_on(async {
            let given_up = resolver.resolve("slow.example", 80);
            let patience = Duration::from_millis(50);
            assert!(tokio::time::timeout(patience, given_up).await.is_err());
            let all = join_all((0..1000).map(|port| resolver.resolve("slow.example", port)));
            let mut all = pin!(all);
            let wait = poll_fn(|cx| Poll::Ready(all.as_mut().poll(cx).is_pending()));
            assert!(wait.await);
            MAY_END.store(true, Ordering::SeqCst);
            for (port, found) in (0..).zip(all.await) {
                assert_eq!(found.unwrap(), [SocketAddr::from(([127, 0, 0, 1], port))]);
            }
            assert_eq!(LOOKUPS.load(Ordering::SeqCst), 1);
            resolver.resolve("slow.example", 80).await.unwrap();
            assert_eq!(
                LOOKUPS.load(Ordering::SeqCst),
                2,
                "a shared result is not stored"
            );
        });
    }

    #[test]
    fn a_cached_name_is_looked_up_again_only_when_it_is_old_or_useless() {
        static LOOKUPS: AtomicUsize = AtomicUsize::new(0);
        let resolver = Resolver::with_cache(Duration::from_secs(3600), |host| {
            LOOKUPS.fetch_add(1, Ordering::SeqCst);
            match host {
                "gone.example" => Err(io::Error::other("nobody knows")),
                _ => Ok(vec![Ipv4Addr::LOCALHOST.into()]),
            }
        });
        let reactor = Reactor::new().unwrap();
        let lookups = |host: &str, port: u16| {
            let before = LOOKUPS.load(Ordering::SeqCst);
            let found = reactor.block_on(resolver.resolve(host, port));
            let port = found.ok().map(|found| found[0].port());
            (port, LOOKUPS.load(Ordering::SeqCst) - before)
        };
        assert_eq!(lookups("a.example", 80), (Some(80), 1));
        assert_eq!(lookups("a.example", 81), (Some(81), 0), "whatever the port");
        assert_eq!(lookups("b.example", 80), (Some(80), 1));
        assert_eq!(lookups("gone.example", 80), (None, 1));
        assert_eq!(
            lookups("gone.example", 80),
            (None, 1),
            "a failure is not cached"
        );
        resolver.forget("a.example");
        assert_eq!(lookups("a.example", 80), (Some(80), 1));
        assert_eq!(lookups("b.example", 80), (Some(80), 0));
    }
}
