//! The faults of a stream, or of its connection.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::response::{data, head};
use super::{Ending, Exchange, Lost, Reset, Shared};
use crate::request::fault::{BODY, DRIP_EVERY, Fault, HUGE_HEAD, IDLE_CLOSE_AFTER};
use crate::wire::head::{Field, TEXT};
use crate::wire::small::Small;

/// Half of a body has been sent by then.
const WRITTEN_AFTER: Duration = Duration::from_millis(10);

/// Sends half of a body, and resets its stream.
async fn half_and_reset(shared: &Shared, exchange: &mut impl Exchange) -> Result<(), Lost> {
    half_written(shared, exchange).await?;
    exchange.reset(Reset::Failed);
    Ok(())
}

/// Sends half of a body. A reset discards bytes that are not written yet, and nothing reports when they are.
async fn half_written(shared: &Shared, exchange: &mut impl Exchange) -> Result<(), Lost> {
    half(shared, exchange, false).await?;
    let written = Instant::now() + WRITTEN_AFTER;
    shared.hub.timer.sleep_until(written).await;
    Ok(())
}

/// Causes the fault. Only a whole response ends without being lost.
pub(super) async fn play(
    shared: &Shared,
    fault: Fault,
    exchange: &mut impl Exchange,
) -> Result<(), Lost> {
    match fault {
        // Fewer bytes than the length says, and the end of the stream.
        Fault::Truncate => {
            half(shared, exchange, true).await?;
            return exchange.data(Bytes::new(), true, |_| ()).await;
        }
        Fault::TruncateChunked => half_and_reset(shared, exchange).await?,
        Fault::TlsCut => {
            half_written(shared, exchange).await?;
            exchange.end(Ending::Cut);
        }
        Fault::Reset => exchange.reset(Reset::Failed),
        Fault::RefusedStream => exchange.reset(Reset::Refused),
        Fault::Close => exchange.end(Ending::Now),
        Fault::Garbage => {
            exchange.garbage();
            given_up(exchange).await;
        }
        Fault::StallHead => given_up(exchange).await,
        Fault::StallBody => {
            half(shared, exchange, true).await?;
            given_up(exchange).await;
        }
        Fault::Drip => return drip(shared, exchange).await,
        Fault::HugeHead => return huge_head(shared, exchange).await,
        // Dropping unread data tells the client to send no more, without an error (RFC 9113 §8.1, RFC 9114 §4.1).
        Fault::Early => {
            let small = Small::status(413, false);
            return super::response::small(&shared.hub, exchange, small).await;
        }
        Fault::IdleClose => return idle_close(shared, exchange).await,
        // The connection sent it when the stream began.
        Fault::Goaway => return ok(shared, exchange, &[]).await,
    }
    Err(Lost)
}

/// Waits until the client gives the stream up.
async fn given_up(exchange: &mut impl Exchange) {
    poll_fn(|context| exchange.poll_given_up(context)).await;
}

/// The head of a whole body and the first half of it.
async fn half(shared: &Shared, exchange: &mut impl Exchange, promised: bool) -> Result<(), Lost> {
    let length = promised.then_some(BODY.len() as u64);
    let head = head(&shared.hub, 200, TEXT, &[], length)?;
    exchange.head(head, false).await?;
    let half = Bytes::from_static(&BODY[..BODY.len() / 2]);
    data(&shared.hub, exchange, half, false).await
}

async fn drip(shared: &Shared, exchange: &mut impl Exchange) -> Result<(), Lost> {
    let head = head(&shared.hub, 200, TEXT, &[], None)?;
    exchange.head(head, false).await?;
    let mut at = Instant::now();
    loop {
        data(&shared.hub, exchange, Bytes::from_static(b"x"), false).await?;
        at += DRIP_EVERY;
        shared.hub.timer.sleep_until(at).await;
    }
}

async fn huge_head(shared: &Shared, exchange: &mut impl Exchange) -> Result<(), Lost> {
    let value = String::from_utf8_lossy(&BODY[..]).into_owned();
    let field: Field = ("x-huge".into(), value);
    ok(shared, exchange, &vec![field; HUGE_HEAD / BODY.len() + 1]).await
}

async fn idle_close(shared: &Shared, exchange: &mut impl Exchange) -> Result<(), Lost> {
    ok(shared, exchange, &[]).await?;
    let close = Instant::now() + IDLE_CLOSE_AFTER;
    shared.hub.timer.sleep_until(close).await;
    exchange.end(Ending::Now);
    Ok(())
}

/// A good response.
async fn ok(shared: &Shared, exchange: &mut impl Exchange, fields: &[Field]) -> Result<(), Lost> {
    let head = head(&shared.hub, 200, TEXT, fields, Some(3))?;
    exchange.head(head, false).await?;
    data(&shared.hub, exchange, Bytes::from_static(b"ok\n"), true).await
}
