//! Sends a response on a stream, within the client's windows.

use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};

use super::{Exchange, Lost, Shared, fault};
use crate::hub::Hub;
use crate::replies::held::Response;
use crate::replies::stream::Kind;
use crate::round::script::{Item, Script};
use crate::wire::head::{After, Field, Length, is_bodiless};
use crate::wire::small::Small;
use crate::wire::source::Source;

/// Sends the whole response. Most faults end as a lost response.
pub(super) async fn send(
    shared: &Shared,
    response: Response,
    is_head: bool,
    after: After,
    exchange: &mut impl Exchange,
) -> Result<(), Lost> {
    let hub = &shared.hub;
    // A body that HTTP/1.1 ends by closing the connection ends with its stream here.
    let mut ends = after == After::Close;
    match response {
        Response::Item(script, item) => self::item(hub, exchange, &script, item).await?,
        Response::Rest(..) => return Err(Lost), // responses are split over HTTP/1.1 only
        Response::Small(small) => self::small(hub, exchange, *small).await?,
        Response::Stream(stream) => match stream.kind {
            Kind::Body(length, source) => {
                ends &= length != Length::Silent;
                let length = match length {
                    Length::Bytes(length) => Some(length),
                    Length::Chunked | Length::Silent => None,
                };
                let head = head(hub, 200, stream.content_type, &stream.fields, length)?;
                exchange.head(head, is_head).await?;
                if !is_head {
                    pour(hub, exchange, source).await?;
                }
            }
            Kind::Fault(fault) => return fault::play(shared, fault, exchange).await,
        },
    }
    if ends {
        exchange.go_away();
    }
    Ok(())
}

/// Sends the response to a request of a round.
async fn item(
    hub: &Hub,
    exchange: &mut impl Exchange,
    script: &Script,
    item: Item,
) -> Result<(), Lost> {
    let (content_type, fields, body) = script.body(item, &hub.date, Instant::now());
    let head = head(hub, 200, content_type, &fields, Some(body.len() as u64))?;
    let decoded = script.decoded(item, &body);
    exchange.head(head, item.is_head).await?;
    if !item.is_head {
        // Part of a coded body has no decoded length.
        if decoded == body.len() {
            return data(hub, exchange, body.into(), true).await;
        }
        exchange.data(body.into(), true, |_| ()).await?;
        hub.ledger.borrow_mut().wrote_body(decoded, false);
    }
    Ok(())
}

pub(super) async fn small(
    hub: &Hub,
    exchange: &mut impl Exchange,
    small: Small,
) -> Result<(), Lost> {
    let silent = is_bodiless(small.status);
    let length = (!silent).then_some(small.body.len() as u64);
    let head = head(hub, small.status, small.content_type, &small.fields, length)?;
    let body = match small.body {
        std::borrow::Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        std::borrow::Cow::Owned(bytes) => bytes.into(),
    };
    whole(hub, exchange, head, silent || small.is_head, body).await
}

async fn whole(
    hub: &Hub,
    exchange: &mut impl Exchange,
    head: http::Response<()>,
    silent: bool,
    body: Bytes,
) -> Result<(), Lost> {
    let silent = silent || body.is_empty();
    exchange.head(head, silent).await?;
    if silent {
        return Ok(());
    }
    data(hub, exchange, body, true).await
}

/// The head of a response.
pub(super) fn head(
    hub: &Hub,
    status: u16,
    content_type: &'static str,
    fields: &[Field],
    length: Option<u64>,
) -> Result<http::Response<()>, Lost> {
    let date = hub.date.at(Instant::now()).0;
    let mut head = http::Response::builder()
        .status(StatusCode::from_u16(status).map_err(http::Error::from)?)
        .header("date", &date[..])
        .header("content-type", content_type);
    for (name, value) in fields {
        head = head.header(name.as_ref(), value);
    }
    if let Some(length) = length {
        head = head.header("content-length", length);
    }
    Ok(head.body(())?)
}

/// Sends bytes of a body as the windows allow, and counts them.
pub(super) async fn data(
    hub: &Hub,
    exchange: &mut impl Exchange,
    bytes: Bytes,
    ends: bool,
) -> Result<(), Lost> {
    let count = |sent| hub.ledger.borrow_mut().wrote_body(sent, false);
    exchange.data(bytes, ends, count).await
}

/// Sends a body piece by piece as it is made, and ends the stream.
async fn pour(hub: &Hub, exchange: &mut impl Exchange, mut source: Source) -> Result<(), Lost> {
    while let Some(piece) = source.next() {
        if let Some(pause) = piece.pause {
            hub.timer.sleep_until(Instant::now() + pause).await;
        }
        data(hub, exchange, piece.bytes, false).await?;
    }
    match source.trailer() {
        Some((name, value)) => {
            let mut trailers = HeaderMap::new();
            let name = http::HeaderName::from_bytes(name.as_bytes()).map_err(http::Error::from)?;
            trailers.insert(name, HeaderValue::from(value));
            exchange.trailers(trailers).await
        }
        None => exchange.data(Bytes::new(), true, |_| ()).await,
    }
}
