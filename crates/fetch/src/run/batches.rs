//! The requests of a thread, each through the proxy whose turn it is.
//!
//! A client knows its connections by their origins alone, so that each proxy has a client of its own. All of them share
//! cookies and the memory for bodies.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

use hecaton::{Batch, Client, InParts, Outcome, Part, Phase, Proxy, Request};

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

/// A batch for each proxy.
pub struct Batches {
    batches: Vec<Batch<u32>>,
    turns: Turns,
    /// How many requests took each list of proxies: those of hosts, and the usual ones at the end.
    taken: Vec<usize>,
    /// Which list of proxies each slot takes, and which batch has it.
    of_slots: Vec<(usize, usize)>,
    proxies: Vec<Proxy>,
    health: ProxyHealth,
}

/// The blame for an outcome that is a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// That of the host, as far as anyone knows.
    Host,
    /// That of a proxy, while others can be taken; and whether that is news.
    Proxy(bool),
}

impl Batches {
    /// Those of a thread, whose clients share what this one shares. All together never have more requests than
    /// `concurrency`.
    ///
    /// # Errors
    /// When a proxy cannot be used.
    pub fn new(client: &Client, proxies: &Proxies, concurrency: usize) -> Result<Batches> {
        let clients = proxies::clients(client, &proxies.proxies)?.into_iter();
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

    /// Chooses the proxy of the next request of a slot, by the position of its host's settings.
    pub fn choose(&mut self, slot: u32, host: Option<usize>, now: Instant) {
        let slot = slot as usize;
        if self.of_slots.len() <= slot {
            self.of_slots.resize(slot + 1, (0, 0));
        }
        let last = self.taken.len() - 1;
        let list = host.filter(|host| matches!(self.turns.of_hosts.get(*host), Some(Some(_))));
        let list = list.unwrap_or(last);
        let taken = &mut self.taken[list];
        let chosen = self.health.choose(self.turns.list(list), *taken, now);
        self.of_slots[slot] = (list, chosen);
        *taken = taken.wrapping_add(1);
    }

    /// Notes how the request of a slot ended, and says whose failure it is if it is one.
    pub fn blame(&mut self, slot: u32, outcome: &Outcome, now: Instant) -> Blame {
        let Some((list, chosen)) = self.of_slots.get(slot as usize).copied() else {
            return Blame::Host;
        };
        match &self.proxies[chosen] {
            Proxy::Url(url) if is_unconnected(outcome, url) => {
                let is_news = self.health.failed(chosen, now);
                match self.health.has_any(self.turns.list(list), now) {
                    true => Blame::Proxy(is_news),
                    false => Blame::Host,
                }
            }
            _ => {
                self.health.worked(chosen);
                Blame::Host
            }
        }
    }

    fn of(&mut self, slot: u32) -> &mut Batch<u32> {
        let (_, batch) = self
            .of_slots
            .get(slot as usize)
            .copied()
            .unwrap_or_default();
        &mut self.batches[batch]
    }

    /// See [`Batch::push`]; so do all others.
    pub fn push(&mut self, slot: u32, request: Request) {
        self.of(slot).push(slot, request);
    }

    pub fn in_parts(&mut self, slot: u32, in_parts: InParts) {
        self.of(slot).in_parts(slot, in_parts);
    }

    pub fn take_parts(&mut self) -> impl Iterator<Item = (&u32, Part)> {
        self.batches.iter_mut().flat_map(Batch::take_parts)
    }

    pub fn enough(&mut self, slot: u32) {
        self.of(slot).enough(&slot);
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
        if let [only] = &mut self.batches[..] {
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

/// Whether no connection to this proxy could be opened. A refusal after that may be the host's doing.
fn is_unconnected(outcome: &Outcome, url: &str) -> bool {
    let Err(error) = outcome else {
        return false;
    };
    // These resolve the name of the host here.
    let resolves_here = url.starts_with("socks5://") || url.starts_with("socks4://");
    let is_before = match error.phase() {
        Phase::Connect => true,
        Phase::Resolve => !resolves_here,
        _ => false,
    };
    let is_forbidden = error.detail().contains("allow_address");
    let last = error.attempts().last();
    is_before && !is_forbidden && last.is_some_and(|attempt| attempt.peer().is_none())
}
