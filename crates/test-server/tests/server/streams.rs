//! A client of HTTP/2, on the h2 crate.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use hecaton_test_server::{Http2, Options, TestServer};
use http::{HeaderMap, Request, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

pub fn start(http2: Http2) -> TestServer {
    let options = Options {
        http2: Some(http2),
        ..Options::default()
    };
    TestServer::start(options).expect("a test server on a free port")
}

pub fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async move {
        let patience = Duration::from_secs(20);
        let done = tokio::time::timeout(patience, future).await;
        done.expect("no test takes so long")
    })
}

/// A connection by prior knowledge.
pub async fn connect(server: &TestServer) -> SendRequest<Bytes> {
    let socket = TcpStream::connect(server.address()).await.unwrap();
    shake(socket).await
}

pub async fn shake(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> SendRequest<Bytes> {
    let (send, connection) = h2::client::handshake(io).await.unwrap();
    // How the connection ends is seen by its streams.
    tokio::spawn(async move { drop(connection.await) });
    send
}

/// Sends a request without a body.
pub async fn request(client: &SendRequest<Bytes>, path: &str) -> ResponseFuture {
    let request = Request::get(format!("http://test{path}")).body(()).unwrap();
    let mut client = client.clone().ready().await.unwrap();
    client.send_request(request, true).unwrap().0
}

pub struct Whole {
    pub head: Response<()>,
    pub body: Vec<u8>,
    pub trailers: Option<HeaderMap>,
}

pub async fn whole(response: ResponseFuture) -> Result<Whole, h2::Error> {
    let (head, mut stream) = response.await?.into_parts();
    let (body, trailers) = rest(&mut stream).await?;
    let head = Response::from_parts(head, ());
    Ok(Whole {
        head,
        body,
        trailers,
    })
}

pub async fn rest(stream: &mut RecvStream) -> Result<(Vec<u8>, Option<HeaderMap>), h2::Error> {
    let mut body = Vec::new();
    while let Some(data) = stream.data().await {
        let data = data?;
        stream.flow_control().release_capacity(data.len())?;
        body.extend_from_slice(&data);
    }
    Ok((body, stream.trailers().await?))
}

pub async fn get(client: &SendRequest<Bytes>, path: &str) -> Result<Whole, h2::Error> {
    whole(request(client, path).await).await
}

pub fn reason(result: Result<Whole, h2::Error>) -> Option<Reason> {
    result.err().expect("an error").reason()
}
