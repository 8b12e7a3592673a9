//! Sends a response on a stream, within the client's windows.

use std::future::poll_fn;
use std::time::Instant;

use bytes::Bytes;
use h2::SendStream;
use h2::server::SendResponse;
use http::{HeaderMap, HeaderValue, StatusCode};

use super::stream::Lost;
use super::{Shared, fault};
use crate::held::{Response, Small};
use crate::hub::Hub;
use crate::request::After;
use crate::response::{Field, Length, is_bodiless};
use crate::script::{Item, Script};
use crate::source::Source;
use crate::stream::Kind;

/// A stream whose body is to be sent.
pub(super) type Sender = SendStream<Bytes>;

/// Sends the whole response. Most faults end as a lost response.
pub(super) async fn send(
    shared: &Shared,
    response: Response,
    is_head: bool,
    after: After,
    mut respond: SendResponse<Bytes>,
) -> Result<(), Lost> {
    let hub = &shared.hub;
    // A body that HTTP/1.1 ends by closing the connection ends with its stream here.
    let mut ends = after == After::Close;
    let id = respond.stream_id().as_u32();
    match response {
        Response::Item(script, item) => self::item(hub, respond, &script, item).await?,
        Response::Rest(..) => return Err(Lost), // responses are cut over HTTP/1.1 only
        Response::Small(small) => self::small(hub, respond, *small).await?,
        Response::Stream(stream) => match stream.kind {
            Kind::Body(length, source) => {
                ends &= length != Length::Silent;
                let length = match length {
                    Length::Bytes(length) => Some(length),
                    Length::Chunked | Length::Silent => None,
                };
                let head = head(hub, 200, stream.content_type, &stream.fields, length)?;
                let mut sender = respond.send_response(head, is_head)?;
                if !is_head {
                    pour(hub, &mut sender, source).await?;
                }
            }
            Kind::Fault(fault) => return fault::play(shared, fault, respond).await,
        },
    }
    if ends {
        shared.control.go_away(id);
    }
    Ok(())
}

/// Sends the response to a request of a round.
async fn item(
    hub: &Hub,
    mut respond: SendResponse<Bytes>,
    script: &Script,
    item: Item,
) -> Result<(), Lost> {
    let (content_type, fields, body) = script.body(item, &hub.date, Instant::now());
    let head = head(hub, 200, content_type, &fields, Some(body.len() as u64))?;
    let decoded = script.decoded(item, &body);
    let mut sender = respond.send_response(head, item.is_head)?;
    if !item.is_head {
        send_all(&mut sender, body.into(), true, |_| ()).await?;
        hub.ledger.borrow_mut().wrote_body(decoded, false);
    }
    Ok(())
}

pub(super) async fn small(
    hub: &Hub,
    respond: SendResponse<Bytes>,
    small: Small,
) -> Result<(), Lost> {
    let silent = is_bodiless(small.status);
    let length = (!silent).then_some(small.body.len() as u64);
    let head = head(hub, small.status, small.content_type, &small.fields, length)?;
    let body = match small.body {
        std::borrow::Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        std::borrow::Cow::Owned(bytes) => bytes.into(),
    };
    whole(hub, respond, head, silent || small.is_head, body).await
}

async fn whole(
    hub: &Hub,
    mut respond: SendResponse<Bytes>,
    head: http::Response<()>,
    silent: bool,
    body: Bytes,
) -> Result<(), Lost> {
    let silent = silent || body.is_empty();
    let mut sender = respond.send_response(head, silent)?;
    if silent {
        return Ok(());
    }
    data(hub, &mut sender, body, true).await
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
    sender: &mut Sender,
    bytes: Bytes,
    ends: bool,
) -> Result<(), Lost> {
    let count = |sent| hub.ledger.borrow_mut().wrote_body(sent, false);
    send_all(sender, bytes, ends, count).await
}

async fn send_all(
    sender: &mut Sender,
    mut bytes: Bytes,
    ends: bool,
    count: impl Fn(usize),
) -> Result<(), Lost> {
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

/// Sends a body piece by piece as it is made, and ends the stream.
async fn pour(hub: &Hub, sender: &mut Sender, mut source: Source) -> Result<(), Lost> {
    while let Some(piece) = source.next() {
        if let Some(pause) = piece.pause {
            hub.timer.sleep_until(Instant::now() + pause).await;
        }
        data(hub, sender, piece.bytes, false).await?;
    }
    match source.trailer() {
        Some((name, value)) => {
            let mut trailers = HeaderMap::new();
            let name = http::HeaderName::from_bytes(name.as_bytes()).map_err(http::Error::from)?;
            trailers.insert(name, HeaderValue::from(value));
            Ok(sender.send_trailers(trailers)?)
        }
        None => Ok(sender.send_data(Bytes::new(), true)?),
    }
}
