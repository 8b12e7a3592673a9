//! HTTP/2: a connection of many streams, whose requests are counted and get responses as over HTTP/1.1.

mod exchange;
mod tap;

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::{Builder, Connection, SendResponse};
use http::Request;
use tokio::io::AsyncWriteExt;
use tokio::task::spawn_local;

use crate::hub::Hub;
use crate::ledger::ConnectionEntry;
use crate::multiplexed::{self, Ending, Shared, request_of};
use crate::options::Http2;
use crate::request::fault::Fault;
use crate::request::route::{self, Route};
use crate::wire::deadline::{LIFE, LINGER, within};
use crate::wire::socket::{Socket, until_end};
use crate::wire::tls::Secure;
use exchange::Exchange;
use tap::{Control, Tap};

/// The first bytes of a connection that uses HTTP/2 by prior knowledge (RFC 9113 §3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0";
/// Windows large enough that an upload does not wait for them on loopback.
const WINDOW: u32 = 1024 * 1024;
/// Streams that a client may have given up before they are taken: as many as come in one read, or h2 ends the
/// connection.
const MOST_GIVEN_UP: usize = 10_000;

/// A connection and its streams.
struct Streams {
    shared: Rc<Shared>,
    control: Rc<Control>,
    options: Http2,
    /// Streams that have begun.
    begun: Cell<u32>,
}

type Incoming = (Request<RecvStream>, SendResponse<Bytes>);

/// Serves until the connection ends; `read` are bytes that have been read already.
pub(crate) async fn serve(
    hub: Rc<Hub>,
    socket: Socket,
    read: Bytes,
    entry: ConnectionEntry,
    secure: Option<Box<Secure>>,
) {
    let options = hub.options.http2.clone().unwrap_or_default();
    let shared = Rc::new(Shared {
        number: entry.number,
        secure,
        entry: RefCell::new(entry),
        refuse_first: options.refuse_first,
        hub,
    });
    let streams = Streams {
        shared: shared.clone(),
        control: Rc::new(Control::new()),
        options,
        begun: Cell::new(0),
    };
    let socket = Rc::new(RefCell::new(socket));
    {
        let mut ledger = shared.hub.ledger.borrow_mut();
        ledger.http2();
        ledger.read(read.len());
    }
    let life = shared.hub.deadline(LIFE);
    within(&shared.hub.timer, life, drive(&streams, &socket, read)).await;
    if let Some(socket) = Rc::into_inner(socket) {
        end(&streams, socket.into_inner()).await;
    }
    let entry = shared.entry.borrow();
    shared.hub.ledger.borrow_mut().disconnected(&entry);
}

/// Serves until one side is done; an error of the protocol ends the connection as its end does.
async fn drive(streams: &Streams, socket: &Rc<RefCell<Socket>>, read: Bytes) {
    let (control, hub) = (&streams.control, &streams.shared.hub);
    let tap = Tap::new(socket.clone(), read, hub.clone(), control.clone());
    let mut builder = Builder::new();
    builder
        .initial_window_size(WINDOW)
        .initial_connection_window_size(4 * WINDOW)
        .max_pending_accept_reset_streams(MOST_GIVEN_UP);
    if let Some(most) = streams.options.max_streams {
        builder.max_concurrent_streams(most);
    }
    let Ok(mut connection) = builder.handshake(tap).await else {
        return;
    };
    control.allow_read();
    // Dropped at the end only, because the client notices the drop of a stream.
    let mut unprocessed = Vec::new();
    while let Some(incoming) = next(&mut connection, control).await {
        unprocessed.extend(streams.begin(incoming));
    }
    let linger = Some(Instant::now() + LINGER);
    if control.life.ending() == Ending::AfterStreams {
        // The client closes when it has its responses; what it still requests is not processed.
        let rest = async {
            while let Some(incoming) =
                poll_fn(|context| poll_accept(&mut connection, control, context)).await
            {
                unprocessed.extend(streams.begin(incoming));
            }
        };
        within(&hub.timer, linger, rest).await;
    }
}

/// The next stream that has come. h2 forgets streams that were not taken when it reads that the client has gone, so
/// all are taken between two reads. None at the end of the connection.
fn poll_accept(
    connection: &mut Connection<Tap, Bytes>,
    control: &Control,
    context: &mut Context<'_>,
) -> Poll<Option<Incoming>> {
    loop {
        let polled = connection.poll_accept(context);
        if polled.is_ready() || !control.allow_read() {
            return polled.map(|incoming| incoming?.ok());
        }
    }
}

/// The next stream; none at the end of the connection.
async fn next(connection: &mut Connection<Tap, Bytes>, control: &Control) -> Option<Incoming> {
    poll_fn(|context| {
        control.life.wait(context.waker());
        // It also writes what is to be written, and so comes first.
        let polled = poll_accept(connection, control, context);
        if control.is_over() {
            return Poll::Ready(None);
        }
        polled
    })
    .await
}

/// Ends the connection as its control says.
async fn end(streams: &Streams, mut socket: Socket) {
    let cut = streams.control.life.ending() == Ending::Cut;
    if !cut && socket.shutdown().await.is_ok() {
        let linger = Some(Instant::now() + LINGER);
        within(&streams.shared.hub.timer, linger, until_end(&mut socket)).await;
    }
}

impl Streams {
    fn unprocessed(&self, incoming: &Incoming) {
        let hub = &self.shared.hub;
        hub.ledger.borrow_mut().unprocessed();
        hub.unprocessed(route::of(incoming.0.uri().path()));
    }

    /// Begins to serve a stream, or returns it if it came after the last stream that is processed.
    fn begin(&self, incoming: Incoming) -> Option<Incoming> {
        let id = incoming.1.stream_id().as_u32();
        if self.control.is_beyond(id) {
            self.unprocessed(&incoming);
            return Some(incoming);
        }
        self.begun.set(self.begun.get() + 1);
        let (request, respond) = incoming;
        let (parts, body) = request.into_parts();
        let request = request_of(&parts, !body.is_end_stream(), 2);
        // Decided here and not by the stream, because later streams of one read must already be above the limit.
        let by_path = request.route == Route::Fault(Fault::Goaway);
        if by_path || self.options.goaway_after == Some(self.begun.get()) {
            self.control.go_away(id);
        }
        let active = self.control.life.activity();
        let exchange = Exchange::new(body, respond, self.control.clone());
        let stream = multiplexed::serve(self.shared.clone(), request, exchange);
        spawn_local(async move {
            stream.await;
            drop(active);
        });
        None
    }
}
