//! HTTP/3: connections over QUIC, whose requests are counted and get responses as over HTTP/2.

mod exchange;
mod handshake;
mod transport;

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h3::error::Code;
use h3::frame::FrameStream;
use h3::server::{Connection, RequestResolver};
use h3::stream::BufRecvStream;
use quinn::{Endpoint, EndpointConfig, Incoming, TokioRuntime, VarInt};
use tokio::task::spawn_local;

use crate::hub::Hub;
use crate::multiplexed::{self, Ending, Exchange as _, Life, Reset, Shared, request_of};
use crate::options::Http3;
use crate::request::fault::Fault;
use crate::request::route::Route;
use crate::wire::deadline::{LIFE, LINGER, TO_BEGIN, within};
use exchange::Exchange;
pub(crate) use handshake::Port;
use transport::{Raw, Transport, Wires, write};

/// Most bytes of a request's fields, as HTTP/3 counts them; a request with more gets a 431.
const MOST_FIELDS: u64 = 1024 * 1024;
/// How long the server's end may take to tell the clients that it ends.
const FAREWELL: Duration = Duration::from_millis(50);

/// A connection and its streams.
struct Streams {
    shared: Rc<Shared>,
    connection: quinn::Connection,
    wires: Rc<Wires>,
    life: Rc<Life>,
    options: Http3,
    /// Streams that have begun.
    begun: Cell<u32>,
    /// The last stream that has begun.
    last: Cell<Option<u64>>,
    /// Whether GOAWAY has been sent: streams after the last one are not processed.
    gone: Cell<bool>,
}

/// Binds the UDP port of that number.
pub(crate) fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind(address)
}

/// Serves that socket; must be called inside the runtime.
pub(crate) fn listen(socket: UdpSocket, hub: Rc<Hub>, port: Port) -> io::Result<Endpoint> {
    let config = Some(port.config());
    let runtime = Arc::new(TokioRuntime);
    let endpoint = Endpoint::new(EndpointConfig::default(), config, socket, runtime)?;
    spawn_local(accept(endpoint.clone(), hub, Rc::new(port)));
    Ok(endpoint)
}

/// Tells the clients that their connections end.
pub(crate) async fn close(endpoint: &Endpoint, hub: &Hub) {
    endpoint.close(number(Code::H3_NO_ERROR), b"");
    let deadline = Instant::now() + FAREWELL;
    within(&hub.timer, Some(deadline), endpoint.wait_idle()).await;
}

fn number(code: Code) -> VarInt {
    VarInt::from_u64(code.value()).unwrap_or_default()
}

async fn accept(endpoint: Endpoint, hub: Rc<Hub>, port: Rc<Port>) {
    while let Some(incoming) = endpoint.accept().await {
        let peer = incoming.remote_address().ip();
        if hub.options.only_from.is_some_and(|only| only != peer) {
            incoming.ignore();
            continue;
        }
        // A packet with a false address must not count for that address.
        if (port.options.retry || hub.options.exposed) && !incoming.remote_address_validated() {
            // It fails only for an address that is validated.
            let _ = incoming.retry();
            continue;
        }
        let guest = match hub.options.exposed.then(|| hub.guests.admit(peer)) {
            Some(None) => {
                incoming.refuse();
                continue;
            }
            Some(guest) => guest,
            None => None,
        };
        let (hub, port) = (hub.clone(), port.clone());
        spawn_local(async move {
            serve(hub, port, incoming).await;
            drop(guest);
        });
    }
}

/// Shakes hands and serves; the connection counts from its first packet.
async fn serve(hub: Rc<Hub>, port: Rc<Port>, incoming: Incoming) {
    let entry = hub.connected();
    if port.stall {
        pending::<()>().await;
    }
    let deadline = hub.deadline(TO_BEGIN);
    let handshake = port.shake_hands(incoming);
    let Some(Some((connection, secure))) = within(&hub.timer, deadline, handshake).await else {
        let mut ledger = hub.ledger.borrow_mut();
        ledger.shook_no_hands();
        return ledger.disconnected(&entry);
    };
    {
        let mut ledger = hub.ledger.borrow_mut();
        ledger.shook_hands(secure.resumed);
        ledger.http3();
    }
    let life = hub.deadline(LIFE);
    let streams = Rc::new(Streams {
        wires: Rc::new(Wires::new(hub.clone())),
        shared: Rc::new(Shared {
            number: entry.number,
            secure: Some(Box::new(secure)),
            entry: RefCell::new(entry),
            refuse_first: port.options.refuse_first,
            hub,
        }),
        connection,
        life: Life::new(),
        options: port.options.clone(),
        begun: Cell::new(0),
        last: Cell::new(None),
        gone: Cell::new(false),
    });
    let hub = &streams.shared.hub;
    within(&hub.timer, life, streams.drive()).await;
    streams.close();
    let entry = streams.shared.entry.borrow();
    hub.ledger.borrow_mut().disconnected(&entry);
}

/// Lets what a stream has to send go before what streams that the client opened later have, as is the default of RFC 9218
/// (§4.2). Without it, QUIC sends a lost part again behind all responses that wait.
fn prefer(stream: &Raw) {
    let stream = stream.borrow();
    let before = i32::try_from(stream.id().index()).unwrap_or(i32::MAX);
    // It fails only for a stream that has ended.
    let _ = stream.set_priority(-before);
}

impl Streams {
    /// Serves until one side is done; an error of the protocol ends the connection as its end does.
    async fn drive(self: &Rc<Self>) {
        let transport = Transport::new(&self.connection, self.wires.clone());
        let mut builder = h3::server::builder();
        builder.max_field_section_size(MOST_FIELDS);
        let Ok(mut connection) = builder.build(transport).await else {
            return;
        };
        while let Some(resolver) = self.next(&mut connection).await {
            self.begin(resolver);
        }
        // h3 forgets the streams that were read together with the end.
        while let Some(both) = self.wires.left(&self.connection) {
            let stream = FrameStream::new(BufRecvStream::new(both));
            self.begin(connection.create_resolver(stream));
        }
        if self.life.ending() == Ending::AfterStreams {
            // The client closes when it has its responses; what it still requests is not processed.
            let linger = Some(Instant::now() + LINGER);
            let rest = async {
                while let Ok(Some(resolver)) = connection.accept().await {
                    self.begin(resolver);
                }
            };
            within(&self.shared.hub.timer, linger, rest).await;
        }
    }

    /// Closes the connection as was decided; it may be closed already.
    fn close(&self) {
        let code = match self.life.ending() {
            Ending::Cut => Code::H3_INTERNAL_ERROR,
            _ => Code::H3_NO_ERROR,
        };
        self.connection.close(number(code), b"");
    }

    /// The next stream; none at the end of the connection.
    async fn next(
        &self,
        connection: &mut Connection<Transport, Bytes>,
    ) -> Option<RequestResolver<Transport, Bytes>> {
        poll_fn(|context| {
            self.life.wait(context.waker());
            if self.life.is_over() {
                return Poll::Ready(None);
            }
            let accepted = pin!(connection.accept()).poll(context);
            accepted.map(|accepted| accepted.ok().flatten())
        })
        .await
    }

    /// Begins to serve a stream.
    fn begin(self: &Rc<Self>, resolver: RequestResolver<Transport, Bytes>) {
        let Some(raw) = self.wires.arrived() else {
            return;
        };
        prefer(&raw);
        let is_processed = !self.gone.get();
        if is_processed {
            self.begun.set(self.begun.get() + 1);
            self.last.set(Some(raw.borrow().id().into()));
            if self.options.goaway_after == Some(self.begun.get()) {
                self.go_away();
            }
        }
        let active = is_processed.then(|| self.life.activity());
        let streams = self.clone();
        spawn_local(async move {
            streams.stream(resolver, raw, is_processed).await;
            drop(active);
        });
    }

    async fn stream(
        self: Rc<Self>,
        resolver: RequestResolver<Transport, Bytes>,
        raw: Raw,
        is_processed: bool,
    ) {
        // A request that is none: HTTP/3 has said so to the client.
        let Ok((request, stream)) = resolver.resolve_request().await else {
            return;
        };
        let mut exchange = Exchange::new(stream, raw, self.clone());
        let has_body = exchange.has_body().await;
        let request = request_of(&request.into_parts().0, has_body, 3);
        if !is_processed {
            let hub = &self.shared.hub;
            hub.ledger.borrow_mut().http3_unprocessed();
            hub.unprocessed(request.route);
            return exchange.reset(Reset::Refused);
        }
        if request.route == Route::Fault(Fault::Goaway) {
            self.go_away();
        }
        multiplexed::serve(self.shared.clone(), request, exchange).await;
    }

    /// Says that streams after the last one are not processed (RFC 9114 §5.2), and ends after the others.
    fn go_away(&self) {
        if self.gone.replace(true) {
            return;
        }
        // The first stream that is not processed. Streams of requests have every fourth number.
        let next = self.last.get().map_or(0, |last| last + 4);
        let mut frame = [0; 10];
        frame[0] = 7; // GOAWAY
        frame[1] = 8; // bytes that follow: a number in its longest form (RFC 9000 §16)
        frame[2..].copy_from_slice(&(next | 3 << 62).to_be_bytes());
        self.control(frame.to_vec());
        self.life.end(Ending::AfterStreams);
    }

    /// Writes a frame to the server's control stream.
    fn control(&self, frame: Vec<u8>) {
        if let Some(control) = self.wires.control() {
            // It fails only if the connection has ended.
            spawn_local(async move { write(&control, &frame).await.ok() });
        }
    }
}
