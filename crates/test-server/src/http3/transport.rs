//! QUIC as HTTP/3 sees it: counts the bytes of its streams, and keeps them at hand for frames that HTTP/3 may not send.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::{ConnectionError, ReadError, RecvStream, SendStream, VarInt, WriteError};

use super::number;
use crate::hub::Hub;

/// The sending side of a stream, shared with the code that responds.
pub(super) type Raw = Rc<RefCell<SendStream>>;

type Streams = Pin<Box<dyn Future<Output = Result<(SendStream, RecvStream), ConnectionError>>>>;
type Incoming = Pin<Box<dyn Future<Output = Result<RecvStream, ConnectionError>>>>;
type Opening = Pin<Box<dyn Future<Output = Result<SendStream, ConnectionError>>>>;

/// The streams of a connection that others than HTTP/3 write to.
pub(super) struct Wires {
    hub: Rc<Hub>,
    /// The server's control stream: the first that it opens.
    control: RefCell<Option<Raw>>,
    /// Streams of requests that have come, in their order.
    arrived: RefCell<VecDeque<Raw>>,
}

impl Wires {
    pub(super) fn new(hub: Rc<Hub>) -> Wires {
        Wires {
            hub,
            control: RefCell::default(),
            arrived: RefCell::default(),
        }
    }

    pub(super) fn control(&self) -> Option<Raw> {
        self.control.borrow().clone()
    }

    /// The next stream that came before the end of the connection, and that HTTP/3 has not seen.
    pub(super) fn left(&self, connection: &quinn::Connection) -> Option<Both> {
        connection.close_reason()?;
        let accept = pin!(connection.accept_bi());
        let mut context = Context::from_waker(Waker::noop());
        match accept.poll(&mut context) {
            Poll::Ready(Ok((send, receive))) => Some(self.both(send, receive)),
            Poll::Ready(Err(_)) | Poll::Pending => None,
        }
    }

    fn both(&self, send: SendStream, receive: RecvStream) -> Both {
        let both = Both::new(send, receive, &self.hub);
        let raw = both.send.raw.clone();
        self.arrived.borrow_mut().extend(raw);
        both
    }

    /// The next stream of a request.
    pub(super) fn arrived(&self) -> Option<Raw> {
        self.arrived.borrow_mut().pop_front()
    }
}

/// Writes all bytes.
pub(super) async fn write(raw: &Raw, mut bytes: &[u8]) -> Result<(), WriteError> {
    while !bytes.is_empty() {
        let count = poll_fn(|context| Pin::new(&mut *raw.borrow_mut()).poll_write(context, bytes));
        let count = count.await?;
        bytes = &bytes[count..];
    }
    Ok(())
}

/// A connection of QUIC.
pub(super) struct Transport {
    connection: quinn::Connection,
    wires: Rc<Wires>,
    streams: Streams,
    incoming: Incoming,
    opening: Opener,
}

/// Opens streams.
pub(super) struct Opener {
    connection: quinn::Connection,
    wires: Rc<Wires>,
    send: Option<Opening>,
}

/// A stream that both sides send on.
pub(super) struct Both {
    send: Send,
    receive: Receive,
}

/// The sending side of a stream.
pub(super) struct Send {
    /// None for a stream that the server opened when the connection had ended.
    raw: Option<Raw>,
    id: StreamId,
    hub: Rc<Hub>,
    /// Bytes to be written first.
    writing: Option<WriteBuf<Bytes>>,
}

/// The receiving side of a stream.
pub(super) struct Receive {
    stream: RecvStream,
    id: StreamId,
    hub: Rc<Hub>,
    /// Whether the client has sent all, or will send no more.
    ended: bool,
}

fn accept_streams(connection: &quinn::Connection) -> Streams {
    let connection = connection.clone();
    Box::pin(async move { connection.accept_bi().await })
}

fn accept_incoming(connection: &quinn::Connection) -> Incoming {
    let connection = connection.clone();
    Box::pin(async move { connection.accept_uni().await })
}

impl Transport {
    pub(super) fn new(connection: &quinn::Connection, wires: Rc<Wires>) -> Transport {
        Transport {
            streams: accept_streams(connection),
            incoming: accept_incoming(connection),
            opening: Opener::new(connection, wires.clone()),
            connection: connection.clone(),
            wires,
        }
    }
}

impl quic::Connection<Bytes> for Transport {
    type RecvStream = Receive;
    type OpenStreams = Opener;

    fn poll_accept_recv(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Receive, ConnectionErrorIncoming>> {
        let stream = ready!(self.incoming.as_mut().poll(context));
        self.incoming = accept_incoming(&self.connection);
        Poll::Ready(match stream {
            Ok(stream) => Ok(Receive::new(stream, self.wires.hub.clone())),
            Err(error) => Err(incoming(error)),
        })
    }

    fn poll_accept_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Both, ConnectionErrorIncoming>> {
        let streams = ready!(self.streams.as_mut().poll(context));
        self.streams = accept_streams(&self.connection);
        let (send, receive) = streams.map_err(incoming)?;
        Poll::Ready(Ok(self.wires.both(send, receive)))
    }

    fn opener(&self) -> Opener {
        Opener::new(&self.connection, self.wires.clone())
    }
}

impl quic::OpenStreams<Bytes> for Transport {
    type BidiStream = Both;
    type SendStream = Send;

    fn poll_open_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Both, StreamErrorIncoming>> {
        self.opening.poll_open_bidi(context)
    }

    fn poll_open_send(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Send, StreamErrorIncoming>> {
        self.opening.poll_open_send(context)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(number(code), reason);
    }
}

impl Opener {
    fn new(connection: &quinn::Connection, wires: Rc<Wires>) -> Opener {
        Opener {
            connection: connection.clone(),
            wires,
            send: None,
        }
    }
}

impl quic::OpenStreams<Bytes> for Opener {
    type BidiStream = Both;
    type SendStream = Send;

    fn poll_open_bidi(&mut self, _: &mut Context<'_>) -> Poll<Result<Both, StreamErrorIncoming>> {
        let why = "a server opens no stream for requests";
        Poll::Ready(Err(StreamErrorIncoming::Unknown(why.into())))
    }

    fn poll_open_send(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Send, StreamErrorIncoming>> {
        let connection = self.connection.clone();
        let opening = self
            .send
            .get_or_insert_with(|| Box::pin(async move { connection.open_uni().await }));
        let stream = ready!(opening.as_mut().poll(context));
        self.send = None;
        // The end of the connection is noticed where streams are accepted, and those that came before are accepted first.
        let send = Send::own(stream.ok(), self.wires.hub.clone());
        let mut control = self.wires.control.borrow_mut();
        *control = control.take().or_else(|| send.raw.clone());
        Poll::Ready(Ok(send))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(number(code), reason);
    }
}

impl Both {
    fn new(send: SendStream, receive: RecvStream, hub: &Rc<Hub>) -> Both {
        Both {
            send: Send::new(send, hub.clone()),
            receive: Receive::new(receive, hub.clone()),
        }
    }
}

impl quic::RecvStream for Both {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receive.poll_data(context)
    }

    fn stop_sending(&mut self, code: u64) {
        self.receive.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.receive.id
    }
}

impl quic::SendStream<Bytes> for Both {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(context)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(context)
    }

    fn reset(&mut self, code: u64) {
        self.send.reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.send.id
    }
}

impl Send {
    fn new(stream: SendStream, hub: Rc<Hub>) -> Send {
        Send {
            id: id(stream.id().into()),
            raw: Some(Rc::new(RefCell::new(stream))),
            hub,
            writing: None,
        }
    }

    /// A stream that the server opens.
    fn own(stream: Option<SendStream>, hub: Rc<Hub>) -> Send {
        match stream {
            Some(stream) => Send::new(stream, hub),
            None => Send {
                id: id(3), // the first that a server opens
                raw: None,
                hub,
                writing: None,
            },
        }
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        let (Some(raw), Some(data)) = (&self.raw, &mut self.writing) else {
            return Poll::Ready(Ok(()));
        };
        while data.has_remaining() {
            let mut stream = raw.borrow_mut();
            let count = ready!(Pin::new(&mut *stream).poll_write(context, data.chunk()))?;
            data.advance(count);
            self.hub.ledger.borrow_mut().wrote(count);
        }
        Poll::Ready(Ok(()))
    }
}

impl quic::SendStream<Bytes> for Send {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        let written = ready!(self.poll_write(context));
        self.writing = None;
        match written {
            // The same holds for streams of the server that were open.
            Err(WriteError::ConnectionLost(_)) if !self.id.is_request() => Poll::Ready(Ok(())),
            written => Poll::Ready(written.map_err(unwritten)),
        }
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        let finished = self.raw.as_ref().map(|raw| raw.borrow_mut().finish());
        let failed = |error| StreamErrorIncoming::Unknown(Box::new(error));
        Poll::Ready(finished.transpose().map(drop).map_err(failed))
    }

    fn reset(&mut self, code: u64) {
        // It fails only for a stream that has ended.
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        let _ = self.raw.as_ref().map(|raw| raw.borrow_mut().reset(code));
    }

    fn send_id(&self) -> StreamId {
        self.id
    }
}

impl Receive {
    fn new(stream: RecvStream, hub: Rc<Hub>) -> Receive {
        Receive {
            id: id(stream.id().into()),
            stream,
            hub,
            ended: false,
        }
    }
}

impl quic::RecvStream for Receive {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let chunk = ready!(pin!(self.stream.read_chunk(usize::MAX, true)).poll(context));
        let chunk = chunk.map_err(unread);
        self.ended = !matches!(chunk, Ok(Some(_)));
        let bytes = chunk?.map(|chunk| chunk.bytes);
        let count = bytes.as_ref().map_or(0, Bytes::len);
        self.hub.ledger.borrow_mut().read(count);
        Poll::Ready(Ok(bytes))
    }

    fn stop_sending(&mut self, code: u64) {
        self.ended = true;
        // It fails only for a stream that has ended.
        let _ = self
            .stream
            .stop(VarInt::from_u64(code).unwrap_or(VarInt::MAX));
    }

    fn recv_id(&self) -> StreamId {
        self.id
    }
}

impl Drop for Receive {
    fn drop(&mut self) {
        if !self.ended {
            // A body that is not read is no error (RFC 9114 §4.1).
            let _ = self.stream.stop(number(Code::H3_NO_ERROR));
        }
    }
}

/// The number of a stream as HTTP/3 writes it. QUIC has no numbers that are too large.
fn id(number: u64) -> StreamId {
    StreamId::try_from(number).expect("QUIC numbers its streams below 2^62")
}

fn incoming(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => ConnectionErrorIncoming::ApplicationClose {
            error_code: close.error_code.into_inner(),
        },
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        error => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}

fn of_stream(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: incoming(error),
    }
}

fn unread(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into_inner(),
        },
        ReadError::ConnectionLost(error) => of_stream(error),
        error => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}

fn unwritten(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into_inner(),
        },
        WriteError::ConnectionLost(error) => of_stream(error),
        error => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}
