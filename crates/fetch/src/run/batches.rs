//! The requests of a thread, each through the proxy whose turn it is, and to the addresses that its host may have.
//!
//! A client knows its connections by their origins alone, so that each proxy has a client of its own, once more for
//! one's own hosts. All of them share cookies and the memory for bodies.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

use hecaton::{Batch, Client, InParts, Kind, Outcome, Part, Phase, Proxy, Reason, Request};

use super::own::Clients;
use super::proxies::{self, Proxies};
use super::proxy_health::ProxyHealth;
use crate::error::Result;

/// Which proxies the requests of a job take, as positions in the list of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// Those of hosts without proxies of their own.
    pub usual: Vec<usize>,
    /// Those of each host with settings of its own, if it has any.
    pub of_hosts: Vec<Option<Vec<usize>>>,
}

impl Turns {
    /// The list of a host with settings of its own, or behind the last of them the usual one.
    fn list(&self, list: usize) -> &[usize] {
        let own = self.of_hosts.get(list).and_then(Option::as_deref);
        own.unwrap_or(&self.usual)
    }
}

/// Batches for each proxy.
pub struct Batches {
    /// One for each proxy, and behind them once more for one's own hosts, if they have a client of their own.
    batches: Vec<Batch<u32>>,
    turns: Turns,
    /// How many requests took each list of proxies: those of hosts, and the usual ones at the end.
    taken: Vec<usize>,
    of_slots: Vec<Chosen>,
    proxies: Vec<Proxy>,
    health: ProxyHealth,
}

/// The way of a slot's request.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    /// The list of proxies.
    list: usize,
    proxy: usize,
    batch: usize,
    at: Instant,
}

/// The party that an outcome comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The host, as far as anyone knows.
    Host,
    /// A proxy that failed, while others can be taken; and whether that is news.
    Proxy(bool),
}

impl Batches {
    /// Those of a thread, whose clients share what this one shares. Each may have `concurrency` requests, so that one
    /// may have them all; the driver limits all together.
    ///
    /// # Errors
    /// When a proxy cannot be used.
    pub fn new(clients: &Clients, proxies: &Proxies, concurrency: usize) -> Result<Batches> {
        let through = |client: &Client| proxies::clients(client, &proxies.proxies);
        let through: Result<Vec<_>> = clients.all().map(through).collect();
        let clients = through?.into_iter().flatten();
        Ok(Batches {
            batches: clients
                .map(|client| Batch::new(client, concurrency))
                .collect(),
            taken: vec![0; proxies.turns.of_hosts.len() + 1],
            turns: proxies.turns.clone(),
            of_slots: Vec::new(),
            health: ProxyHealth::new(proxies.proxies.len()),
            proxies: proxies.proxies.clone(),
        })
    }

    /// Chooses the way of the next request of a slot, by the position of its host's settings and whether the host is
    /// one's own.
    pub fn choose(&mut self, slot: u32, host: Option<usize>, is_own: bool, now: Instant) {
        let slot = slot as usize;
        let last = self.taken.len() - 1;
        let list = host.filter(|host| matches!(self.turns.of_hosts.get(*host), Some(Some(_))));
        let list = list.unwrap_or(last);
        let taken = &mut self.taken[list];
        let proxy = self.health.choose(self.turns.list(list), *taken, now);
        *taken = taken.wrapping_add(1);
        let has_own = self.batches.len() > self.proxies.len();
        let batch = proxy + self.proxies.len() * usize::from(is_own && has_own);
        let chosen = Chosen {
            list,
            proxy,
            batch,
            at: now,
        };
        if self.of_slots.len() <= slot {
            self.of_slots.resize(slot + 1, chosen);
        }
        self.of_slots[slot] = chosen;
    }

    /// Notes how the request of a slot ended, and says whose failure it is if it is one. `lost`: how many tries in a
    /// row were lost by proxies before it.
    pub fn blame(&mut self, slot: u32, outcome: &Outcome, lost: u32, now: Instant) -> Blame {
        let Some(chosen) = self.of_slots.get(slot as usize).copied() else {
            return Blame::Host;
        };
        let Proxy::Url(url) = &self.proxies[chosen.proxy] else {
            return Blame::Host;
        };
        let list = self.turns.list(chosen.list);
        let is_lost = match said(outcome, url) {
            Said::Unconnected => true,
            Said::Nothing => {
                let tried = lost as usize + 1;
                let health = &self.health;
                health.is_silent(chosen.proxy, chosen.at, tried, list.len())
            }
            Said::Unclear => return Blame::Host,
            Said::Something => {
                self.health.worked(chosen.proxy, now);
                return Blame::Host;
            }
        };
        if !is_lost {
            return Blame::Host;
        }
        let is_news = self.health.failed(chosen.proxy, now);
        match self.health.has_any(list, now) {
            true => Blame::Proxy(is_news),
            false => Blame::Host,
        }
    }

    fn of(&mut self, slot: u32) -> &mut Batch<u32> {
        let chosen = self.of_slots.get(slot as usize);
        let batch = chosen.map_or(0, |chosen| chosen.batch);
        &mut self.batches[batch]
    }

    /// As [`Batch::push`], in the batch of the slot's proxy. The methods below do the same for those of [`Batch`].
    pub fn push(&mut self, slot: u32, request: Request) {
        self.of(slot).push(slot, request);
    }

    pub fn in_parts(&mut self, slot: u32, in_parts: InParts) {
        self.of(slot).in_parts(slot, in_parts);
    }

    pub fn take_pieces(&mut self) -> impl Iterator<Item = (&u32, Part)> {
        self.batches.iter_mut().flat_map(Batch::take_parts)
    }

    pub fn enough(&mut self, slot: u32) {
        self.of(slot).enough(&slot);
    }

    pub fn hold(&mut self, slot: u32) {
        self.of(slot).hold(&slot);
    }

    pub fn release(&mut self, slot: u32) {
        self.of(slot).release(&slot);
    }

    pub fn is_empty(&self) -> bool {
        self.batches.iter().all(Batch::is_empty)
    }

    pub fn abort(&mut self) {
        for batch in &mut self.batches {
            batch.abort();
        }
    }

    /// Waits until a request of any batch has ended, or a part of one can be taken.
    pub async fn wait(&mut self, outcomes: &mut Vec<(u32, Outcome)>) {
        let mut busy = self.batches.iter_mut().filter(|batch| !batch.is_empty());
        if let (Some(only), None) = (busy.next(), busy.next()) {
            return only.wait(outcomes).await;
        }
        poll_fn(|cx| {
            let mut is_ready = false;
            // An empty batch would end the wait at once.
            for batch in self.batches.iter_mut().filter(|batch| !batch.is_empty()) {
                let waiting = pin!(batch.wait(outcomes));
                is_ready |= waiting.poll(cx).is_ready();
            }
            match is_ready {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}

/// The response of a proxy, as far as an outcome shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// There was no connection to it.
    Unconnected,
    /// It accepted a connection and did not say in time whether it connects to the host.
    Nothing,
    /// Something. A refusal of it may be the host's doing.
    Something,
    /// Nobody knows: it passes on what the host says, and nothing came.
    Unclear,
}

fn said(outcome: &Outcome, proxy: &str) -> Said {
    let Err(error) = outcome else {
        return Said::Something;
    };
    // These resolve the name of the host here.
    let resolves_here = proxy.starts_with("socks5://") || proxy.starts_with("socks4://");
    let is_tunnel = proxy.starts_with("socks") || error.url().starts_with("https:");
    let Some(last) = error.attempts().last() else {
        return Said::Unclear;
    };
    let is_forbidden = error.reason() == Some(Reason::AddressForbidden);
    match error.phase() {
        Phase::Resolve if resolves_here || is_forbidden => Said::Unclear,
        Phase::Connect if is_forbidden => Said::Unclear,
        Phase::Resolve | Phase::Connect if last.peer().is_none() => Said::Unconnected,
        Phase::Connect if error.kind() == Kind::Timeout => Said::Nothing,
        Phase::Connect | Phase::Tls | Phase::Read => Said::Something,
        Phase::Send | Phase::FirstByte if is_tunnel => Said::Something,
        _ => Said::Unclear,
    }
}
