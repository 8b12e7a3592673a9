//! The pool's order of events: random sequences of them, held against a model.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::os::unix::net::UnixStream as Peer;
use std::time::Duration;

use proptest::prelude::*;
use tokio::net::UnixStream;

use super::sessions::SWEEP;
use super::*;
use crate::config::proxy::Proxy;
use crate::runtime::descriptors::Noted;
use crate::transport::pipe::Pipe;
use crate::transport::wire::{Socket, Wire};
use crate::{Reactor, Request};

const IDLE_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_AGE: Duration = Duration::from_secs(12);

#[derive(Clone, Debug)]
enum Event {
    /// A request to this origin begins: it takes a connection, or opens one.
    Begin(usize),
    /// A request under way ends, and puts its connection back or closes it.
    End(usize, bool),
    /// The peer ends a connection, idle or not.
    Hang(usize),
    /// The peer sends unsolicited bytes.
    Send(usize),
    /// This many milliseconds pass.
    Pass(u64),
    Shrink(usize),
    Clear,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..3_usize).prop_map(Event::Begin),
        6 => (any::<usize>(), prop::bool::weighted(0.9)).prop_map(|(which, stays)| Event::End(which, stays)),
        1 => any::<usize>().prop_map(Event::Hang),
        1 => any::<usize>().prop_map(Event::Send),
        3 => (0..4_000_u64).prop_map(Event::Pass),
        1 => (0..6_usize).prop_map(Event::Shrink),
        1 => Just(Event::Clear),
    ]
}

/// The state of a connection that may be idle.
struct Known {
    id: u64,
    origin: usize,
    since: Instant,
    opened: Instant,
}

struct World {
    pool: Pool,
    max_idle: Option<usize>,
    origins: Vec<Arc<Origin>>,
    now: Instant,
    /// In the order of return. The pool may have dropped connections that are too old.
    idle: Vec<Known>,
    used: Vec<(usize, Box<Connection>)>,
    /// The peers' ends of connections that are open on both sides.
    peers: HashMap<u64, Peer>,
    /// The connections whose peers have sent something.
    sent: HashSet<u64>,
}

impl World {
    fn new(max_idle: Option<usize>) -> World {
        let mut config = Config::new(Duration::from_secs(1));
        config.proxy = Proxy::Off;
        config.idle_timeout = IDLE_TIMEOUT;
        config.max_age = Some(MAX_AGE);
        config.max_idle = max_idle;
        let urls = ["http://a", "http://b", "http://a:81"];
        World {
            pool: Pool::new(Arc::new(config)).unwrap(),
            max_idle,
            origins: urls.map(|url| Request::get(url).unwrap().origin).into(),
            now: Instant::now(),
            idle: Vec::new(),
            used: Vec::new(),
            peers: HashMap::new(),
            sent: HashSet::new(),
        }
    }

    fn apply(&mut self, event: Event) {
        // No two events at one moment, but so close that only a system call shows what has come.
        self.now += Duration::from_nanos(1);
        match event {
            Event::Begin(origin) => self.begin(origin),
            Event::End(which, stays) if !self.used.is_empty() => {
                let (origin, connection) = self.used.remove(which % self.used.len());
                if stays {
                    self.put(origin, connection);
                }
            }
            Event::Hang(which) => {
                if let Some(id) = self.any(which) {
                    self.peers.remove(&id);
                }
            }
            Event::Send(which) => {
                let id = self.any(which);
                if let Some(mut peer) = id.and_then(|id| self.peers.get(&id)) {
                    // The pool may have closed one that is too old.
                    let _ = peer.write_all(b"HTTP/1.1 200 OK\r\n");
                    self.sent.extend(id);
                }
            }
            Event::Pass(milliseconds) => self.now += Duration::from_millis(milliseconds),
            Event::Shrink(most) => {
                self.pool.shrink(most);
                self.keep_newest(most);
                assert!(self.pool.idle() <= most);
            }
            Event::Clear => {
                self.pool.close_idle();
                self.idle.clear();
                assert_eq!(self.pool.idle(), 0);
            }
            Event::End(..) => {}
        }
        self.check();
    }

    /// A connection that is in use or idle.
    fn any(&self, which: usize) -> Option<u64> {
        let ids = self.used.iter().map(|(_, connection)| connection.ticket.id);
        let ids: Vec<_> = ids.chain(self.idle.iter().map(|known| known.id)).collect();
        (!ids.is_empty()).then(|| ids[which % ids.len()])
    }

    /// The newest usable connection is handed out, and the unusable ones before it are gone.
    fn begin(&mut self, origin: usize) {
        let mut expected = None;
        while let Some(at) = self.idle.iter().rposition(|known| known.origin == origin) {
            let known = self.idle.remove(at);
            let young = self.now - known.since < IDLE_TIMEOUT && self.now - known.opened < MAX_AGE;
            let quiet = self.peers.contains_key(&known.id) && !self.sent.contains(&known.id);
            if young && quiet {
                expected = Some(known.id);
                break;
            }
        }
        let taken = self.pool.idle.take(&self.origins[origin], self.now);
        assert_eq!(taken.as_ref().map(|taken| taken.ticket.id), expected);
        let connection = taken.unwrap_or_else(|| self.open());
        let used = self
            .used
            .iter()
            .any(|(_, other)| other.ticket.id == connection.ticket.id);
        assert!(!used, "handed out twice");
        self.used.push((origin, connection));
    }

    fn open(&mut self) -> Box<Connection> {
        let (stream, peer) = Peer::pair().unwrap();
        stream.set_nonblocking(true).unwrap();
        let stream = UnixStream::from_std(stream).unwrap();
        let wire = Wire::Plain(Socket::new(Pipe::Unix(Noted::new(stream))));
        let mut connection = Connection::new(self.pool.ticket(), wire, None);
        connection.opened = self.now;
        self.peers.insert(connection.ticket.id, peer);
        Box::new(connection)
    }

    fn put(&mut self, origin: usize, connection: Box<Connection>) {
        let (id, opened) = (connection.ticket.id, connection.opened);
        self.pool.put(&self.origins[origin], connection, self.now);
        if self.now - opened >= MAX_AGE {
            return;
        }
        let since = self.now;
        self.idle.push(Known {
            id,
            origin,
            since,
            opened,
        });
        if let Some(most) = self.max_idle {
            self.keep_newest(most);
            assert!(self.pool.idle() <= most);
        }
        // A client that visits many origins once keeps no connection to them for long.
        if let Some(oldest) = self.pool.idle.oldest() {
            assert!(self.now - oldest < IDLE_TIMEOUT + SWEEP);
        }
    }

    fn keep_newest(&mut self, most: usize) {
        self.idle.drain(..self.idle.len().saturating_sub(most));
    }

    fn check(&self) {
        let counts = self.pool.counts();
        let expired = |known: &&Known| self.now - known.since >= IDLE_TIMEOUT;
        let expired = self.idle.iter().filter(expired).count();
        assert!(counts.idle <= self.idle.len() && counts.idle >= self.idle.len() - expired);
        assert_eq!(counts.in_use, self.used.len());
        let open = self.pool.open.load(Ordering::Relaxed);
        assert_eq!(
            open,
            counts.idle + self.used.len(),
            "what is dropped is closed"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn events_in_any_order_keep_the_invariants(
        max_idle in prop::option::of(0..5_usize),
        events in prop::collection::vec(event(), 1..120),
    ) {
        Reactor::new().unwrap().block_on(async {
            let mut world = World::new(max_idle);
            for event in events {
                world.apply(event);
            }
        });
    }
}
