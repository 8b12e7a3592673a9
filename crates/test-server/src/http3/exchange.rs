//! A stream of HTTP/3.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::{Buf, Bytes};
use h3::error::{Code, StreamError};
use h3::server::RequestStream;
use http::{HeaderMap, Response};
use tokio::task::spawn_local;

use super::transport::{Both, Raw};
use super::{Streams, number};
use crate::multiplexed::{self, Ending, Lost, Reset};
use crate::wire::deadline::LINGER;
use crate::wire::source::PIECE;

/// The server's end of a stream.
pub(super) struct Exchange {
    stream: RequestStream<Both, Bytes>,
    raw: Raw,
    /// Ends when the client has given the response up.
    stopped: Pin<Box<dyn Future<Output = ()>>>,
    /// Bytes of the request's body that were read already.
    first: Option<Bytes>,
    /// Whether the response was sent whole, or reset.
    ended: bool,
    streams: Rc<Streams>,
}

impl From<StreamError> for Lost {
    fn from(_: StreamError) -> Lost {
        Lost
    }
}

impl Exchange {
    pub(super) fn new(
        stream: RequestStream<Both, Bytes>,
        raw: Raw,
        streams: Rc<Streams>,
    ) -> Exchange {
        let stopped = raw.borrow().stopped();
        Exchange {
            stream,
            raw,
            stopped: Box::pin(async move { drop(stopped.await) }),
            first: None,
            ended: false,
            streams,
        }
    }

    /// Whether a body follows, as far as is known now.
    pub(super) async fn has_body(&mut self) -> bool {
        poll_fn(|context| {
            Poll::Ready(match self.poll_receive(context) {
                Poll::Ready(Ok(bytes)) => {
                    self.first = bytes;
                    self.first.is_some()
                }
                // An error is met again by the code that reads the body.
                Poll::Ready(Err(_)) | Poll::Pending => true,
            })
        })
        .await
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamError>> {
        let bytes = self.stream.poll_recv_data(context);
        bytes.map_ok(|data| data.map(|mut data| data.copy_to_bytes(data.remaining())))
    }

    async fn finish(&mut self) -> Result<(), Lost> {
        self.ended = true;
        Ok(self.stream.finish().await?)
    }

    fn reset_with(&mut self, code: Code) {
        self.ended = true;
        // It fails only for a stream that has ended.
        let _ = self.raw.borrow_mut().reset(number(code));
    }
}

impl multiplexed::Exchange for Exchange {
    async fn receive(&mut self) -> Result<Option<Bytes>, Lost> {
        if let Some(bytes) = self.first.take() {
            return Ok(Some(bytes));
        }
        let bytes = poll_fn(|context| self.poll_receive(context)).await?;
        if bytes.is_none() {
            self.stream.recv_trailers().await?;
        }
        Ok(bytes)
    }

    fn poll_given_up(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.stopped.as_mut().poll(context)
    }

    async fn head(&mut self, head: Response<()>, ends: bool) -> Result<(), Lost> {
        self.stream.send_response(head).await?;
        match ends {
            true => self.finish().await,
            false => Ok(()),
        }
    }

    async fn data(
        &mut self,
        mut bytes: Bytes,
        ends: bool,
        count: impl Fn(usize),
    ) -> Result<(), Lost> {
        while !bytes.is_empty() {
            let piece = bytes.split_to(PIECE.min(bytes.len()));
            let length = piece.len();
            self.stream.send_data(piece).await?;
            count(length);
        }
        match ends {
            true => self.finish().await,
            false => Ok(()),
        }
    }

    async fn trailers(&mut self, trailers: HeaderMap) -> Result<(), Lost> {
        self.stream.send_trailers(trailers).await?;
        self.finish().await
    }

    fn reset(&mut self, reset: Reset) {
        match reset {
            Reset::Failed => self.reset_with(Code::H3_INTERNAL_ERROR),
            Reset::Refused => {
                self.stream.stop_sending(Code::H3_REQUEST_REJECTED);
                self.reset_with(Code::H3_REQUEST_REJECTED);
            }
        }
    }

    fn go_away(&self) {
        self.streams.go_away();
    }

    fn end(&self, ending: Ending) {
        self.streams.life.end(ending);
        // Before the drop of the stream, which would reset it first.
        self.streams.close();
    }

    fn garbage(&self) {
        // DATA, which no control stream may carry (RFC 9114 §7.2.1).
        self.streams.control(vec![0, 0]);
        let streams = self.streams.clone();
        spawn_local(async move {
            // The client ends the connection before, if it notices.
            let noticed = Instant::now() + LINGER;
            streams.shared.hub.timer.sleep_until(noticed).await;
            streams.life.end(Ending::Now);
            streams.close();
        });
    }
}

impl Drop for Exchange {
    /// QUIC would end the stream in good order, as if the response were whole.
    fn drop(&mut self) {
        if !self.ended {
            self.reset_with(Code::H3_INTERNAL_ERROR);
        }
    }
}
