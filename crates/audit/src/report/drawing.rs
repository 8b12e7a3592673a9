//! A run as a drawing: a line for each connection, and requests, responses and ends on it, in their order.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::tables::beginning;
use crate::server::{Entry, Event, Log, call_at};

/// Distance between two events, between two connections, and from the left edge.
const STEP: usize = 22;
const COLUMN: usize = 190;
const LEFT: usize = 70;

/// Most events that are drawn.
const MOST: usize = 40;

/// The drawing, as SVG.
pub(super) fn drawing(log: &Log) -> Markup {
    let shapes = log.entries.iter().map(|entry| (entry, shape(&entry.event)));
    let events = shapes.filter_map(|(entry, shape)| Some((entry, shape?)));
    let events: Vec<(&Entry, (Shape, String))> = events.collect();
    let mut columns: BTreeMap<usize, usize> = BTreeMap::new();
    for (entry, _) in events.iter().take(MOST) {
        let next = LEFT + columns.len() * COLUMN;
        columns.entry(entry.connection).or_insert(next);
    }
    let width = LEFT + columns.len() * COLUMN + 20;
    let height = (events.len().min(MOST) + 2) * STEP;
    html! {
        svg viewBox=(format_args!("0 0 {width} {height}")) width=(width) role="img"
            aria-label="Connections and requests in their order" {
            @for (connection, x) in &columns {
                text.name x=(x) y="12" { @match connection { 0 => "run", _ => { "connection " (connection) } } }
                line x1=(x) y1="18" x2=(x) y2=(height) {}
            }
            @for (position, (entry, (shape, text))) in events.iter().take(MOST).enumerate() {
                @let y = (position + 2) * STEP - 6;
                text.time x="0" y=(y) { (entry.us / 1000) " ms" }
                text.(shape.class()) x=(columns[&entry.connection] + 6) y=(y) { (shape.sign()) " " (text) }
            }
            @if events.len() > MOST { text.time x="0" y=(height - 2) { "… " (events.len() - MOST) " more" } }
        }
    }
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
