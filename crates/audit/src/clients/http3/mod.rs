//! HTTP/3 of the saint and the sinner: requests on the streams of a connection of QUIC, and what each of them gets.

mod response;

use std::net::SocketAddr;
use std::sync::Arc;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, RecvStream, SendStream};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::client::Client;
use super::connection::Clock;
use super::hop::Hop;
use super::http2::Message;
use super::outcome::{Class, Failure, Outcome, failed};
use super::sins::Sins;
use super::{exchange, secure};
use crate::server::frames3::{self, CONTROL, FIRST, GOAWAY};
use crate::server::qpack::encode;

/// The connections of a client, and the thread that drives them.
#[derive(Default)]
pub(super) struct Sessions {
    runtime: Option<Runtime>,
    open: Vec<Session>,
}

/// One connection.
struct Session {
    /// Requests with the same key may use the connection.
    key: String,
    connection: Connection,
    /// The first stream that the server does not serve, once the server has said that.
    away: watch::Receiver<Option<u64>>,
    _control: SendStream,
    _endpoint: Endpoint,
}

/// Sends a request so many times at once on a connection, which is an open one unless `is_new`. Returns what each got,
/// and whether the connection had been used before.
pub(super) fn send(
    client: &mut Client,
    hop: &Hop,
    count: usize,
    is_new: bool,
    clock: &Clock,
) -> Result<(Vec<Outcome>, bool), Failure> {
    let mut sessions = std::mem::take(&mut client.sessions);
    let sent = sessions.send(client, hop, count, is_new, clock);
    client.sessions = sessions;
    sent
}

impl Sessions {
    fn send(
        &mut self,
        client: &Client,
        hop: &Hop,
        count: usize,
        is_new: bool,
        clock: &Clock,
    ) -> Result<(Vec<Outcome>, bool), Failure> {
        let runtime = self.runtime()?;
        let key = client.route.key(&hop.url, &client.sins);
        let known = self.known(&key, client).filter(|_| !is_new);
        let place = match known {
            Some(place) => place,
            None => {
                let left = clock.left()?;
                let opened = runtime.block_on(async {
                    let opened = open(client, hop, key);
                    tokio::time::timeout(left, opened).await
                });
                self.open.push(opened.unwrap_or_else(|_| late())?);
                self.open.len() - 1
            }
        };
        let session = &self.open[place];
        let message = exchange::message(hop);
        let outcomes = runtime.block_on(session.exchange(&message, count, &client.sins, clock));
        Ok((outcomes, known.is_some()))
    }

    /// The thread that drives all connections.
    fn runtime(&mut self) -> Result<Handle, Failure> {
        if self.runtime.is_none() {
            let mut builder = Builder::new_multi_thread();
            self.runtime = builder.worker_threads(1).enable_all().build().ok();
        }
        match &self.runtime {
            Some(runtime) => Ok(runtime.handle().clone()),
            None => failed(Class::Refused, "no thread can be had"),
        }
    }

    /// An open connection with this key. Those that cannot be used any more are closed.
    fn known(&mut self, key: &str, client: &Client) -> Option<usize> {
        let keeps = client.sins.has("h3-keeps-after-goaway");
        self.open.retain(|session| {
            let is_away = session.away.borrow().is_some() && !keeps;
            !is_away && session.connection.close_reason().is_none()
        });
        self.open.iter().position(|session| session.key == key)
    }
}

fn late<T>() -> Result<T, Failure> {
    failed(Class::Late, "the time is over")
}

async fn open(client: &Client, hop: &Hop, key: String) -> Result<Session, Failure> {
    let refused = || Failure {
        class: Class::Refused,
        text: "QUIC cannot be set up",
    };
    let settings = secure::over_quic(hop, &client.route, &client.sins)?;
    let crypto = QuicClientConfig::try_from(settings).map_err(|_| refused())?;
    let address: SocketAddr = hop.url.authority.parse().map_err(|_| refused())?;
    let endpoint = Endpoint::client(([127, 0, 0, 1], 0).into()).map_err(|_| refused())?;
    let config = ClientConfig::new(Arc::new(crypto));
    let connecting = endpoint.connect_with(config, address, hop.url.host());
    let ended = |_| Failure {
        class: Class::Ended,
        text: "the connection could not be opened",
    };
    let connection = connecting.map_err(|_| refused())?.await.map_err(ended)?;
    let mut control = connection.open_uni().await.map_err(ended)?;
    let _ = control.write_all(&FIRST).await;
    let (says, away) = watch::channel(None);
    tokio::spawn(read_streams(connection.clone(), says));
    Ok(Session {
        key,
        connection,
        away,
        _control: control,
        _endpoint: endpoint,
    })
}

/// Reads the streams of the server that belong to no request.
async fn read_streams(connection: Connection, away: watch::Sender<Option<u64>>) {
    while let Ok(stream) = connection.accept_uni().await {
        tokio::spawn(read_control(stream, away.clone()));
    }
}

async fn read_control(mut stream: RecvStream, away: watch::Sender<Option<u64>>) {
    if frames3::integer(&mut stream).await != Ok(CONTROL) {
        return;
    }
    while let Ok(Some((kind, length))) = frames3::next(&mut stream).await {
        if kind == GOAWAY {
            away.send_replace(frames3::integer(&mut stream).await.ok());
        } else if frames3::payload(&mut stream, length).await.is_err() {
            return;
        }
    }
}

impl Session {
    async fn exchange(
        &self,
        message: &Message,
        count: usize,
        sins: &Sins,
        clock: &Clock,
    ) -> Vec<Outcome> {
        let Ok(left) = clock.left() else {
            return vec![late(); count];
        };
        let mut requests = JoinSet::new();
        for _ in 0..count {
            let (connection, away) = (self.connection.clone(), self.away.clone());
            let (message, sins) = (message.clone(), sins.clone());
            requests.spawn(tokio::time::timeout(left, async move {
                request(&connection, away, &message, &sins).await
            }));
        }
        let mut outcomes = Vec::new();
        while let Some(done) = requests.join_next().await {
            let in_time = done.unwrap_or_else(|_| Ok(late()));
            outcomes.push(in_time.unwrap_or_else(|_| late()));
        }
        outcomes
    }
}

/// Sends one request, and waits for what it gets.
async fn request(
    connection: &Connection,
    away: watch::Receiver<Option<u64>>,
    message: &Message,
    sins: &Sins,
) -> Outcome {
    let Ok((mut send, mut recv)) = connection.open_bi().await else {
        return failed(Class::Ended, "the connection ended");
    };
    let fields = message.fields.iter();
    let fields: Vec<(&str, &str)> = fields.map(|(name, value)| (&**name, &**value)).collect();
    let mut bytes = frames3::bytes(1, &encode(&fields));
    if !message.body.is_empty() {
        bytes.extend(frames3::bytes(0, &message.body));
    }
    // A server that stops the request may respond nevertheless.
    let _ = send.write_all(&bytes).await;
    let _ = send.finish();
    tokio::select! {
        biased;
        () = passed_over(away, send.id().into()) => match sins.has("h3-gives-up-after-goaway") {
            true => failed(Class::Closed, "the server goes away"),
            false => failed(Class::Unprocessed, "the server did not process the request"),
        },
        outcome = response::read(connection, &mut recv, sins) => outcome,
    }
}

/// Waits until the server says that it does not serve this stream.
async fn passed_over(mut away: watch::Receiver<Option<u64>>, id: u64) {
    let is_it = |first: &Option<u64>| first.is_some_and(|first| id >= first);
    if away.wait_for(is_it).await.is_err() {
        std::future::pending::<()>().await;
    }
}
