//! State shared by all connections of one test server: ledger, clock, timer, gate and the present script.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::ledger::age::Ages;
use crate::ledger::ids::Ids;
use crate::ledger::interval::Interval;
use crate::ledger::summary::Summary;
use crate::ledger::{Arrival, ConnectionEntry, Ledger, Receipt};
use crate::options::{Options, RoundSpec};
use crate::request::Request;
use crate::request::route::Route;
use crate::round::chaos::{Dealer, RandomFault};
use crate::round::check_value::Key;
use crate::round::gate::Gate;
use crate::round::plain::Plain;
use crate::round::script::Script;
use crate::round::split::Splits;
use crate::round::varied::{Interim, Varied};
use crate::wire::date::Date;
use crate::wire::guests::Guests;
use crate::wire::timer::Timer;

/// Lives in the test server's thread, shared by `Rc`; nothing is locked.
pub(crate) struct Hub {
    pub(crate) ledger: RefCell<Ledger>,
    pub(crate) date: Date,
    pub(crate) timer: Timer,
    pub(crate) gate: Gate,
    pub(crate) splits: Splits,
    pub(crate) varied: Varied,
    pub(crate) key: Key,
    pub(crate) options: Options,
    pub(crate) guests: Guests,
    pub(crate) ages: Ages,
    script: RefCell<Rc<Script>>,
    /// The script outside of rounds.
    between: Rc<Script>,
    /// Draws the random faults.
    pub(crate) chaos: Option<Dealer>,
    capacity: u64,
    connections: Cell<u64>,
}

impl Hub {
    /// Must be called inside the runtime.
    pub(crate) fn new(options: &Options, capacity: u64) -> io::Result<Hub> {
        let between = Rc::new(Script::new(
            Plain::new(options.body_bytes, false),
            options.delay,
            Duration::ZERO,
            options.seed,
        ));
        Ok(Hub {
            ledger: RefCell::new(Ledger::new()),
            date: Date::new(),
            timer: Timer::new()?,
            gate: Gate::default(),
            splits: Splits::default(),
            varied: Varied::default(),
            key: Key::random(),
            guests: Guests::default(),
            ages: Ages::default(),
            script: RefCell::new(between.clone()),
            between,
            chaos: options
                .chaos
                .as_ref()
                .map(|chaos| Dealer::new(chaos, options.seed)),
            options: options.clone(),
            capacity,
            connections: Cell::new(0),
        })
    }

    /// The script of a request: the round's, or that of the time between rounds for a stray request.
    pub(crate) fn script(&self, stray: bool) -> Rc<Script> {
        match stray {
            true => self.between.clone(),
            false => self.script.borrow().clone(),
        }
    }

    /// Writes a request into the ledger when its head (of `length` bytes) has been read, and finds the hash of its id,
    /// 0 when it has none. Requests for `/ledger` are not written down, except for their bytes. `behind`: the request
    /// did not wait for the response before it.
    pub(crate) fn witness(
        &self,
        request: &Request,
        entry: &mut ConnectionEntry,
        length: usize,
        behind: bool,
        now: Instant,
    ) -> (Option<Receipt>, u64) {
        let mut ledger = self.ledger.borrow_mut();
        ledger.read(length);
        let mut arrival = Arrival {
            now,
            behind,
            item: None,
            unknown: request.route == Route::Unknown,
            stray: false,
            otherwise: false,
            version: request.version,
        };
        let script = self.script.borrow();
        let (word, json) = (script.word, script.json);
        drop(script);
        let hash = match request.route {
            Route::Ledger => return (None, 0),
            Route::Item(id, said) => {
                arrival.stray = said != word;
                let script = self.script(arrival.stray);
                let hash = self.key.hash(script.nonce, id);
                let documents = request.accepts_json && !request.is_head;
                arrival.item = Some((id, script.value(hash, documents)));
                let meant = request.is_get && (request.accepts_json || !json);
                arrival.otherwise = word.is_some() && !meant;
                hash
            }
            _ => {
                arrival.stray = word.is_some();
                0
            }
        };
        (Some(ledger.arrived(entry, arrival)), hash)
    }

    /// Draws the fault of a request whose head has just been read.
    pub(crate) fn deal(&self, request: &Request) -> Option<RandomFault> {
        let Route::Item(id, _) = request.route else {
            return None;
        };
        self.chaos.as_ref()?.deal(id)
    }

    /// Counts a request that is not processed.
    pub(crate) fn unprocessed(&self, route: Route) {
        if let (Route::Item(id, _), Some(dealer)) = (route, &self.chaos) {
            dealer.unprocessed(id);
        }
    }

    /// The deadline of something that may take this long; none if no stranger can connect.
    pub(crate) fn deadline(&self, allowed: Duration) -> Option<Instant> {
        self.options.exposed.then(|| Instant::now() + allowed)
    }

    /// The ledger's entry of a new connection; they are numbered from 1.
    pub(crate) fn connected(&self) -> ConnectionEntry {
        self.connections.set(self.connections.get() + 1);
        let mut entry = self.ledger.borrow_mut().connected(self.connections.get());
        entry.age = self.ages.accepted();
        entry
    }

    pub(crate) fn open_round(&self, round: &RoundSpec) {
        let script = Script::new(
            Plain::new(round.body_bytes, round.gzip),
            round.delay,
            round.round_trip,
            // Draws far apart, because the delays of the next seed are these, shifted.
            self.options.seed.wrapping_add(u64::from(round.draw) << 32),
        );
        if round.new_connections {
            self.ages.begin();
        }
        self.gate.set(round.gate.unwrap_or(0), round.count);
        self.splits.draw(round.cuts, round.count);
        self.varied.draw(round.varied, round.interim, round.count);
        let script = script.of_round(round.first, round.count, round.word, round.json);
        self.script.replace(Rc::new(script));
        let named = round.word.is_some();
        self.ledger.borrow_mut().open(
            Ids::new(round.first, round.count),
            named,
            round.pace.clone(),
        );
    }

    pub(crate) fn close_round(&self) -> Interval {
        self.gate.set(0, 0);
        self.splits.draw(0, 0);
        self.varied.draw(0, Interim::Never, 0);
        let script = self.script.replace(self.between.clone());
        let check_value = |id| self.key.check_value(script.nonce, id).0;
        self.ledger.borrow_mut().close(check_value)
    }

    pub(crate) fn summary(&self) -> Summary {
        Summary {
            chaos: self.chaos.as_ref().map(Dealer::summary),
            ..self.ledger.borrow().summary(self.capacity)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delays of ids 1 to 50 in a round of a test server with that seed, of that draw, in their order.
    fn delays_of_ids(seed: u64, draw: u32) -> Vec<Option<Duration>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        let _inside = runtime.enter();
        let hub = Hub::new(
            &Options {
                seed,
                ..Options::default()
            },
            0,
        )
        .unwrap();
        let delay = "lognormal:p50=5ms,p99=40ms".parse().unwrap();
        hub.open_round(&RoundSpec {
            first: 1,
            count: 50,
            body_bytes: 8,
            gzip: false,
            delay,
            draw,
            round_trip: Duration::ZERO,
            ..RoundSpec::default()
        });
        (1..=50).map(|id| hub.script(false).delay(id)).collect()
    }

    fn delays(seed: u64, draw: u32) -> Vec<Option<Duration>> {
        let mut delays = delays_of_ids(seed, draw);
        delays.sort_unstable();
        delays
    }

    /// A client that knows the delays of one round does not know which request of the next has which.
    #[test]
    fn rounds_of_one_draw_have_the_same_delays_in_another_order() {
        assert_eq!(delays(1, 3), delays(1, 3));
        assert_ne!(delays_of_ids(1, 3), delays_of_ids(1, 3));
    }

    #[test]
    fn rounds_draw_their_delays_from_the_seed_of_the_server() {
        assert_eq!(delays(1, 3), delays(1, 3));
        assert_ne!(delays(1, 3), delays(2, 3));
        let (one, other) = (delays(1, 3), delays(1, 4));
        assert!(!other.iter().any(|delay| one.contains(delay)));
        assert!(delays(1, 3).iter().all(Option::is_some));
    }
}
