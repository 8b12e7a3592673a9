//! A client of HTTP/3, on the crates h3 and h3-quinn.

use std::future::poll_fn;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use h3::client::{RequestStream, SendRequest};
use h3::error::{Code, StreamError};
use h3_quinn::{BidiStream, OpenStreams, quinn};
use hecaton_test_server::{Http3, Options, TestServer, Tls};
use http::{HeaderMap, Request, Response};
use quinn::crypto::rustls::QuicClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

pub type Stream = RequestStream<BidiStream<Bytes>, Bytes>;

pub fn options(http3: Http3) -> Options {
    Options {
        tls: Some(Tls::default()),
        http3: Some(http3),
        ..Options::default()
    }
}

pub fn start(http3: Http3) -> TestServer {
    TestServer::start(options(http3)).expect("a test server on a free port")
}

/// A client's trusted certificates, and the sessions that it may resume.
pub fn config(server: &TestServer) -> quinn::ClientConfig {
    quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls(server)).unwrap()))
}

/// Settings with which a session that is resumed sends 0-RTT data.
pub fn early(server: &TestServer) -> quinn::ClientConfig {
    let mut tls = tls(server);
    tls.enable_early_data = true;
    quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()))
}

fn tls(server: &TestServer) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(server.ca_pem().unwrap().as_bytes()).unwrap();
    roots.add(ca).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h3".to_vec()];
    config
}

#[derive(Clone)]
pub struct Client {
    pub connection: quinn::Connection,
    send: SendRequest<OpenStreams, Bytes>,
    endpoint: quinn::Endpoint,
}

pub async fn connect(server: &TestServer) -> Client {
    connect_with(server, config(server)).await.unwrap()
}

pub async fn connect_with(
    server: &TestServer,
    config: quinn::ClientConfig,
) -> Result<Client, quinn::ConnectionError> {
    let endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let connecting = endpoint.connect_with(config, server.address(), "localhost");
    let connection = connecting.unwrap().await?;
    let transport = h3_quinn::Connection::new(connection.clone());
    let (mut driver, send) = h3::client::new(transport).await.unwrap();
    // How the connection ends is seen by its streams.
    tokio::spawn(async move { drop(poll_fn(|context| driver.poll_close(context)).await) });
    Ok(Client {
        connection,
        send,
        endpoint,
    })
}

impl Client {
    /// Ends the connection, and waits until the server has been told: a runtime that ends sends nothing any more.
    pub async fn leave(self) {
        self.connection.close(0u32.into(), b"");
        self.endpoint.wait_idle().await;
    }

    /// Sends the head of a request.
    pub async fn begin(&self, request: Request<()>) -> Result<Stream, StreamError> {
        self.send.clone().send_request(request).await
    }

    /// Sends a request without a body.
    pub async fn request(&self, path: &str) -> Result<Stream, StreamError> {
        let request = Request::get(format!("https://localhost{path}"));
        let mut stream = self.begin(request.body(()).unwrap()).await?;
        stream.finish().await?;
        Ok(stream)
    }

    pub async fn get(&self, path: &str) -> Result<Whole, StreamError> {
        whole(&mut self.request(path).await?).await
    }
}

pub struct Whole {
    pub head: Response<()>,
    pub body: Vec<u8>,
    pub trailers: Option<HeaderMap>,
}

impl Whole {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a body of JSON")
    }
}

pub async fn whole(stream: &mut Stream) -> Result<Whole, StreamError> {
    let head = stream.recv_response().await?;
    let (body, error) = rest(stream).await;
    match error {
        Some(error) => Err(error),
        None => Ok(Whole {
            head,
            body,
            trailers: stream.recv_trailers().await?,
        }),
    }
}

/// The bytes of a body that come, and what ended it too early.
pub async fn rest(stream: &mut Stream) -> (Vec<u8>, Option<StreamError>) {
    let mut body = Vec::new();
    loop {
        match stream.recv_data().await {
            Ok(Some(mut data)) => body.extend_from_slice(&data.copy_to_bytes(data.remaining())),
            Ok(None) => return (body, None),
            Err(error) => return (body, Some(error)),
        }
    }
}

/// The server's error code of a stream.
pub fn code(error: StreamError) -> Code {
    match error {
        StreamError::RemoteTerminate { code, .. } => code,
        other => panic!("an error of a stream: {other:?}"),
    }
}

/// The server's error code of the connection, at its end.
pub async fn closed(client: &Client) -> Code {
    match client.connection.closed().await {
        quinn::ConnectionError::ApplicationClosed(close) => close.error_code.into_inner().into(),
        other => panic!("an end by the server: {other}"),
    }
}
