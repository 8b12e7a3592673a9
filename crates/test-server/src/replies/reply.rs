//! Decides the response to a request, and what delays it.

use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::hub::Hub;
use crate::ledger::Receipt;
use crate::replies::exposure::{is_of_rounds, withholds};
use crate::replies::held::{Held, Hold, Response};
use crate::replies::special::{self, SpecialResponse};
use crate::replies::stream::{Kind, Stream};
use crate::request::Request;
use crate::request::body::Received;
use crate::request::fault::Fault;
use crate::request::route::Route;
use crate::round::chaos::RandomFault;
use crate::round::script::{Item, Script};
use crate::round::split::PAUSE;
use crate::round::varied::{Scripted, Variation};
use crate::wire::head::{After, Field, JSON, Length, TEXT};
use crate::wire::small::Small;
use crate::wire::source::Source;
use crate::wire::tls::Secure;

/// Into how many pieces chaos cuts a slow response, and how long it waits between them.
const SLOW_PIECES: usize = 5;
const SLOW_PAUSE: Duration = Duration::from_millis(40);

/// The connection that a request came in on.
pub(crate) struct Reply<'h> {
    pub(crate) hub: &'h Hub,
    /// Number of the connection, from 1.
    pub(crate) connection: u64,
    /// Requests that the connection has carried, this one included.
    pub(crate) carried: u64,
    /// The parameters of TLS; none without TLS.
    pub(crate) secure: Option<&'h Secure>,
}

/// A request that the ledger has counted.
pub(crate) struct Known {
    pub(crate) request: Request,
    pub(crate) receipt: Option<Receipt>,
    /// The hash of the request's id.
    pub(crate) hash: u64,
    /// The random fault that it gets.
    pub(crate) fault: Option<RandomFault>,
}

impl Reply<'_> {
    /// The response to a complete request.
    pub(crate) fn held(&self, known: Known, body: &Received, now: Instant) -> Held {
        let (request, receipt) = (&known.request, known.receipt);
        let is_stray = receipt.is_some_and(|receipt| receipt.stray);
        let mut after = match request.route {
            Route::Close | Route::Eof => After::Close,
            route if route.is_early() => After::Close,
            // A stray request must not keep the server busy while another client is measured.
            _ if is_stray => After::Close,
            _ => request.after,
        };
        let refusal = self.refusal(request);
        let hold = match refusal {
            Some(_) => Hold::Nothing,
            None => self.hold(request, receipt, now),
        };
        let response = match (request.route, refusal) {
            (Route::Item(..), _) => self.item(&known, self.hub.script(is_stray), &mut after, now),
            (_, Some((status, says))) => {
                Response::Small(Box::new(Small::text(status, says, request.is_head)))
            }
            _ => self.other(request, body, after),
        };
        let planned = match (hold, &response) {
            (Hold::Gate(_), _) | (_, Response::Stream(_)) => None,
            (Hold::Until(at) | Hold::LastBytes(at), _) => Some(at),
            (Hold::Nothing, _) => Some(now),
        };
        let receipt = receipt.map(|receipt| receipt.planned_at(planned));
        Held::new(receipt, hold, response, after)
    }

    /// Why this server does not serve a path, with the status that says so; none for the paths that it serves.
    fn refusal(&self, request: &Request) -> Option<(u16, &'static str)> {
        if self.hub.options.exposed && !self.hub.options.faults && withholds(request) {
            let says = "this path is disabled, because other hosts can reach the server; --faults enables it\n";
            return Some((403, says));
        }
        let says = "this server serves /r/<id> and /bytes/<n>, and nothing else\n";
        (self.hub.options.rounds_only && !is_of_rounds(request)).then_some((404, says))
    }

    /// The response to a request of a round: as the script says, in another form, or with a fault.
    fn item(&self, known: &Known, script: Rc<Script>, after: &mut After, now: Instant) -> Response {
        let (request, receipt) = (&known.request, known.receipt);
        let item = Item {
            hash: known.hash,
            json: request.accepts_json,
            is_head: request.is_head,
        };
        let varied = receipt.and_then(|receipt| self.varied(request, receipt));
        match (known.fault, varied) {
            (Some(fault), _) => self.random_fault(fault, request, item, *after, now),
            (None, Some(variation)) => {
                *after = self.hub.varied.after(*after);
                let of = Scripted {
                    script: &script,
                    item,
                    after: *after,
                    now,
                };
                self.in_another_form(variation, receipt, &of)
            }
            (None, None) => Response::Item(script, item),
        }
    }

    /// The variation of this response, if the request belongs to the round and this response is to be varied.
    fn varied(&self, request: &Request, receipt: Receipt) -> Option<Variation> {
        let may = receipt.belongs && request.version < 2 && !request.is_head;
        // HTTP/1.0 has neither chunks nor interim responses.
        may.then(|| self.hub.varied.next(request.version == 1))
            .flatten()
    }

    fn in_another_form(
        &self,
        variation: Variation,
        receipt: Option<Receipt>,
        of: &Scripted<'_>,
    ) -> Response {
        if let (Variation::Refused, Some(receipt)) = (variation, receipt) {
            let value = of.script.value(of.item.hash, of.item.json);
            self.hub.ledger.borrow_mut().turned_away(receipt, value);
        }
        let (bytes, body) = variation.write(&self.hub.date, of);
        Response::Rest(bytes, body)
    }

    fn hold(&self, request: &Request, receipt: Option<Receipt>, now: Instant) -> Hold {
        match request.route {
            Route::Delay(delay) => Hold::Until(now + delay),
            Route::Item(id, _) => {
                let belongs = receipt.is_some_and(|receipt| receipt.belongs);
                if belongs && self.hub.gate.is_set() {
                    return self.hold_at_the_gate(request, now);
                }
                let script = self
                    .hub
                    .script(receipt.is_some_and(|receipt| receipt.stray));
                let delay = script.delay(id).unwrap_or_default() + self.travel(script.round_trip);
                match delay {
                    Duration::ZERO
                        if belongs && request.version < 2 && self.hub.splits.is_due() =>
                    {
                        Hold::LastBytes(now + PAUSE)
                    }
                    Duration::ZERO => Hold::Nothing,
                    delay => Hold::Until(now + delay),
                }
            }
            _ => Hold::Nothing,
        }
    }

    /// What is split goes around the gate.
    fn hold_at_the_gate(&self, request: &Request, now: Instant) -> Hold {
        let is_split = request.version < 2 && self.hub.splits.is_due();
        match self.hub.gate.enter(is_split) {
            Some(ticket) => Hold::Gate(ticket),
            None if is_split => Hold::LastBytes(now + PAUSE),
            None => Hold::Nothing,
        }
    }

    /// The time on the network if the server is one round trip away. The first request of a connection also waits for
    /// the round trips that open the connection.
    fn travel(&self, round_trip: Duration) -> Duration {
        let opening = match (self.carried, self.secure) {
            (2.., _) => 0,
            (_, None) => 1,
            (_, Some(secure)) => secure.round_trips(),
        };
        round_trip * (1 + opening)
    }

    /// Applies a random fault. Over HTTP/2 and HTTP/3 a fault harms only its stream, never the connection: data of other streams
    /// would be lost with the connection, unread and uncounted.
    fn random_fault(
        &self,
        random: RandomFault,
        request: &Request,
        item: Item,
        after: After,
        now: Instant,
    ) -> Response {
        let fault = match (random, request.version) {
            (RandomFault::Error, _) => {
                return Response::Small(Box::new(Small::status(500, request.is_head)));
            }
            (RandomFault::Slow, _) => return self.slow(request, item, after, now),
            (RandomFault::Stall, _) => Fault::StallHead,
            (RandomFault::Truncate, 2..) => Fault::TruncateChunked,
            (RandomFault::Garbage, 2..) | (RandomFault::Truncate, _) => Fault::Truncate,
            (RandomFault::Close, 2..) => Fault::RefusedStream,
            (RandomFault::Reset, _) => Fault::Reset,
            (RandomFault::Garbage, _) => Fault::Garbage,
            (RandomFault::Close, _) => Fault::Close,
            (RandomFault::Early, _) => Fault::Early,
        };
        stream(Vec::new(), Kind::Fault(fault), request, after)
    }

    fn slow(&self, request: &Request, item: Item, after: After, now: Instant) -> Response {
        let (_, fields, body) = self.hub.script(false).body(item, &self.hub.date, now);
        let length = Length::Bytes(body.len() as u64);
        let source = Source::slow(body, SLOW_PIECES, SLOW_PAUSE);
        stream(fields, Kind::Body(length, source), request, after)
    }

    fn other(&self, request: &Request, body: &Received, after: After) -> Response {
        let (fields, kind) = match request.route {
            Route::Chunked(count) => (
                Vec::new(),
                Kind::Body(Length::Chunked, Source::chunks(count)),
            ),
            Route::Bytes(count) => (
                Vec::new(),
                Kind::Body(Length::Bytes(count), Source::alphabet(count)),
            ),
            Route::Eof => (
                Vec::new(),
                Kind::Body(Length::Silent, Source::whole("until the end\n")),
            ),
            Route::Fault(fault) => (Vec::new(), Kind::Fault(fault)),
            Route::Special(special) => {
                let detail = request.detail.as_deref();
                match special::respond(special, detail, body, request.is_head) {
                    SpecialResponse::Small(small) => return Response::Small(Box::new(small)),
                    SpecialResponse::Body(fields, length, source) => {
                        (fields, Kind::Body(length, source))
                    }
                }
            }
            _ => return Response::Small(Box::new(self.small(request, body))),
        };
        stream(fields, kind, request, after)
    }

    fn small(&self, request: &Request, body: &Received) -> Small {
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

    fn echo(&self, request: &Request, body: &Received) -> Small {
        let Some(detail) = &request.detail else {
            return Small::status(500, request.is_head);
        };
        let echo = serde_json::json!({
            "method": detail.method,
            "path": detail.target,
            "headers": detail.headers,
            "body": String::from_utf8_lossy(&body.bytes),
            "connection": self.connection,
            "request": self.carried,
            "protocol": request.protocol(),
            "tls": self.secure,
        });
        json(&echo, request.is_head)
    }
}

fn stream(fields: Vec<Field>, kind: Kind, request: &Request, after: After) -> Response {
    Response::Stream(Box::new(Stream {
        kind,
        content_type: TEXT,
        fields,
        is_head: request.is_head,
        version: request.version,
        after,
    }))
}

fn json(value: &impl serde::Serialize, is_head: bool) -> Small {
    match serde_json::to_vec(value) {
        Ok(body) => Small {
            status: 200,
            content_type: JSON,
            fields: Vec::new(),
            body: body.into(),
            is_head,
        },
        Err(error) => Small::text(
            500,
            format!("the response cannot be written: {error}\n"),
            is_head,
        ),
    }
}
