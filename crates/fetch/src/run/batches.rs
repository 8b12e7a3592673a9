//! The requests of a thread, each through the proxy whose turn it is.
//!
//! A client knows its connections by their origins alone, so that each proxy has a client of its own. All of them share cookies and
//! the memory for bodies.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use hecaton::{Batch, Client, InParts, Outcome, Part, Request};

/// Which proxies the requests of a job take, as places in the list of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// Those of hosts without proxies of their own.
    pub usual: Vec<usize>,
    /// Those of each host with settings of its own, if it has any.
    pub of_hosts: Vec<Option<Vec<usize>>>,
}

/// A batch for each proxy.
pub struct Batches {
    batches: Vec<Batch<u32>>,
    turns: Turns,
    /// How many requests took each list of proxies: those of hosts, and the usual ones at the end.
    taken: Vec<usize>,
    /// Which batch has each slot.
    of_slots: Vec<usize>,
}

impl Batches {
    /// Those of these clients, one for each proxy. All together never have more requests than `concurrency`.
    pub fn new(clients: Vec<Client>, turns: Turns, concurrency: usize) -> Batches {
        let batches = clients.into_iter();
        Batches {
            batches: batches
                .map(|client| Batch::new(client, concurrency))
                .collect(),
            taken: vec![0; turns.of_hosts.len() + 1],
            turns,
            of_slots: Vec::new(),
        }
    }

    /// Chooses the proxy of the next request of a slot, by the place of its host's settings.
    pub fn choose(&mut self, slot: u32, host: Option<usize>) {
        let slot = slot as usize;
        if self.of_slots.len() <= slot {
            self.of_slots.resize(slot + 1, 0);
        }
        let own = host.and_then(|host| Some((host, self.turns.of_hosts.get(host)?.as_deref()?)));
        let last = self.taken.len() - 1;
        let (list, proxies) = own.unwrap_or((last, &self.turns.usual));
        let taken = &mut self.taken[list];
        self.of_slots[slot] = proxies
            .get(*taken % proxies.len().max(1))
            .copied()
            .unwrap_or(0);
        *taken = taken.wrapping_add(1);
    }

    fn of(&mut self, slot: u32) -> &mut Batch<u32> {
        let batch = self.of_slots.get(slot as usize).copied().unwrap_or(0);
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
