//! A worker's session with NATS, on a thread of its own: it requests parts, renews leases, and replies to messages of
//! parts that are done.

use std::time::{Duration, Instant};

use async_nats::jetstream::{self, consumer::PullConsumer};
use async_nats::{Client, ConnectOptions, Event, Message, Subject};
use futures_util::StreamExt;
use futures_util::future::join_all;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::clock::Moment;
use super::lease::Times;
use super::leased::{Board, Notice};
use super::server::{Queue, connect, innermost, shown};
use crate::error::Result;
use crate::plan::{Folder, Plan};

/// Replies to a message.
const DONE: &str = "+ACK";
const STILL_AT_IT: &str = "+WPI";
const NOT_DONE: &str = "-NAK";
const NEVER: &str = "+TERM";
/// For another worker, which may have it after a second.
const FOR_ANOTHER: &str = "-NAK {\"delay\": 1000000000}";

/// How long the server keeps a question for a part.
const QUESTION: Duration = Duration::from_secs(2);

/// How long to wait for a reply before the lease is known.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often a worker that rests looks whether leases have become shorter.
const GLANCE: Duration = Duration::from_millis(100);

/// How often the end looks whether the open question brought another part.
const MOMENT: Duration = Duration::from_millis(5);

/// How long the end waits for the server.
const FAREWELL: Duration = Duration::from_secs(3);

/// The job of a session.
pub struct Topic {
    /// The job's folder.
    pub folder: Folder,
    /// Its plan.
    pub plan: Plan,
    /// The server.
    pub url: String,
}

/// A session with a connection.
pub struct Session {
    topic: Topic,
    queue: Queue,
    board: Board,
    client: Client,
    context: jetstream::Context,
}

impl Session {
    /// Connects.
    ///
    /// # Errors
    /// When the server cannot be reached, or cannot do what is needed.
    pub async fn begin(topic: Topic, board: Board) -> Result<Session> {
        let notices = board.clone();
        let options = ConnectOptions::new().event_callback(move |event| {
            let notices = notices.clone();
            async move {
                match event {
                    Event::Connected => notices.lock().is_connected = true,
                    Event::Disconnected => notices.lock().is_connected = false,
                    _ => {}
                }
            }
        });
        let client = connect(&topic.url, options, PATIENCE).await?;
        Ok(Session {
            queue: Queue::of(&topic.plan),
            context: jetstream::new(client.clone()),
            topic,
            board,
            client,
        })
    }

    /// Talks until the run has ended.
    pub async fn hold(&self, notices: &mut UnboundedReceiver<Notice>) {
        let mut replies = JoinSet::new();
        let parts = self.request_parts();
        tokio::pin!(parts);
        tokio::select! {
            () = &mut parts => {}
            () = self.renew() => {}
            () = self.receive(notices, &mut replies) => {}
        }
        self.board.lock().is_ending = true;
        // Whatever the open question still brings goes back too. A server hands a part that is returned to the oldest
        // question, and if nobody listened to that any more, the part would wait until its lease is over.
        let end = async {
            tokio::select! {
                () = &mut parts => {}
                () = self.end(replies) => {}
            }
        };
        let _ = timeout(FAREWELL, end).await;
    }

    async fn receive(&self, notices: &mut UnboundedReceiver<Notice>, replies: &mut JoinSet<()>) {
        while let Some(Notice::Left(part, subject)) = notices.recv().await {
            // The new holder replies for a part that was taken over.
            if self.is_done(part) {
                replies.spawn(done(self.client.clone(), subject, self.times()));
            }
            while replies.try_join_next().is_some() {}
        }
    }

    fn is_done(&self, part: u32) -> bool {
        self.topic.folder.is_done(part)
    }

    /// Whether all parts are done, those too that were added since the worker began.
    fn is_all_done(&self) -> bool {
        let folder = &self.topic.folder;
        match Plan::load(folder) {
            Ok(Some(now)) => now.is_done(folder),
            Ok(None) => folder.is_merged(),
            Err(_) => false,
        }
    }

    /// Whether the queue has a part that this worker does not know, because it was added later. A worker's copy of a job
    /// in object storage has an older plan then.
    async fn has_other_parts(&self) -> bool {
        let Ok(stream) = self.context.get_stream(self.queue.stream()).await else {
            return false;
        };
        let Ok(mut subjects) = stream.info_with_subjects(self.queue.all_parts()).await else {
            return true;
        };
        while let Some(found) = subjects.next().await {
            let part = found.ok().and_then(|(subject, _)| part_of(&subject));
            if part.is_none_or(|part| self.topic.plan.part(part).is_err()) {
                return true;
            }
        }
        false
    }

    fn times(&self) -> Times {
        self.board.lock().leases.times()
    }

    /// Hands over a part whenever the run can take one.
    async fn request_parts(&self) {
        let mut known: Option<PullConsumer> = None;
        loop {
            if self.board.lock().is_ending {
                return std::future::pending().await;
            }
            if !self.board.lock().needs_part {
                self.board.part_needed.notified().await;
                continue;
            }
            let Some(consumer) = &known else {
                known = self.find().await;
                continue;
            };
            self.board.lock().has_question = true;
            let response = request_part(consumer).await;
            let (came, has_failed) = (matches!(response, Ok(Some(_))), response.is_err());
            if let Ok(Some(message)) = response {
                self.take(message).await;
            }
            self.board.lock().has_question = false;
            if came || !has_failed && self.look(consumer).await {
                continue;
            }
            // A server that has lost the queue does not report it when a part is requested.
            known = None;
        }
    }

    /// The job's queue; waits a little if there is none.
    async fn find(&self) -> Option<PullConsumer> {
        match self.queue.find(&self.context).await {
            Ok((consumer, lease)) => {
                let mut shared = self.board.lock();
                shared.leases.set_times(Times { lease });
                shared.trouble = None;
                Some(consumer)
            }
            Err(why) => {
                // The queue of a job that is done is gone, and nobody misses it.
                let is_missed = !self.topic.plan.is_done(&self.topic.folder);
                self.board.lock().trouble = is_missed.then(|| self.no_queue(&why));
                sleep(self.times().again().max(Duration::from_millis(200))).await;
                None
            }
        }
    }

    fn no_queue(&self, why: &str) -> String {
        let url = shown(&self.topic.url);
        match why.contains("not found") {
            true => format!(
                "NATS at {url} has no queue of this job: `hecaton fetch enqueue {} --nats {url}` makes one",
                self.topic.folder.shown()
            ),
            false => format!("NATS at {url} reports no this job's queue: {why}"),
        }
    }

    async fn take(&self, message: Message) {
        let Some(subject) = message.reply.clone() else {
            return;
        };
        let part = std::str::from_utf8(&message.payload)
            .ok()
            .and_then(|text| text.parse().ok());
        let known = part.filter(|part| self.topic.plan.part(*part).is_ok());
        let Some(part) = known else {
            // A part may have been added since this worker began. Nobody could ever do what is no part.
            let reply = if part.is_some() { FOR_ANOTHER } else { NEVER };
            let _ = self.client.publish(subject, reply.into()).await;
            return;
        };
        if self.is_done(part) {
            return done(self.client.clone(), subject, self.times()).await;
        }
        let mut shared = self.board.lock();
        shared.leases.arrived(part, subject, Moment::now());
        shared.trouble = None;
        shared.needs_part = false;
    }

    /// Nothing came: says so if nothing will. False if the queue itself is gone.
    async fn look(&self, consumer: &PullConsumer) -> bool {
        let Ok(info) = consumer.get_info().await else {
            return false;
        };
        let is_empty = info.num_pending == 0 && info.num_ack_pending == 0;
        let undone = match is_empty {
            true => self.topic.plan.undone(&self.topic.folder).count(),
            false => 0,
        };
        self.board.lock().trouble = (undone > 0).then(|| {
            format!(
                "{undone} parts are not done, and NATS at {} has none of them: `hecaton fetch enqueue {} --nats {}` publishes them again",
                shown(&self.topic.url),
                self.topic.folder.shown(),
                shown(&self.topic.url)
            )
        });
        true
    }

    async fn renew(&self) {
        loop {
            let times = self.times();
            let requested = Moment::now();
            let ours = self.board.lock().leases.to_renew(requested);
            let renewals = ours.into_iter().map(|(part, subject)| async move {
                let is_confirmed = reply_to(&self.client, subject, STILL_AT_IT, times).await;
                (part, is_confirmed)
            });
            let renewed = join_all(renewals).await;
            let mut all = true;
            {
                let mut shared = self.board.lock();
                for (part, is_confirmed) in renewed {
                    match is_confirmed {
                        true => shared.leases.renewed(part, requested, Moment::now()),
                        false => all = false,
                    }
                }
            }
            self.rest(all).await;
        }
    }

    /// Waits until the next renewal. The length of the lease may change meanwhile, because the queue may not be found
    /// yet.
    async fn rest(&self, all: bool) {
        let begun = Instant::now();
        loop {
            let times = self.times();
            let rest = if all { times.renewal() } else { times.again() };
            let left = rest.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return;
            }
            sleep(left.min(GLANCE)).await;
        }
    }

    /// Returns the parts that are not done, and deletes the queue of a finished job.
    async fn end(&self, mut replies: JoinSet<()>) {
        let times = self.times();
        loop {
            let (held, has_question) = {
                let mut shared = self.board.lock();
                (shared.leases.leave_all(), shared.has_question)
            };
            if held.is_empty() && !has_question {
                break;
            }
            if held.is_empty() {
                sleep(MOMENT).await;
            }
            for (part, subject) in held {
                let reply = if self.is_done(part) { DONE } else { NOT_DONE };
                reply_to(&self.client, subject, reply, times).await;
            }
        }
        while replies.join_next().await.is_some() {}
        if self.is_all_done() && !self.has_other_parts().await {
            let _ = self.context.delete_stream(self.queue.stream()).await;
        }
        let _ = self.client.flush().await;
    }
}

/// The number of the part that a subject names.
fn part_of(subject: &str) -> Option<u32> {
    subject.rsplit('.').next()?.parse().ok()
}

/// Requests a part; none if none came.
async fn request_part(consumer: &PullConsumer) -> std::result::Result<Option<Message>, String> {
    let question = consumer
        .batch()
        .max_messages(1)
        .expires(QUESTION)
        .messages();
    let mut messages = question.await.map_err(|error| innermost(&error))?;
    // A request that was lost with a connection gets no reply at all.
    match timeout(QUESTION + Duration::from_secs(1), messages.next()).await {
        Ok(Some(Ok(message))) => Ok(Some(message.message)),
        Ok(Some(Err(error))) => Err(innermost(error.as_ref())),
        Ok(None) | Err(_) => Ok(None),
    }
}

/// Replies to a message; true if the server confirmed it. The client's own double ack reports success even if no
/// server knows the message.
async fn reply_to(client: &Client, subject: Subject, reply: &'static str, times: Times) -> bool {
    let question = client.request(subject, reply.into());
    matches!(timeout(times.patience(), question).await, Ok(Ok(_)))
}

/// Has the message of a part that is done removed. If that fails for a whole lease, whoever gets it next finds that it
/// is done.
async fn done(client: Client, subject: Subject, times: Times) {
    let begun = Instant::now();
    while !reply_to(&client, subject.clone(), DONE, times).await {
        if begun.elapsed() > times.lease {
            return;
        }
        sleep(times.again()).await;
    }
}
