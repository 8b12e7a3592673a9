//! The faults of a stream, or of its connection.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::Reason;
use h2::server::SendResponse;

use super::Shared;
use super::response::{Sender, data, head};
use super::stream::Lost;
use super::tap::Ending;
use crate::fault::{BODY, DRIP_EVERY, Fault, HUGE_HEAD, IDLE_CLOSE_AFTER};
use crate::held::Small;
use crate::response::{Field, TEXT};

/// Half of a body has been sent by then.
const WRITTEN_AFTER: Duration = Duration::from_millis(10);

/// Sends half of a body, and resets its stream.
async fn half_and_reset(shared: &Shared, mut respond: SendResponse<Bytes>) -> Result<(), Lost> {
    let mut sender = half(shared, &mut respond, false).await?;
    // A reset discards bytes that are not written yet, and nothing reports when they are.
    let written = Instant::now() + WRITTEN_AFTER;
    shared.hub.timer.sleep_until(written).await;
    sender.send_reset(Reason::INTERNAL_ERROR);
    Ok(())
}

/// Sends half of a body, and waits for the client's reset, or its end.
async fn stall_body(shared: &Shared, respond: &mut SendResponse<Bytes>) -> Result<(), Lost> {
    let mut sender = half(shared, respond, true).await?;
    let _ = poll_fn(|context| sender.poll_reset(context)).await;
    Ok(())
}

/// Causes the fault. Only a whole response ends without being lost.
pub(super) async fn play(
    shared: &Shared,
    fault: Fault,
    mut respond: SendResponse<Bytes>,
) -> Result<(), Lost> {
    let control = &shared.control;
    match fault {
        // Fewer bytes than the length says, and the end of the stream.
        Fault::Truncate => {
            let mut sender = half(shared, &mut respond, true).await?;
            return Ok(sender.send_data(Bytes::new(), true)?);
        }
        Fault::TruncateChunked => {
            half_and_reset(shared, respond).await?;
        }
        Fault::TlsCut => {
            half(shared, &mut respond, false).await.map(drop)?;
            control.end(Ending::Cut);
        }
        Fault::Reset => respond.send_reset(Reason::INTERNAL_ERROR),
        Fault::RefusedStream => respond.send_reset(Reason::REFUSED_STREAM),
        Fault::Close => control.end(Ending::Now),
        Fault::Garbage => {
            // DATA on stream 0, which no stream can be (RFC 9113 §6.1).
            control.insert(b"\x00\x00\x01\x00\x00\x00\x00\x00\x00!");
            control.end(Ending::Now);
        }
        Fault::StallHead => gone(&mut respond).await,
        Fault::StallBody => {
            stall_body(shared, &mut respond).await?;
        }
        Fault::Drip => return drip(shared, respond).await,
        Fault::HugeHead => return huge_head(shared, respond).await,
        // Dropping unread data resets the stream with NO_ERROR (RFC 9113 §8.1).
        Fault::Early => {
            let small = Small::status(413, false);
            return super::response::small(&shared.hub, respond, small).await;
        }
        Fault::IdleClose => return idle_close(shared, respond).await,
        // The connection sent it when the stream began.
        Fault::Goaway => return ok(shared, respond, &[]).await,
    }
    Err(Lost)
}

/// Waits until the client gives the stream up.
async fn gone(respond: &mut SendResponse<Bytes>) {
    let _ = poll_fn(|context| respond.poll_reset(context)).await;
}

/// The head of a whole body and the first half of it.
async fn half(
    shared: &Shared,
    respond: &mut SendResponse<Bytes>,
    promised: bool,
) -> Result<Sender, Lost> {
    let length = promised.then_some(BODY.len() as u64);
    let head = head(&shared.hub, 200, TEXT, &[], length)?;
    let mut sender = respond.send_response(head, false)?;
    let half = Bytes::from_static(&BODY[..BODY.len() / 2]);
    data(&shared.hub, &mut sender, half, false).await?;
    Ok(sender)
}

async fn drip(shared: &Shared, mut respond: SendResponse<Bytes>) -> Result<(), Lost> {
    let head = head(&shared.hub, 200, TEXT, &[], None)?;
    let mut sender = respond.send_response(head, false)?;
    let mut at = Instant::now();
    loop {
        data(&shared.hub, &mut sender, Bytes::from_static(b"x"), false).await?;
        at += DRIP_EVERY;
        shared.hub.timer.sleep_until(at).await;
    }
}

async fn huge_head(shared: &Shared, respond: SendResponse<Bytes>) -> Result<(), Lost> {
    let value = String::from_utf8_lossy(&BODY[..]).into_owned();
    let field: Field = ("x-huge".into(), value);
    ok(shared, respond, &vec![field; HUGE_HEAD / BODY.len() + 1]).await
}

async fn idle_close(shared: &Shared, respond: SendResponse<Bytes>) -> Result<(), Lost> {
    ok(shared, respond, &[]).await?;
    let close = Instant::now() + IDLE_CLOSE_AFTER;
    shared.hub.timer.sleep_until(close).await;
    shared.control.end(Ending::Now);
    Ok(())
}

/// A good response.
async fn ok(
    shared: &Shared,
    mut respond: SendResponse<Bytes>,
    fields: &[Field],
) -> Result<(), Lost> {
    let head = head(&shared.hub, 200, TEXT, fields, Some(3))?;
    let mut sender = respond.send_response(head, false)?;
    data(&shared.hub, &mut sender, Bytes::from_static(b"ok\n"), true).await
}
