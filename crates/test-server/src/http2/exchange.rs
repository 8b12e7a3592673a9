//! A stream of HTTP/2.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Response};

use super::tap::Control;
use crate::multiplexed::{self, Ending, Lost, Reset};

/// The server's end of a stream.
pub(super) struct Exchange {
    body: RecvStream,
    respond: SendResponse<Bytes>,
    /// The body that is being sent, after the head.
    sender: Option<SendStream<Bytes>>,
    control: Rc<Control>,
}

impl From<h2::Error> for Lost {
    fn from(_: h2::Error) -> Lost {
        Lost
    }
}

impl Exchange {
    pub(super) fn new(
        body: RecvStream,
        respond: SendResponse<Bytes>,
        control: Rc<Control>,
    ) -> Exchange {
        Exchange {
            body,
            respond,
            sender: None,
            control,
        }
    }

    fn sender(&mut self) -> Result<&mut SendStream<Bytes>, Lost> {
        self.sender.as_mut().ok_or(Lost)
    }
}

impl multiplexed::Exchange for Exchange {
    async fn receive(&mut self) -> Result<Option<Bytes>, Lost> {
        match self.body.data().await {
            Some(data) => {
                let data = data?;
                self.body.flow_control().release_capacity(data.len())?;
                Ok(Some(data))
            }
            None => {
                self.body.trailers().await?;
                Ok(None)
            }
        }
    }

    fn poll_given_up(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.sender {
            Some(sender) => sender.poll_reset(context).map(drop),
            None => self.respond.poll_reset(context).map(drop),
        }
    }

    async fn head(&mut self, head: Response<()>, ends: bool) -> Result<(), Lost> {
        self.sender = Some(self.respond.send_response(head, ends)?);
        Ok(())
    }

    async fn data(
        &mut self,
        mut bytes: Bytes,
        ends: bool,
        count: impl Fn(usize),
    ) -> Result<(), Lost> {
        let sender = self.sender()?;
        if bytes.is_empty() && ends {
            return Ok(sender.send_data(bytes, true)?);
        }
        while !bytes.is_empty() {
            sender.reserve_capacity(bytes.len());
            let capacity = match sender.capacity() {
                0 => poll_fn(|context| sender.poll_capacity(context))
                    .await
                    .ok_or(Lost)??,
                free => free,
            };
            let piece = bytes.split_to(capacity.min(bytes.len()));
            count(piece.len());
            sender.send_data(piece, ends && bytes.is_empty())?;
        }
        Ok(())
    }

    async fn trailers(&mut self, trailers: HeaderMap) -> Result<(), Lost> {
        Ok(self.sender()?.send_trailers(trailers)?)
    }

    fn reset(&mut self, reset: Reset) {
        let reason = match reset {
            Reset::Failed => Reason::INTERNAL_ERROR,
            Reset::Refused => Reason::REFUSED_STREAM,
        };
        match &mut self.sender {
            Some(sender) => sender.send_reset(reason),
            None => self.respond.send_reset(reason),
        }
    }

    fn go_away(&self) {
        self.control.go_away(self.respond.stream_id().as_u32());
    }

    fn end(&self, ending: Ending) {
        self.control.life.end(ending);
    }

    fn garbage(&self) {
        // DATA on stream 0, which no stream can be (RFC 9113 §6.1).
        self.control
            .insert(b"\x00\x00\x01\x00\x00\x00\x00\x00\x00!");
        self.control.life.end(Ending::Now);
    }
}
