//! A request on its way out: its head, then its body, as fast as the socket takes them.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::config::Config;
use crate::connection::Connection;
use crate::h1::encode;
use crate::request::Request;

pub(crate) struct Outgoing {
    /// The head, and a body that is small behind it.
    output: Vec<u8>,
    /// What follows the output.
    body: Bytes,
    /// How much of both has been written.
    written: usize,
}

impl Outgoing {
    /// A request to be written to `connection`, whose memory it uses.
    pub fn new(connection: &mut Connection, request: &Request, config: &Config) -> Outgoing {
        let mut output = std::mem::take(&mut connection.output);
        output.clear();
        let whole = encode(request, config, &mut output);
        let body = if whole {
            Bytes::new()
        } else {
            request.body.clone()
        };
        Outgoing {
            output,
            body,
            written: 0,
        }
    }

    /// Whether all is written.
    pub fn is_done(&self) -> bool {
        self.written == self.output.len() + self.body.len()
    }

    /// Whether anything is written.
    pub fn has_begun(&self) -> bool {
        self.written > 0
    }

    /// Writes what the socket takes.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
    ) -> io::Result<()> {
        while !self.is_done() {
            match connection.poll_write(cx, self.remaining()) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => self.written += count,
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Gives the connection its memory back.
    pub fn give_back(&mut self, connection: &mut Connection) {
        connection.output = std::mem::take(&mut self.output);
    }

    /// What is to be written next.
    fn remaining(&self) -> &[u8] {
        match self.written.checked_sub(self.output.len()) {
            None => &self.output[self.written..],
            Some(written) => &self.body[written..],
        }
    }
}
