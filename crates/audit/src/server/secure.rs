//! TLS of the server: the handshake, or what replaces it.

use std::io::{self, Read};

use rustls::{HandshakeKind, ServerConnection, StreamOwned};

use super::connection::{Connection, Over, is_late};
use super::hello::Hello;
use super::identity::GOOD;
use super::link::{Link, Replayed};
use super::log::Event;
use crate::case::{Case, Deed};

/// A connection of TLS.
type Secured = StreamOwned<ServerConnection, Replayed>;

/// Does the handshake that a ClientHello begins, and says whether HTTP/2 was chosen.
pub(super) fn handshake(connection: &mut Connection<'_>) -> Result<bool, Over> {
    hello(connection)?;
    let (shared, id) = (connection.shared, connection.id);
    let (Some((case, call)), Some(identity)) = (shared.current(), &shared.identity) else {
        return connection.over(Event::ServerClosed);
    };
    let fault = || {
        let (case, call) = (case.id.clone(), call.clone());
        shared.record(id, Event::Fault { case, call });
    };
    let good = connection.at == GOOD;
    if !case.tls.hello.is_empty() && !good {
        instead(connection, case, &fault)?;
        return Err(Over);
    }
    let Ok(server) = ServerConnection::new(identity.at(connection.at).clone()) else {
        return Err(Over);
    };
    let socket = Replayed {
        before: std::mem::take(&mut connection.input),
        socket: connection.take_socket()?,
    };
    let mut stream = StreamOwned::new(server, socket);
    let done = complete(connection, &mut stream)?;
    if case.tls.certificate.fault && !good {
        fault();
    }
    if let Err(error) = done {
        return connection.over(ending(&error));
    }
    Ok(secured(connection, stream))
}

/// Waits for the ClientHello, and records it.
fn hello(connection: &mut Connection<'_>) -> Result<(), Over> {
    let Hello { sni, versions } = loop {
        match Hello::take(&connection.input) {
            Some(hello) => break hello,
            None => connection.fill()?,
        }
    };
    let event = Event::Hello { sni, versions };
    connection.shared.record(connection.id, event);
    Ok(())
}

/// Goes on with a handshake until it is done, or has failed.
fn complete(connection: &Connection<'_>, stream: &mut Secured) -> Result<io::Result<()>, Over> {
    loop {
        if connection.shared.is_over() {
            return Err(Over);
        }
        match stream.conn.complete_io(&mut stream.sock) {
            Ok(_) if stream.conn.is_handshaking() => {}
            Err(error) if is_late(&error) => {}
            done => return Ok(done.map(drop)),
        }
    }
}

/// Uses a connection whose handshake is done, and says whether HTTP/2 was chosen.
fn secured(connection: &mut Connection<'_>, mut stream: Secured) -> bool {
    let server = &mut stream.conn;
    let alpn = server.alpn_protocol().unwrap_or_default();
    let alpn = String::from_utf8_lossy(alpn).into_owned();
    let is_h2 = alpn == "h2";
    let mut early = Vec::new();
    if let Some(mut sent) = server.early_data() {
        let _ = sent.read_to_end(&mut early);
    }
    let event = Event::Secured {
        alpn,
        resumed: server.handshake_kind() == Some(HandshakeKind::Resumed),
        early: early.len(),
    };
    connection.shared.record(connection.id, event);
    connection.input = early;
    connection.link = Link::Tls(Box::new(stream));
    is_h2
}

/// How a client ended a handshake.
fn ending(error: &io::Error) -> Event {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(rustls::Error::AlertReceived(alert)) => Event::Alert {
            code: (*alert).into(),
        },
        _ => Event::ClientClosed,
    }
}

/// The steps in place of a handshake, and what the client does then.
fn instead(connection: &mut Connection<'_>, case: &Case, fault: &impl Fn()) -> Result<(), Over> {
    connection.input.clear();
    for step in &case.tls.hello {
        if step.fault {
            fault();
        }
        match &step.deed {
            Deed::Send(text) => connection.send(text.as_bytes())?,
            Deed::SendHex(bytes) => connection.send(bytes)?,
            Deed::Hold => break,
            deed => connection.rest_of(deed)?,
        }
    }
    loop {
        connection.fill()?;
        // A record of type alert has the level and the number.
        if let [0x15, _, _, _, _, _, code, ..] = connection.input[..] {
            connection
                .shared
                .record(connection.id, Event::Alert { code });
        }
        connection.input.clear();
    }
}
