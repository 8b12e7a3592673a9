//! `enqueue`: publishes the parts that are not done, each once, however often it is run.

use std::time::Duration;

use async_nats::ConnectOptions;
use async_nats::jetstream::{self, context::PublishErrorKind};
use uuid::Uuid;

use super::server::{Queue, connect, innermost, runtime, shown};
use crate::dispatch::verbs::Enqueued;
use crate::error::{Error, Result};
use crate::start::Started;

/// How often a message is published before `enqueue` fails.
const TRIES: u32 = 5;

/// How long to wait for a reply of the server.
const PATIENCE: Duration = Duration::from_secs(5);

/// Publishes the parts of a job that are not done. A worker that is silent for `lease` loses its parts.
///
/// # Errors
/// When the server cannot be reached, or refuses.
pub fn enqueue(started: &Started, url: &str, lease: Duration) -> Result<Enqueued> {
    if lease < Duration::from_secs(1) {
        return Err(Error::usage(
            "a lease of less than a second is over before it can be renewed: use 30s",
        ));
    }
    runtime()?.block_on(publish_all(started, url, lease))
}

async fn publish_all(started: &Started, url: &str, lease: Duration) -> Result<Enqueued> {
    let client = connect(url, ConnectOptions::new(), PATIENCE).await?;
    let context = jetstream::new(client);
    let queue = Queue::of(&started.plan);
    let refused = |what: &str, why: String| {
        Error::failed(format!("NATS at {} does not {what}: {why}", shown(url)))
    };
    let stream = context
        .get_or_create_stream(queue.settings())
        .await
        .map_err(|error| refused("make the queue", innermost(&error)))?;
    stream
        .create_consumer(queue.consumer(lease))
        .await
        .map_err(|error| refused("make the queue's consumer", innermost(&error)))?;
    let this = Uuid::new_v4();
    let mut enqueued = Enqueued::default();
    for part in started.plan.startable(&started.folder) {
        let published = publish(&context, &queue, part.number, this).await;
        match published.map_err(|why| refused("take a part", why))? {
            true => enqueued.new += 1,
            false => enqueued.known += 1,
        }
    }
    enqueued.done = started.plan.parts.len() as u64 - enqueued.new - enqueued.known;
    Ok(enqueued)
}

/// Publishes a part; false if its message is there.
async fn publish(
    context: &jetstream::Context,
    queue: &Queue,
    part: u32,
    this: Uuid,
) -> std::result::Result<bool, String> {
    let mut tries = 0;
    loop {
        tries += 1;
        let message = jetstream::message::PublishMessage::build()
            .payload(part.to_string().into())
            .message_id(queue.message(part, this));
        let published = context.send_publish(queue.subject(part), message).await;
        let reply = match published {
            Ok(reply) => reply.await,
            Err(error) => Err(error),
        };
        match reply {
            Ok(_) => return Ok(true),
            Err(error) if innermost(&error).contains("maximum messages per subject") => {
                return Ok(false);
            }
            // Published again under the same name, it is there once.
            Err(error) if error.kind() == PublishErrorKind::TimedOut && tries < TRIES => {}
            Err(error) => return Err(innermost(&error)),
        }
    }
}
