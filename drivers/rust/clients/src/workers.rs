//! As many workers as requests in flight: threads, or tasks of tokio. A driver says only how one request is sent.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::{Driver, Job, Outcome, Round};

/// Threads, which are started before the clock runs; each calls `send` for one URL after the other.
pub struct Threads {
    rounds: Vec<Sender<Arc<Round>>>,
    ended: Receiver<()>,
}

impl Threads {
    pub fn new(job: &Job, send: impl Fn(&str) -> Outcome + Clone + Send + 'static) -> Threads {
        let (done, ended) = channel();
        let start = |_| {
            let (sender, rounds) = channel::<Arc<Round>>();
            let (send, done) = (send.clone(), done.clone());
            std::thread::spawn(move || {
                for round in rounds {
                    while let Some((url, taken)) = round.take() {
                        std::thread::sleep(round.left(taken));
                        round.ended(send(&url), taken);
                    }
                    let _ = done.send(());
                }
            });
            sender
        };
        Threads {
            rounds: (0..job.concurrency).map(start).collect(),
            ended,
        }
    }
}

impl Driver for Threads {
    fn go(&mut self, round: &Arc<Round>) {
        self.rounds
            .iter()
            .for_each(|thread| thread.send(round.clone()).expect("it waits"));
        self.ended.iter().take(self.rounds.len()).for_each(drop);
    }
}

/// Tasks on a runtime of one thread; each awaits `send` for one URL after the other.
pub struct Tasks<S> {
    runtime: Runtime,
    send: S,
}

impl<S> Tasks<S> {
    pub fn new(send: impl FnOnce() -> S) -> Tasks<S> {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let send = runtime.block_on(async { send() });
        Tasks { runtime, send }
    }
}

/// The result of `outcome`, if it comes in time.
pub async fn within(time: Duration, outcome: impl Future<Output = Outcome>) -> Outcome {
    tokio::time::timeout(time, outcome)
        .await
        .unwrap_or_else(|_| Err("timeout".into()))
}

impl<S, F> Driver for Tasks<S>
where
    S: Fn(String) -> F + Clone + Send + 'static,
    F: Future<Output = Outcome> + Send,
{
    fn go(&mut self, round: &Arc<Round>) {
        let start = |_| {
            let (round, send) = (round.clone(), self.send.clone());
            self.runtime.spawn(async move {
                while let Some((url, taken)) = round.take() {
                    let left = round.left(taken);
                    if !left.is_zero() {
                        tokio::time::sleep(left).await;
                    }
                    round.ended(send(url).await, taken);
                }
            })
        };
        let tasks: Vec<_> = (0..round.job.concurrency).map(start).collect();
        self.runtime.block_on(async {
            for task in tasks {
                task.await.expect("no task panics");
            }
        });
    }
}
