//! A connection of HTTP/2: reads frames, and does the steps of attempts frame by frame. It checks nothing, because
//! cases send what no honest server would.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::connection::{Connection, Over, PATIENCE};
use super::frames::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, HEADERS, PING, PREFACE, RST_STREAM,
    SETTINGS,
};
use super::hpack::{Decoder, encode};
use super::log::Event;
use super::play::Attempt;
use super::request::Head;
use crate::case::{self, Deed, Step};

/// Most streams of a connection that are open at once; no case has more than a few.
const MOST_OPEN: usize = 200;

/// A request without a response yet.
struct Stream {
    id: u32,
    head: Head,
    body: Vec<u8>,
    whole: bool,
    /// Whether its steps were begun.
    begun: bool,
}

#[derive(Default)]
struct State {
    decoder: Decoder,
    open: VecDeque<Stream>,
    /// A header block of which more will come: its stream, whether it ends the stream, and its bytes.
    block: Option<(u32, bool, Vec<u8>)>,
    pings: usize,
}

/// Serves the connection until it ends.
pub(super) fn serve(connection: &mut Connection<'_>) -> Result<(), Over> {
    let settings = connection.shared.current().and_then(|(case, call)| {
        let settings = case.h2.clone()?;
        let fault = settings.fault.then(|| Event::Fault {
            case: case.id.clone(),
            call,
        });
        Some((settings.settings, fault))
    });
    let (settings, fault) = settings.unwrap_or_default();
    let pairs = settings
        .iter()
        .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat());
    let payload: Vec<u8> = pairs.collect();
    send(connection, SETTINGS, 0, 0, &payload)?;
    while connection.input.len() < PREFACE.len() {
        connection.fill()?;
    }
    connection.input.drain(..PREFACE.len());
    if let Some(fault) = fault {
        connection.shared.record(connection.id, fault);
    }
    let mut state = State::default();
    loop {
        let next = state.open.iter().position(|stream| {
            let deaf = deaf(connection, stream);
            !stream.begun && (stream.whole || deaf)
        });
        match next {
            Some(place) => play(connection, &mut state, place)?,
            None => read(connection, &mut state, None)?,
        }
    }
}

/// Whether the case does not wait for the body.
fn deaf(connection: &Connection<'_>, stream: &Stream) -> bool {
    let first = connection.shared.first_step(&stream.head);
    first == Some(&Deed::Deaf)
}

/// Handles the next frame. If it has not arrived whole, receives more bytes instead, until `end` at the latest.
fn read(
    connection: &mut Connection<'_>,
    state: &mut State,
    end: Option<Instant>,
) -> Result<(), Over> {
    let Some(frame) = Frame::take(&mut connection.input) else {
        connection.fill_until(end)?;
        return Ok(());
    };
    connection.shared.record(connection.id, event(&frame));
    received(connection, state, &frame)
}

/// The frame as the log has it.
fn event(frame: &Frame) -> Event {
    Event::Frame {
        kind: frame.kind,
        flags: frame.flags,
        stream: frame.stream,
        length: frame.payload.len(),
        push: push(frame.kind, &frame.payload),
    }
}

fn received(connection: &mut Connection<'_>, state: &mut State, frame: &Frame) -> Result<(), Over> {
    match frame.kind {
        SETTINGS if !frame.has(ACK) => send(connection, SETTINGS, ACK, 0, b"")?,
        PING if !frame.has(ACK) => send(connection, PING, ACK, 0, &frame.payload)?,
        PING => state.pings += 1,
        HEADERS => state.block = Some((frame.stream, frame.has(END_STREAM), frame.block())),
        CONTINUATION => {
            if let Some((_, _, block)) = &mut state.block {
                block.extend(&frame.payload);
            }
        }
        DATA => {
            let mut open = state.open.iter_mut();
            if let Some(open) = open.find(|open| open.id == frame.stream) {
                open.body.extend(&frame.payload);
                open.whole |= frame.has(END_STREAM);
            }
        }
        RST_STREAM => ended(connection, state, frame.stream),
        _ => {}
    }
    match matches!(frame.kind, HEADERS | CONTINUATION) && frame.has(END_HEADERS) {
        true => begin(connection, state),
        false => Ok(()),
    }
}

/// The setting ENABLE_PUSH in a frame.
fn push(kind: u8, payload: &[u8]) -> Option<u32> {
    let mut pairs = payload.chunks_exact(6);
    let found = pairs.find(|pair| kind == SETTINGS && pair[..2] == [0, 2]);
    found.map(|pair| u32::from_be_bytes([pair[2], pair[3], pair[4], pair[5]]))
}

/// Handles a complete header block: the head of a new request, or the trailers of an open one.
fn begin(connection: &mut Connection<'_>, state: &mut State) -> Result<(), Over> {
    let Some((id, whole, block)) = state.block.take() else {
        return Ok(());
    };
    let Some(fields) = state.decoder.decode(&block) else {
        return connection.over(Event::ServerClosed);
    };
    if let Some(open) = state.open.iter_mut().find(|open| open.id == id) {
        open.whole |= whole;
        return Ok(());
    }
    if state.open.len() >= MOST_OPEN {
        return connection.over(Event::ServerClosed);
    }
    state.open.push_back(Stream {
        id,
        head: Head::of_fields(&fields, "HTTP/2"),
        body: Vec::new(),
        whole,
        begun: false,
    });
    Ok(())
}

/// Does the steps of a request.
fn play(connection: &mut Connection<'_>, state: &mut State, place: usize) -> Result<(), Over> {
    let stream = &mut state.open[place];
    stream.begun = true;
    let (id, body) = (
        stream.id,
        String::from_utf8_lossy(&stream.body).into_owned(),
    );
    let head = stream.head.clone();
    let whole = stream.whole;
    connection.nth += 1;
    let shared = connection.shared;
    let Some(attempt) = shared.attempt(connection.id, connection.nth, &head) else {
        let block = encode(&[(":status", "404")]);
        return respond(connection, state, id, END_HEADERS | END_STREAM, &block);
    };
    connection.serve_attempt();
    if whole {
        let event = Event::Body {
            text: body.chars().take(4096).collect(),
            whole,
        };
        shared.record(connection.id, event);
    }
    for step in attempt.steps {
        self::step(connection, state, step, &attempt, id)?;
    }
    connection.rests();
    Ok(())
}

fn step(
    connection: &mut Connection<'_>,
    state: &mut State,
    step: &Step,
    attempt: &Attempt<'_>,
    id: u32,
) -> Result<(), Over> {
    // The fault of a pause or an end counts from its beginning.
    if step.fault && !sends(&step.deed) {
        connection.fault(attempt);
    }
    match &step.deed {
        Deed::Fine(_) | Deed::FineAll | Deed::Head(..) | Deed::Data(..) | Deed::Frame(..) => {
            send_step(connection, state, &step.deed, attempt, id)?;
        }
        deed => wait(connection, state, deed, id)?,
    }
    if step.fault && sends(&step.deed) {
        connection.fault(attempt);
    }
    Ok(())
}

/// Does a step that sends frames.
fn send_step(
    connection: &mut Connection<'_>,
    state: &mut State,
    deed: &Deed,
    attempt: &Attempt<'_>,
    id: u32,
) -> Result<(), Over> {
    let end_of = |end: bool| if end { END_STREAM } else { 0 };
    match deed {
        Deed::Fine(text) => fine(connection, state, id, &attempt.addresses.fill(text)),
        Deed::FineAll => {
            let begun = state.open.iter().filter(|open| open.begun);
            let begun: Vec<u32> = begun.map(|open| open.id).collect();
            let mut begun = begun.into_iter();
            begun.try_for_each(|other| fine(connection, state, other, "ok"))
        }
        Deed::Head(text, end) => {
            let text = attempt.addresses.fill(text);
            let flags = END_HEADERS | end_of(*end);
            respond(
                connection,
                state,
                id,
                flags,
                &encode(&case::head_fields(&text)),
            )
        }
        Deed::Data(text, end) => {
            let text = attempt.addresses.fill(text);
            send(connection, DATA, end_of(*end), id, text.as_bytes())?;
            if *end {
                ended(connection, state, id);
            }
            Ok(())
        }
        Deed::Frame(times, frame) => frames(connection, state, *times, frame, id),
        _ => Ok(()),
    }
}

/// Does a step that sends no response: reads frames until the client has done something, or does what has no frames.
fn wait(
    connection: &mut Connection<'_>,
    state: &mut State,
    deed: &Deed,
    id: u32,
) -> Result<(), Over> {
    match deed {
        Deed::Pause(time) => listen(connection, state, *time, |_| false),
        Deed::Pinged => listen(connection, state, PATIENCE, |state| state.pings > 0),
        // Later attempts come on this connection, and begin only after this one.
        Deed::Gather(count) => listen(connection, state, PATIENCE, |state| {
            state.open.len() >= *count
        }),
        Deed::Drain => listen(connection, state, PATIENCE, |state| {
            state.open.iter().all(|open| open.id != id || open.whole)
        }),
        Deed::Hold => {
            connection.rests();
            loop {
                read(connection, state, None)?;
            }
        }
        deed => connection.rest_of(deed),
    }
}

/// Sends the head of a response, which may be all of it.
fn respond(
    connection: &mut Connection<'_>,
    state: &mut State,
    id: u32,
    flags: u8,
    block: &[u8],
) -> Result<(), Over> {
    send(connection, HEADERS, flags, id, block)?;
    if flags & END_STREAM != 0 {
        ended(connection, state, id);
    }
    Ok(())
}

/// Whether the fault of a step counts only once all of the step was sent. A flood of frames counts from its beginning,
/// because the client may close the connection during the flood.
fn sends(deed: &Deed) -> bool {
    matches!(
        deed,
        Deed::Fine(_) | Deed::FineAll | Deed::Head(..) | Deed::Data(..) | Deed::Frame(1, _)
    )
}

/// Reads frames until `until` is true, for `time` at most.
fn listen(
    connection: &mut Connection<'_>,
    state: &mut State,
    time: Duration,
    until: impl Fn(&State) -> bool,
) -> Result<(), Over> {
    let end = Instant::now() + time;
    while !until(state) && Instant::now() < end {
        read(connection, state, Some(end))?;
    }
    Ok(())
}

fn frames(
    connection: &mut Connection<'_>,
    state: &mut State,
    times: usize,
    frame: &case::Frame,
    id: u32,
) -> Result<(), Over> {
    let stream = frame.stream.unwrap_or(id);
    let payload = frame.payload(id);
    for _ in 0..times {
        send(connection, frame.kind, frame.flags, stream, &payload)?;
    }
    let ends = matches!(frame.kind, DATA | HEADERS) && frame.flags & END_STREAM != 0;
    if ends || frame.kind == RST_STREAM {
        ended(connection, state, stream);
    }
    Ok(())
}

/// Sends a whole response.
fn fine(
    connection: &mut Connection<'_>,
    state: &mut State,
    id: u32,
    body: &str,
) -> Result<(), Over> {
    let length = body.len().to_string();
    let fields = [
        (":status", "200"),
        ("content-type", "text/plain"),
        ("content-length", &length),
    ];
    send(connection, HEADERS, END_HEADERS, id, &encode(&fields))?;
    send(connection, DATA, END_STREAM, id, body.as_bytes())?;
    ended(connection, state, id);
    Ok(())
}

fn ended(connection: &Connection<'_>, state: &mut State, id: u32) {
    let count = state.open.len();
    state.open.retain(|open| open.id != id);
    if state.open.len() < count {
        connection.shared.record(connection.id, Event::Done);
    }
}

fn send(
    connection: &mut Connection<'_>,
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &[u8],
) -> Result<(), Over> {
    connection.send(&Frame::bytes(kind, flags, stream, payload))
}
