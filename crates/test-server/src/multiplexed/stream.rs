//! One stream: its request is witnessed, its body read, and its response held and sent.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use http::request::Parts;

use super::{Exchange, Lost, Reset, Shared, response};
use crate::hub::Hub;
use crate::ledger::Receipt;
use crate::replies::held::{Held, Hold};
use crate::replies::reply::{Known, Reply};
use crate::request::Request;
use crate::request::body::{Collected, Received};
use crate::request::detail::Detail;
use crate::request::parse::Framing;
use crate::request::route;
use crate::wire::head::After;

/// A request without a response; it counts as an abort if it is dropped.
struct Unanswered {
    hub: Rc<Hub>,
    receipt: Option<Receipt>,
}

/// Serves the stream. A response that ends early is in the ledger as an abort.
pub(crate) async fn serve(shared: Rc<Shared>, request: Request, mut exchange: impl Exchange) {
    let now = Instant::now();
    let (receipt, hash, carried) = {
        let mut entry = shared.entry.borrow_mut();
        let (receipt, hash) = shared.hub.witness(&request, &mut entry, 0, false, now);
        (receipt, hash, entry.carried)
    };
    let pending = Unanswered {
        hub: shared.hub.clone(),
        receipt,
    };
    let arrival = Arrival {
        request,
        hash,
        carried,
    };
    // Lost: the client has reset the stream or gone, or a fault has done what it should.
    let _ = arrival.respond(&shared, pending, &mut exchange).await;
}

/// A request that the ledger has counted.
struct Arrival {
    request: Request,
    hash: u64,
    carried: u64,
}

impl Arrival {
    /// Whether it is the first request for its id.
    fn is_first(&self, receipt: Option<Receipt>) -> bool {
        let repeated = receipt.is_some_and(|receipt| receipt.repeated);
        matches!(self.request.route, route::Route::Item(..)) && !repeated
    }

    async fn respond(
        self,
        shared: &Shared,
        mut pending: Unanswered,
        exchange: &mut impl Exchange,
    ) -> Result<(), Lost> {
        if shared.refuse_first && self.is_first(pending.receipt) {
            exchange.reset(Reset::Refused);
            return Err(Lost);
        }
        let fault = shared.hub.deal(&self.request);
        let received = match self.request.reads_body(fault) {
            true => read(exchange, Collected::new(self.request.route.keep())).await?,
            false => Received::default(),
        };
        let reply = Reply {
            hub: &shared.hub,
            connection: shared.number,
            carried: self.carried,
            secure: shared.secure.as_deref(),
        };
        let is_head = self.request.is_head;
        let known = Known {
            request: self.request,
            receipt: pending.receipt,
            hash: self.hash,
            fault,
        };
        let mut held = reply.held(known, &received, Instant::now());
        pending.receipt = held.receipt;
        hold(&shared.hub, &mut held, exchange).await?;
        if let Some(receipt) = held.receipt {
            let mut ledger = shared.hub.ledger.borrow_mut();
            ledger.released(receipt, Instant::now());
        }
        response::send(shared, held.response, is_head, held.after, exchange).await?;
        pending.responded();
        Ok(())
    }
}

impl Unanswered {
    fn responded(&mut self) {
        if let Some(receipt) = self.receipt.take() {
            let mut ledger = self.hub.ledger.borrow_mut();
            ledger.responded(receipt, Instant::now());
        }
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if let Some(receipt) = self.receipt.take() {
            self.hub.ledger.borrow_mut().aborted(receipt);
        }
    }
}

/// The request in the form of HTTP/1.1.
pub(crate) fn request_of(parts: &Parts, has_body: bool, version: u8) -> Request {
    let target = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let route = route::of(target);
    let accept = parts.headers.get("accept");
    let json = accept.is_some_and(|accept| {
        memchr::memmem::find(accept.as_bytes(), b"application/json").is_some()
    });
    Request {
        route,
        is_head: parts.method == http::Method::HEAD,
        is_get: parts.method == http::Method::GET,
        accepts_json: json,
        framing: match has_body {
            true => Framing::Chunked,
            false => Framing::None,
        },
        expects_continue: false,
        after: After::Keep,
        version,
        detail: route
            .needs_detail()
            .then(|| Box::new(detail(parts, target))),
    }
}

fn detail(parts: &Parts, target: &str) -> Detail {
    let authority = parts.uri.authority().map(|authority| authority.as_str());
    let authority = authority.map(|text| (":authority".to_owned(), text.to_owned()));
    let pair = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        (name.as_str().to_owned(), value.into_owned())
    };
    Detail {
        method: parts.method.to_string(),
        target: target.to_owned(),
        headers: authority
            .into_iter()
            .chain(parts.headers.iter().map(pair))
            .collect(),
    }
}

async fn read(exchange: &mut impl Exchange, mut collected: Collected) -> Result<Received, Lost> {
    while let Some(data) = exchange.receive().await? {
        collected.add(&data);
        if collected.is_too_long() {
            return Err(Lost);
        }
    }
    Ok(collected.finish())
}

/// Waits for what holds the response, unless the client gives the stream up.
async fn hold(hub: &Hub, held: &mut Held, exchange: &mut impl Exchange) -> Result<(), Lost> {
    poll_fn(|context| {
        if held.is_ready(hub, Instant::now()) {
            return Poll::Ready(Ok(()));
        }
        if exchange.poll_given_up(context).is_ready() {
            if let Hold::Gate(ticket) = held.hold {
                hub.gate.leave(ticket);
            }
            return Poll::Ready(Err(Lost));
        }
        held.wait(hub, context.waker());
        Poll::Pending
    })
    .await
}
