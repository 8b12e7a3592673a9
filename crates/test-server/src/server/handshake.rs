//! The handshake of TLS, after which the protocol that was agreed on is served.

use std::rc::Rc;

use bytes::Bytes;
use tokio::net::TcpStream;

use crate::http1::connection::Connection;
use crate::http2;
use crate::hub::Hub;
use crate::wire::deadline::{TO_BEGIN, within};
use crate::wire::socket::{Socket, until_end};
use crate::wire::tls::{Port, Secure};

/// Shakes hands and serves; the connection counts from its accept.
pub(crate) async fn serve(hub: Rc<Hub>, port: Rc<Port>, stream: TcpStream) {
    let entry = hub.connected();
    if port.stall {
        let mut socket = Socket::Tcp(stream);
        until_end(&mut socket).await;
        return hub.ledger.borrow_mut().disconnected(&entry);
    }
    let handshake = port.acceptor.accept(stream);
    let handshake = within(&hub.timer, hub.deadline(TO_BEGIN), handshake);
    match handshake.await {
        Some(Ok(stream)) => {
            let secure = Secure::of(stream.get_ref().1);
            hub.ledger.borrow_mut().shook_hands(secure.resumed);
            let is_http2 = secure.is_http2();
            let socket = Socket::Tls(Box::new(stream));
            let secure = Some(Box::new(secure));
            if is_http2 {
                return http2::serve(hub, socket, Bytes::new(), entry, secure).await;
            }
            Connection::new(hub, socket, entry, secure).run().await;
        }
        Some(Err(_)) | None => {
            let mut ledger = hub.ledger.borrow_mut();
            ledger.shook_no_hands();
            ledger.disconnected(&entry);
        }
    }
}
