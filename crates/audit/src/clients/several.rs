//! Several equal calls at once, and what they got.

use std::time::{Duration, Instant};

use super::client::Client;
use super::connection::{Clock, Connection};
use super::hop::Hop;
use super::outcome::{Class, Failure, Outcome, failed};
use super::{exchange, http3, response};
use crate::subject::{CallOptions, Reported};

/// Makes the calls.
pub(super) fn send(
    client: &mut Client,
    call: &CallOptions,
    count: usize,
    deadline: Instant,
) -> Reported {
    let began = Instant::now();
    let mut clock = Clock::new(deadline);
    let outcomes = match Hop::first(call, &client.sins) {
        Ok(hop) => outcomes(client, &hop, count, &mut clock),
        Err(failure) => vec![Err(failure)],
    };
    let errors: Vec<&Failure> = outcomes
        .iter()
        .filter_map(|outcome| outcome.as_ref().err())
        .collect();
    let last = errors.last();
    Reported::Several {
        responses: outcomes.len() - errors.len(),
        errors: errors.len(),
        class: last.map_or(String::new(), |failure| format!("{:?}", failure.class)),
        text: last.map_or(String::new(), |failure| failure.text.to_owned()),
        ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

fn outcomes(client: &mut Client, hop: &Hop, count: usize, clock: &mut Clock) -> Vec<Outcome> {
    if client.route.http2 {
        return over_http2(client, hop, count, clock);
    }
    if client.route.http3 {
        let sent = http3::send(client, hop, count, false, clock);
        return sent.map_or_else(
            |failure| vec![Err(failure); count],
            |(outcomes, _)| outcomes,
        );
    }
    let slots = match client.sins.has("ignores-pool-size") {
        true => usize::MAX,
        false => client.route.pool_size.saturating_sub(client.lost_slots),
    };
    let slots = if client.sins.has("one-at-a-time") {
        1
    } else {
        slots
    };
    let mut outcomes = Vec::new();
    while outcomes.len() < count {
        if clock.left().is_err() && client.sins.has("waits-for-a-slot-for-ever") {
            std::thread::sleep(Duration::from_secs(5));
        }
        let most = slots.min(count - outcomes.len());
        if most == 0 {
            let none = failed(Class::Late, "no connection of the pool was free");
            outcomes.resize(count, none);
            break;
        }
        outcomes.extend(at_once(client, hop, most, clock));
    }
    outcomes
}

/// As many calls as the pool has connections: all are sent, and then the responses are read one after the other.
fn at_once(client: &mut Client, hop: &Hop, count: usize, clock: &mut Clock) -> Vec<Outcome> {
    let begun: Vec<Result<Connection, Failure>> = (0..count)
        .map(|_| {
            let mut connection = idle_or_new(client, hop, clock)?;
            let (head, body) = exchange::head(client, hop)?;
            connection.write(&[head, body].concat(), clock)?;
            Ok(connection)
        })
        .collect();
    let sins = client.sins.clone();
    let mut kept = 0;
    let read = |begun: Result<Connection, Failure>| {
        let mut connection = begun?;
        let outcome = response::read(&mut connection, &hop.method, clock, &sins);
        match &outcome {
            Ok((_, true)) if kept == 0 || !sins.has("pool-keeps-one") => {
                kept += 1;
                client.idle.push(connection);
            }
            Err(failure) => {
                let sin = match failure.class {
                    Class::Late => "loses-slot-after-time-out",
                    _ => "loses-slot-after-error",
                };
                client.lost_slots += usize::from(sins.has(sin));
            }
            _ => {}
        }
        outcome.map(|(response, _)| response)
    };
    begun.into_iter().map(read).collect()
}

/// All calls on one connection.
fn over_http2(client: &mut Client, hop: &Hop, count: usize, clock: &Clock) -> Vec<Outcome> {
    let messages = vec![exchange::message(hop); count];
    match idle_or_new(client, hop, clock) {
        Ok(connection) => exchange::over_http2(client, connection, messages, clock),
        Err(failure) => vec![Err(failure); count],
    }
}

fn idle_or_new(client: &mut Client, hop: &Hop, clock: &Clock) -> Result<Connection, Failure> {
    let idle = exchange::idle(client, hop);
    idle.map_or_else(|| client.route.open(hop, &client.sins, clock), Ok)
}
