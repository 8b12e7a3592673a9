//! HTTP/2 of the saint and the sinner: several requests on one connection, and what each of them gets.

mod streams;

use std::collections::VecDeque;

use super::connection::{Clock, Connection};
use super::outcome::{Class, Failure, Outcome};
use super::sins::Sins;
use crate::server::frames::{Frame, PREFACE, SETTINGS};
use crate::server::hpack::{Decoder, Field};

const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;

/// The largest window (RFC 9113 §6.9.1).
const WIDEST: i64 = (1 << 31) - 1;
/// Most bytes of a header block.
const MOST: usize = 256 << 10;
/// Most frames of a header block.
const MOST_FRAMES: usize = 100;

/// The state of a connection.
#[derive(Debug)]
pub(super) struct State {
    decoder: Decoder,
    next: u32,
    streams: usize,
    /// The window of new streams, and of the connection.
    window: i64,
    shared: i64,
    /// The last stream that is served, once the server has said that.
    pub(super) last: Option<u32>,
    /// A header block of which more will come: its stream, its flags, and how many frames it had.
    block: Option<(u32, u8, usize, Vec<u8>)>,
}

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) fields: Vec<Field>,
    pub(super) body: Vec<u8>,
}

/// A request that was sent, and what came for it.
struct Stream {
    place: usize,
    id: u32,
    /// The rest of the request's body.
    left: Vec<u8>,
    window: i64,
    head: Option<Vec<Field>>,
    body: Vec<u8>,
}

struct Exchange<'a> {
    connection: &'a mut Connection,
    state: State,
    sins: &'a Sins,
    waiting: VecDeque<(usize, Message)>,
    open: Vec<Stream>,
    done: Vec<Option<Outcome>>,
    /// Whether a frame came.
    received: bool,
}

/// Begins HTTP/2 on a new connection, and waits for the server's settings.
pub(super) fn begin(
    connection: &mut Connection,
    sins: &Sins,
    clock: &Clock,
) -> Result<(), Failure> {
    let settings = [0, 2, 0, 0, 0, 0];
    let bytes = [PREFACE, &Frame::bytes(SETTINGS, 0, 0, &settings)].concat();
    connection.write(&bytes, clock)?;
    let state = State {
        decoder: Decoder::default(),
        next: 1,
        streams: usize::MAX,
        window: 65535,
        shared: 65535,
        last: None,
        block: None,
    };
    let mut exchange = Exchange {
        connection,
        state,
        sins,
        waiting: VecDeque::new(),
        open: Vec::new(),
        done: Vec::new(),
        received: false,
    };
    while exchange.read(clock)? != SETTINGS {}
    let state = exchange.state;
    connection.h2 = Some(state);
    Ok(())
}

/// Sends all requests on a connection, and returns what each of them gets. The connection must have begun.
pub(super) fn exchange(
    connection: &mut Connection,
    messages: Vec<Message>,
    sins: &Sins,
    clock: &Clock,
) -> Vec<Outcome> {
    let Some(state) = connection.h2.take() else {
        return Vec::new();
    };
    let count = messages.len();
    let mut exchange = Exchange {
        connection,
        state,
        sins,
        waiting: messages.into_iter().enumerate().collect(),
        open: Vec::new(),
        done: vec![None; count],
        received: false,
    };
    let failure = exchange.run(clock).err();
    // A connection that was silent for the whole time may be dead.
    let silent = !exchange.received && !sins.has("keeps-silent-connection");
    let late = failure.clone();
    let late = late.filter(|failure| failure.class == Class::Late);
    if late.is_some() && !sins.has("never-cancels-a-stream") {
        exchange.cancel();
    }
    let Exchange { state, done, .. } = exchange;
    // After an error of the connection nothing else can be sent on it.
    let usable = failure.is_none() || late.is_some() && !silent;
    let usable = usable && state.last.is_none();
    let lost = late.unwrap_or(Failure {
        class: Class::Gone,
        text: "the connection ended with its streams",
    });
    connection.h2 = usable.then_some(state);
    let outcomes = done
        .into_iter()
        .map(|done| done.unwrap_or(Err(lost.clone())));
    outcomes.collect()
}
