//! The connection to a NATS server, the check of its version, and the names of a job's queue.

use std::time::Duration;

use async_nats::jetstream::{self, consumer, stream};
use async_nats::{Client, ConnectOptions, ServerInfo};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::plan::Plan;

/// The oldest version of the server that refuses a second message of a part.
const OLDEST: [u32; 3] = [2, 9, 0];

/// The consumer that all workers of a job share.
const CONSUMER: &str = "workers";

/// A message that was published twice because a reply was lost is recognized for this long.
const DUPLICATES: Duration = Duration::from_secs(120);

/// How to start a server and name it, for messages.
const HOW: &str = "`nats-server -js -sd FOLDER` starts one (Debian: apt install nats-server, or bin/setup fetch), and --nats names it, as nats://127.0.0.1:4222";

/// The runtime of the NATS client. It has a thread of its own, beside the engine.
pub fn runtime() -> Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(|error| Error::failed(format!("cannot start: {error}")))
}

/// The URL of a server without its user and password, for messages.
pub fn shown(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((before, after)) => {
            let scheme = before.split_once("://").map(|(scheme, _)| scheme);
            scheme.map_or(after.to_owned(), |scheme| format!("{scheme}://{after}"))
        }
        None => url.to_owned(),
    }
}

/// Connects to a server, which must have JetStream and be new enough.
///
/// # Errors
/// When there is no URL or no server, or the server is too old or runs without JetStream.
pub async fn connect(url: &str, options: ConnectOptions, patience: Duration) -> Result<Client> {
    if url.is_empty() {
        return Err(Error::usage(format!(
            "--nats needs the URL of a NATS server: {HOW}"
        )));
    }
    let shown = shown(url);
    let options = options
        .name("hecaton fetch")
        .connection_timeout(Duration::from_secs(5))
        .request_timeout(Some(patience))
        .reconnect_delay_callback(|tries| {
            Duration::from_millis(100 * tries as u64).min(Duration::from_secs(1))
        });
    let client = options.connect(url).await.map_err(|error| {
        Error::failed(format!(
            "cannot reach NATS at {shown}: {}; {HOW}",
            innermost(&error)
        ))
    })?;
    check(&client.server_info(), &shown)?;
    Ok(client)
}

/// Refuses a server that is too old or runs without JetStream.
fn check(server: &ServerInfo, shown: &str) -> Result<()> {
    let version = &server.version;
    let mut numbers = version
        .split(['.', '-'])
        .map_while(|number| number.parse().ok());
    let known = [(); 3].map(|()| numbers.next().unwrap_or(0));
    if known < OLDEST {
        let [major, minor, patch] = OLDEST;
        return Err(Error::failed(format!(
            "NATS at {shown} is version {version}, and {major}.{minor}.{patch} or newer is needed: older versions let a part be in the queue twice"
        )));
    }
    if !server.jetstream {
        return Err(Error::failed(format!(
            "NATS at {shown} runs without JetStream: start it with -js"
        )));
    }
    Ok(())
}

/// The innermost cause of an error, which is the useful one.
pub fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// The names of a job's queue, or of a round's.
pub struct Queue {
    name: String,
}

impl Queue {
    /// The names for this plan.
    pub fn of(plan: &Plan) -> Queue {
        let round = plan.round.iter().map(|round| format!("-{round}"));
        Queue {
            name: round.fold(plan.job.to_string(), |name, round| name + &round),
        }
    }

    /// The name of the stream.
    pub fn stream(&self) -> String {
        format!("hecaton-fetch-{}", self.name)
    }

    /// The subject of a part.
    pub fn subject(&self, part: u32) -> String {
        format!("hecaton.fetch.{}.{part}", self.name)
    }

    /// The subjects of all parts.
    pub fn all_parts(&self) -> String {
        format!("hecaton.fetch.{}.*", self.name)
    }

    /// The message id of a part in one run of `enqueue`: published twice, it is in the queue once.
    pub fn message(&self, part: u32, run: Uuid) -> String {
        format!("{}.{part}.{run}", self.name)
    }

    /// A work queue with at most one message of each part.
    pub fn settings(&self) -> stream::Config {
        stream::Config {
            name: self.stream(),
            subjects: vec![self.all_parts()],
            retention: stream::RetentionPolicy::WorkQueue,
            storage: stream::StorageType::File,
            max_messages_per_subject: 1,
            discard: stream::DiscardPolicy::New,
            discard_new_per_subject: true,
            duplicate_window: DUPLICATES,
            ..Default::default()
        }
    }

    /// The settings of the queue's only consumer, which all workers share.
    pub fn consumer(&self, lease: Duration) -> consumer::pull::Config {
        consumer::pull::Config {
            durable_name: Some(CONSUMER.into()),
            ack_policy: consumer::AckPolicy::Explicit,
            ack_wait: lease,
            max_deliver: -1,
            max_ack_pending: -1,
            ..Default::default()
        }
    }

    /// The consumer and its lease. The error says why there is none, as before the job was enqueued.
    pub async fn find(
        &self,
        context: &jetstream::Context,
    ) -> std::result::Result<(consumer::PullConsumer, Duration), String> {
        let stream = context.get_stream(self.stream()).await;
        let stream = stream.map_err(|error| innermost(&error))?;
        let consumer: consumer::PullConsumer = stream
            .get_consumer(CONSUMER)
            .await
            .map_err(|error| innermost(error.as_ref()))?;
        let lease = consumer.cached_info().config.ack_wait;
        Ok((consumer, lease))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(version: &str, jetstream: bool) -> ServerInfo {
        ServerInfo {
            version: version.into(),
            jetstream,
            ..Default::default()
        }
    }

    #[test]
    fn servers_that_cannot_do_it_are_refused_with_a_sentence() {
        for version in ["2.9.0", "2.9.10", "2.15.2", "3.0.0-beta.1"] {
            check(&server(version, true), "nats://x").unwrap();
        }
        for version in ["2.8.4", "1.4.1", "", "rubbish"] {
            let refused = check(&server(version, true), "nats://x").unwrap_err();
            assert!(refused.to_string().contains("2.9.0 or newer is needed"));
        }
        let refused = check(&server("2.9.10", false), "nats://x").unwrap_err();
        assert!(refused.to_string().ends_with("start it with -js"));
    }

    #[test]
    fn nobody_is_shown_a_password() {
        assert_eq!(shown("nats://me:secret@host:4222"), "nats://host:4222");
        assert_eq!(shown("me:secret@host"), "host");
        assert_eq!(shown("nats://host:4222"), "nats://host:4222");
    }
}
