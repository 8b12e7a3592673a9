//! A run as a drawing: a line for each connection, and requests, responses and ends on it, in their order.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::tables::{beginning, xml};
use crate::server::{Entry, Event, Log, call_at};

/// Distance between two events, between two connections, and from the left edge.
const STEP: usize = 22;
const COLUMN: usize = 190;
const LEFT: usize = 70;

/// Most events that are drawn.
const MOST: usize = 40;

/// The drawing, as SVG.
pub(super) fn drawing(log: &Log) -> String {
    let shapes = log.entries.iter().map(|entry| (entry, shape(&entry.event)));
    let events = shapes.filter_map(|(entry, shape)| Some((entry, shape?)));
    let events: Vec<(&Entry, (Shape, String))> = events.collect();
    let mut columns: BTreeMap<usize, usize> = BTreeMap::new();
    for (entry, _) in events.iter().take(MOST) {
        let next = columns.len();
        columns.entry(entry.connection).or_insert(next);
    }
    let (width, height) = (
        LEFT + columns.len() * COLUMN + 20,
        (events.len().min(MOST) + 2) * STEP,
    );
    let mut out = format!(
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" aria-label=\"Connections and requests in their order\">"
    );
    for (connection, column) in &columns {
        out += &line(*connection, LEFT + column * COLUMN, height);
    }
    for (position, (entry, (shape, text))) in events.iter().take(MOST).enumerate() {
        let x = LEFT + columns[&entry.connection] * COLUMN + 6;
        let y = (position + 2) * STEP - 6;
        let (ms, class, sign) = (entry.us / 1000, shape.class(), shape.sign());
        let _ = write!(
            out,
            "<text x=\"0\" y=\"{y}\" class=\"time\">{ms} ms</text><text x=\"{x}\" y=\"{y}\" class=\"{class}\">{sign} {}</text>",
            xml(text)
        );
    }
    if events.len() > MOST {
        let _ = write!(
            out,
            "<text x=\"0\" y=\"{}\" class=\"time\">… {} more</text>",
            height - 2,
            events.len() - MOST
        );
    }
    out + "</svg>"
}

/// The line of a connection, below its name.
fn line(connection: usize, x: usize, height: usize) -> String {
    let name = match connection {
        0 => "run".into(),
        _ => format!("connection {connection}"),
    };
    format!(
        "<text x=\"{x}\" y=\"12\" class=\"name\">{name}</text><line x1=\"{x}\" y1=\"18\" x2=\"{x}\" y2=\"{height}\"/>"
    )
}

#[derive(Clone, Copy)]
enum Shape {
    ToServer,
    ToClient,
    Fault,
    End,
}

impl Shape {
    fn sign(self) -> char {
        match self {
            Shape::ToServer => '→',
            Shape::ToClient => '←',
            Shape::Fault => '⚡',
            Shape::End => '×',
        }
    }

    fn class(self) -> &'static str {
        match self {
            Shape::ToServer => "in",
            Shape::ToClient => "out",
            Shape::Fault => "fault",
            Shape::End => "end",
        }
    }
}

fn shape(event: &Event) -> Option<(Shape, String)> {
    Some(match event {
        Event::Request {
            method,
            call,
            stop,
            attempt,
            ..
        } if !call.is_empty() => {
            let call = call_at(call, stop);
            (
                Shape::ToServer,
                format!("{method} {call}, attempt {attempt}"),
            )
        }
        Event::Request { method, target, .. } => (
            Shape::ToServer,
            beginning(&format!("{method} {target}"), 28),
        ),
        Event::Sent { bytes } => {
            let line = bytes
                .split(|byte| *byte == b'\r')
                .next()
                .unwrap_or_default();
            let line = beginning(&String::from_utf8_lossy(line), 24);
            (Shape::ToClient, format!("{line} ({})", bytes.len()))
        }
        Event::Fault { .. } => (Shape::Fault, "fault applied".into()),
        Event::Budget { what } => (Shape::End, format!("budget of {what} used up")),
        Event::Hello { .. } => (Shape::ToServer, "ClientHello".into()),
        Event::Secured { alpn, .. } => (Shape::ToClient, format!("TLS is open, {alpn}")),
        Event::Alert { code } => (Shape::End, format!("alert {code} of TLS")),
        other => (Shape::End, other.ending()?.into()),
    })
}
