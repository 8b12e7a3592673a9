//! Decides the answer of a request and what holds it.

use std::time::Instant;

use crate::answer::JSON;
use crate::held::{Answer, Held, Hold, Small};
use crate::hub::Hub;
use crate::ledger::Receipt;
use crate::request::{After, Request};
use crate::route::Route;
use crate::script::Item;
use crate::stream::{Kind, Stream};

/// Where a request came in.
pub(crate) struct Reply<'h> {
    pub(crate) hub: &'h Hub,
    /// Number of the connection, from 1.
    pub(crate) connection: u64,
    /// Requests that the connection has carried, this one included.
    pub(crate) carried: u64,
}

impl Reply<'_> {
    /// The answer of a complete request.
    pub(crate) fn held(
        &self,
        request: Request,
        receipt: Option<Receipt>,
        hash: u64,
        body: Vec<u8>,
        now: Instant,
    ) -> Held {
        let after = match request.route {
            Route::Close | Route::Eof => After::Close,
            _ => request.after,
        };
        let hold = self.hold(&request, receipt, now);
        let answer = match request.route {
            Route::Item(_) => {
                let item = Item {
                    hash,
                    json: request.wants_json,
                    is_head: request.is_head,
                };
                Answer::Item(self.hub.script(), item)
            }
            _ => self.other(request, body),
        };
        let planned = match (hold, &answer) {
            (Hold::Gate(_), _) | (_, Answer::Stream(_)) => None,
            (Hold::Until(at), _) => Some(at),
            (Hold::Nothing, _) => Some(now),
        };
        let receipt = receipt.map(|receipt| receipt.planned_at(planned));
        Held::new(receipt, hold, answer, after)
    }

    fn hold(&self, request: &Request, receipt: Option<Receipt>, now: Instant) -> Hold {
        match request.route {
            Route::Delay(delay) => Hold::Until(now + delay),
            Route::Item(id) => {
                let belongs = receipt.is_some_and(|receipt| receipt.belongs);
                if let Some(ticket) = belongs.then(|| self.hub.gate.enter(now)).flatten() {
                    return Hold::Gate(ticket);
                }
                let delay = self.hub.script().draw.of(id);
                delay.map_or(Hold::Nothing, |delay| Hold::Until(now + delay))
            }
            _ => Hold::Nothing,
        }
    }

    fn other(&self, request: Request, body: Vec<u8>) -> Answer {
        let kind = match request.route {
            Route::Chunked(count) => Kind::Chunked(count),
            Route::Bytes(count) => Kind::Bytes(count),
            Route::Eof => Kind::Eof,
            Route::Fault(fault) => Kind::Fault(fault),
            _ => return Answer::Small(self.small(request, body)),
        };
        let Request {
            is_head,
            version,
            after,
            ..
        } = request;
        Answer::Stream(Stream {
            kind,
            is_head,
            version,
            after,
        })
    }

    fn small(&self, request: Request, body: Vec<u8>) -> Small {
        let is_head = request.is_head;
        match request.route {
            Route::Echo => self.echo(request, body),
            Route::Ledger => json(&self.hub.summary(), is_head),
            Route::Status(status) => Small::status(status, is_head),
            Route::Delay(_) => Small::text(200, "late\n", is_head),
            Route::Close => Small::text(200, "closing\n", is_head),
            _ => Small::text(404, "no such path; try /r/1, /echo or /ledger\n", is_head),
        }
    }

    fn echo(&self, request: Request, body: Vec<u8>) -> Small {
        let Some(mut echo) = request.echo else {
            return Small::status(500, request.is_head);
        };
        echo.body = String::from_utf8_lossy(&body).into_owned();
        echo.connection = self.connection;
        echo.request = self.carried;
        json(&*echo, request.is_head)
    }
}

fn json(value: &impl serde::Serialize, is_head: bool) -> Small {
    match serde_json::to_vec(value) {
        Ok(body) => Small {
            status: 200,
            content_type: JSON,
            body: body.into(),
            is_head,
        },
        Err(error) => Small::text(
            500,
            format!("the answer cannot be written: {error}\n"),
            is_head,
        ),
    }
}
