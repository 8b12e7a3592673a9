//! The settings of a test server and of a round, and the reasons why a start can fail.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ledger::pace::Pace;
use crate::round::chaos::Chaos;
use crate::round::delay::Delay;
use crate::round::varied::Interim;
use crate::wire::tls::Tls;

/// How a test server starts. The defaults serve 133 bytes without delay on a free port of loopback.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Where to listen; port 0 takes a free one. Default `127.0.0.1:0`.
    pub listen: SocketAddr,
    /// Bytes of a response's body outside rounds; fewer than 8 (0 too) means 8, the check value alone.
    /// Default 133.
    pub body_bytes: usize,
    /// Delay of responses outside rounds. Default none.
    pub delay: Delay,
    /// Seed of all delays and of chaos: the same seed and id give the same delay. Default 0, a seed like any other.
    pub seed: u64,
    /// Core that the test server's thread is pinned to; none leaves the choice to the system. Default none.
    pub core: Option<usize>,
    /// TLS on every TCP connection; none serves plaintext. Default none.
    pub tls: Option<Tls>,
    /// HTTP/2 beside HTTP/1.1: by prior knowledge on plaintext connections, by ALPN over TLS; none refuses it.
    /// Default none.
    pub http2: Option<Http2>,
    /// HTTP/3 on the same port over UDP, which needs TLS 1.3; none binds no UDP port. Default none.
    pub http3: Option<Http3>,
    /// Random faults on `/r/<id>`, drawn from the seed. Default nothing.
    pub chaos: Option<Chaos>,
    /// End each HTTP/1.1 connection without notice after this number of responses, as servers do that reload or limit
    /// their connections. The end follows the last response, which has no `Connection: close`. Later requests are read,
    /// counted as `unprocessed` among the faults of chaos, and get no response. 0 never ends a connection. Default 0.
    pub close_after: u32,
    /// A Unix socket to listen on beside TCP, always without TLS. The file must not exist; it is removed
    /// at the end. Default none.
    pub unix: Option<PathBuf>,
    /// Serve only the paths of rounds, `/r/…` and `/bytes/<n>`, so that no other request can keep the
    /// server busy. Default no.
    pub rounds_only: bool,
    /// Connections have deadlines and limits by address, because strangers may reach the server. Default no.
    pub exposed: bool,
    /// Accept connections of this address alone; none accepts all. Default none.
    pub only_from: Option<IpAddr>,
    /// Clients on other machines may also request responses that harm them: bombs, faults, endless bodies, long
    /// delays. Default no.
    pub faults: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            body_bytes: 133,
            delay: Delay::None,
            seed: 0,
            core: None,
            tls: None,
            http2: None,
            http3: None,
            chaos: None,
            close_after: 0,
            unix: None,
            rounds_only: false,
            exposed: false,
            only_from: None,
            faults: false,
        }
    }
}

/// How a test server behaves over HTTP/2. The default has no limits and no faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Http2 {
    /// Most streams that a connection may have open at once, as SETTINGS_MAX_CONCURRENT_STREAMS says. None
    /// sets no limit; 0 allows no stream at all. Default none.
    pub max_streams: Option<u32>,
    /// Send GOAWAY when this many streams of a connection have begun: that one and the earlier ones are processed,
    /// later ones are not. None and 0 never do. Default none.
    pub goaway_after: Option<u32>,
    /// Refuse the first stream with each id (REFUSED_STREAM), and serve it when it comes again. Default no.
    pub refuse_first: bool,
}

/// How a test server behaves over HTTP/3. The default has no limits and no faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Http3 {
    /// Most streams that a connection may have open at once. None allows as many as a client can need; 0 allows no
    /// stream at all. Default none.
    pub max_streams: Option<u32>,
    /// Send GOAWAY when this many streams of a connection have begun: that one and the earlier ones are processed,
    /// later ones are not. None and 0 never do. Default none.
    pub goaway_after: Option<u32>,
    /// Refuse the first stream with each id (H3_REQUEST_REJECTED), and serve it when it comes again. Default no.
    pub refuse_first: bool,
    /// Answer the first packet of each connection with a Retry packet, so that the client must prove its address. Default
    /// no.
    pub retry: bool,
    /// Accept requests in 0-RTT data. Default no.
    pub early_data: bool,
}

/// The content of one round. Ids `first..first + count` belong to it. The default serves no id, and waits for
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundSpec {
    /// First id of the round.
    pub first: u64,
    /// How many ids; 0 makes every request foreign. The ledger needs one byte of memory for each.
    pub count: u64,
    /// Whether requests must have `Accept: application/json`: requests without it are counted. Only in a
    /// round with a word.
    pub json: bool,
    /// Bytes of a response's body, decoded; fewer than 8 (0 too) means 8, the check value alone.
    pub body_bytes: usize,
    /// Whether plain responses come in gzip, whatever the request accepts; documents stay as they are.
    pub gzip: bool,
    /// Delay of every response; ignored when `gate` is given.
    pub delay: Delay,
    /// The number of the draw of delays: rounds of one test server with one number share their delays,
    /// each in its own order.
    pub draw: u32,
    /// The length of a simulated round trip. Every response waits one of them. The first response of a connection waits
    /// longer, because a server cannot delay the opening itself. It waits one more for TCP, and for TLS one (1.3) or
    /// two (1.2). 0 adds nothing. Ignored when `gate` is given.
    pub round_trip: Duration,
    /// Hold every response until this many requests are held at once, until the last one of the round has arrived, or until no
    /// new one has arrived for 500 ms, which happens four times at most. None and 0 hold nothing.
    pub gate: Option<usize>,
    /// Requests of the round come to `/r/<word>/<id>`, the word as sixteen hexadecimal digits; a request without it is
    /// stray, and counted as nothing else. None serves `/r/<id>`, and calls everything else foreign.
    pub word: Option<u64>,
    /// This many random responses come in two parts: the last bytes follow 1 ms after the others. A client that sends
    /// its next request earlier has not waited for the response. They are not held at the gate. HTTP/1.1 only.
    pub cuts: u64,
    /// This many random responses come in another form: in chunks, with names of fields in another case, or with a
    /// longer body. In a long round, some are a 503, which the client must count as a failure. HTTP/1.1 only.
    pub varied: u64,
    /// Which responses come behind an interim one. HTTP/1.1 only.
    pub interim: Interim,
    /// Whether the server closes all open connections when the round begins. Needed if each request
    /// must have a new one.
    pub new_connections: bool,
    /// When each request is due, where they are sent at a rate; none where each follows the end of another. Another
    /// machine has another clock, so no rate is sent there.
    #[serde(skip)]
    pub pace: Option<Pace>,
}

/// Why a test server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another program listens there.
    #[error("cannot listen on {0}: the port is in use; choose another, or port 0 for a free one")]
    PortInUse(SocketAddr),
    /// The system refused the address for another reason.
    #[error(
        "cannot listen on {address}: {error}; choose an address of this machine and a port you may use"
    )]
    Listen {
        /// The address that was given.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The system refused the Unix socket.
    #[error("cannot listen on the Unix socket {}: {error}; choose a path that does not exist in a folder you may write to", path.display())]
    Unix {
        /// The path that was given.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The thread could not be pinned.
    #[error(
        "cannot pin the test server to core {core}: {error}; choose one of the cores this process may use"
    )]
    Pin {
        /// The core that was given.
        core: usize,
        /// The system's error.
        error: io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error("cannot use TLS: {0}; give a certificate and its key as PEM, or a kind by name")]
    Tls(String),
    /// The system gave no thread, timer or event queue.
    #[error(
        "cannot start the test server's thread: {0}; free some descriptors or memory, and try again"
    )]
    System(#[from] io::Error),
}
