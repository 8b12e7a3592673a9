//! HTTP/2 as the origin speaks it, with the h2 crate as the client.

mod support;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use hecaton_origin::{Http2, Options, Origin, Tls};
use http::{HeaderMap, Request, Response};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use support::{Client, eventually, round};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

fn start(http2: Http2) -> Origin {
    let options = Options {
        http2: Some(http2),
        ..Options::default()
    };
    Origin::start(options).expect("an origin on a free port")
}

fn run<T>(future: impl Future<Output = T>) -> T {
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
async fn connect(origin: &Origin) -> SendRequest<Bytes> {
    let socket = TcpStream::connect(origin.address()).await.unwrap();
    shake(socket).await
}

async fn shake(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> SendRequest<Bytes> {
    let (send, connection) = h2::client::handshake(io).await.unwrap();
    // How the connection ends is seen by its streams.
    tokio::spawn(async move { drop(connection.await) });
    send
}

/// Sends a request without a body.
async fn ask(client: &SendRequest<Bytes>, path: &str) -> ResponseFuture {
    let request = Request::get(format!("http://test{path}")).body(()).unwrap();
    let mut client = client.clone().ready().await.unwrap();
    client.send_request(request, true).unwrap().0
}

struct Whole {
    head: Response<()>,
    body: Vec<u8>,
    trailers: Option<HeaderMap>,
}

async fn whole(answer: ResponseFuture) -> Result<Whole, h2::Error> {
    let (head, mut stream) = answer.await?.into_parts();
    let (body, trailers) = rest(&mut stream).await?;
    let head = Response::from_parts(head, ());
    Ok(Whole {
        head,
        body,
        trailers,
    })
}

async fn rest(stream: &mut RecvStream) -> Result<(Vec<u8>, Option<HeaderMap>), h2::Error> {
    let mut body = Vec::new();
    while let Some(data) = stream.data().await {
        let data = data?;
        stream.flow_control().release_capacity(data.len())?;
        body.extend_from_slice(&data);
    }
    Ok((body, stream.trailers().await?))
}

async fn get(client: &SendRequest<Bytes>, path: &str) -> Result<Whole, h2::Error> {
    whole(ask(client, path).await).await
}

fn reason(result: Result<Whole, h2::Error>) -> Option<Reason> {
    result.err().expect("an error").reason()
}

#[test]
fn many_streams_of_one_connection_are_witnessed_as_requests() {
    let origin = start(Http2::default());
    origin.open_round(round(1, 100));
    let sum = run(async {
        let client = connect(&origin).await;
        let mut asked = Vec::new();
        for id in 1..=100 {
            asked.push(ask(&client, &format!("/r/{id}")).await);
        }
        let mut sum = 0u32;
        for answer in asked {
            let answer = whole(answer).await.unwrap();
            assert_eq!(answer.body.len(), 133);
            assert_eq!(answer.head.headers()["content-length"], "133");
            let token = std::str::from_utf8(&answer.body[125..]).unwrap();
            sum = sum.wrapping_add(u32::from_str_radix(token, 16).unwrap());
        }
        sum
    });
    let page = origin.close_round();
    assert_eq!(page.expected_sum, sum);
    let counts = (page.requests, page.distinct, page.duplicates, page.foreign);
    assert_eq!(counts, (100, 100, 0, 0));
    assert_eq!((page.connections_opened, page.connections_used), (1, 1));
    assert!(page.bytes_in > 0 && page.bytes_out > page.body_bytes_out);
    assert_eq!(origin.summary().http2_connections, 1);
}

#[test]
fn both_protocols_share_a_port_and_a_ledger() {
    let origin = start(Http2::default());
    assert_eq!(Client::new(&origin).get("/r/1").status, 200);
    run(async {
        get(&connect(&origin).await, "/r/1")
            .await
            .map(drop)
            .unwrap()
    });
    let summary = eventually(&origin, |summary| summary.connections_open == 0);
    assert_eq!((summary.requests, summary.duplicates), (2, 1));
    let kinds = (summary.connections, summary.http2_connections);
    assert_eq!(kinds, (2, 1));
}

#[test]
fn without_the_option_the_preface_is_refused() {
    let origin = support::origin();
    let mut client = Client::new(&origin);
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    assert_eq!(client.answer().status, 505);
}

#[test]
fn a_preface_in_pieces_is_understood() {
    let origin = start(Http2::default());
    let mut client = Client::new(&origin);
    for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" {
        client.send([*byte]);
    }
    client.send([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    // The origin's SETTINGS: a frame of type 4 on stream 0.
    let head = client.exactly(9);
    assert_eq!((head[3], &head[5..]), (4, &[0; 4][..]));
}

#[test]
fn the_routes_answer_as_they_do_over_http_1() {
    let origin = start(Http2::default());
    run(async {
        let client = connect(&origin).await;
        let echo = get(&client, "/echo?a=b").await.unwrap();
        let echo: serde_json::Value = serde_json::from_slice(&echo.body).unwrap();
        assert_eq!(
            (&echo["protocol"], &echo["path"]),
            (&"HTTP/2".into(), &"/echo?a=b".into())
        );
        assert_eq!(
            echo["headers"][0],
            serde_json::json!([":authority", "test"])
        );
        assert_eq!(
            get(&client, "/status/404").await.unwrap().head.status(),
            404
        );
        let empty = get(&client, "/status/204").await.unwrap();
        assert_eq!((empty.head.status().as_u16(), empty.body.len()), (204, 0));
        assert_eq!(
            get(&client, "/bytes/3000000").await.unwrap().body.len(),
            3_000_000
        );
        let chunked = get(&client, "/chunked/2").await.unwrap();
        assert_eq!(chunked.body, b"chunk 1\nchunk 2\n");
        assert_eq!(chunked.trailers.unwrap()["x-chunks"], "2");
        let start = Instant::now();
        assert_eq!(get(&client, "/delay/60").await.unwrap().body, b"late\n");
        assert!(start.elapsed() >= Duration::from_millis(60));
        let encoded = get(&client, "/encoded/gzip/1000").await.unwrap();
        assert_eq!(encoded.head.headers()["content-encoding"], "gzip");
        assert_eq!(get(&client, "/eof").await.unwrap().body, b"until the end\n");
        assert_eq!(get(&client, "/r/1").await.unwrap().body.len(), 133);
    });
    assert_eq!(origin.summary().connections, 1);
}

#[test]
fn uploads_are_read_within_the_windows() {
    let origin = start(Http2::default());
    run(async {
        let client = connect(&origin).await;
        let mut client = client.ready().await.unwrap();
        let request = Request::post("http://test/upload").body(()).unwrap();
        let (answer, mut body) = client.send_request(request, false).unwrap();
        let mut left = Bytes::from(vec![b'x'; 5_000_000]);
        while !left.is_empty() {
            body.reserve_capacity(left.len());
            let room = std::future::poll_fn(|context| body.poll_capacity(context));
            let room = room.await.unwrap().unwrap();
            body.send_data(left.split_to(room.min(left.len())), false)
                .unwrap();
        }
        body.send_data(Bytes::new(), true).unwrap();
        let told = whole(answer).await.unwrap();
        let told: serde_json::Value = serde_json::from_slice(&told.body).unwrap();
        assert_eq!(told["bytes"], 5_000_000);
    });
}

#[test]
fn the_gate_holds_streams_until_enough_are_there() {
    let origin = start(Http2::default());
    origin.open_round(hecaton_origin::RoundSpec {
        gate: Some(10),
        ..round(1, 10)
    });
    run(async {
        let client = connect(&origin).await;
        let mut asked = Vec::new();
        for id in 1..=10 {
            asked.push(ask(&client, &format!("/r/{id}")).await);
        }
        for answer in asked {
            whole(answer).await.map(drop).unwrap();
        }
    });
    assert_eq!(origin.close_round().peak_in_flight, 10);
}

#[test]
fn alpn_chooses_http_2_over_tls() {
    let origin = Origin::start(Options {
        tls: Some(Tls::default()),
        http2: Some(Http2::default()),
        ..Options::default()
    })
    .unwrap();
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(origin.ca_pem().unwrap().as_bytes()).unwrap();
    roots.add(ca).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    run(async {
        let socket = TcpStream::connect(origin.address()).await.unwrap();
        let name = "localhost".to_owned().try_into().unwrap();
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let socket = connector.connect(name, socket).await.unwrap();
        let client = shake(socket).await;
        let echo = get(&client, "/echo").await.unwrap();
        let echo: serde_json::Value = serde_json::from_slice(&echo.body).unwrap();
        let seen = (&echo["tls"]["alpn"], &echo["tls"]["sni"]);
        assert_eq!(seen, (&"h2".into(), &"localhost".into()));
        assert_eq!(
            get(&client, "/bytes/1000000").await.unwrap().body.len(),
            1_000_000
        );
    });
    let summary = origin.summary();
    assert_eq!((summary.http2_connections, summary.tls_handshakes), (1, 1));
}

#[test]
fn goaway_names_the_last_stream_that_is_processed() {
    let origin = start(Http2::default());
    run(async {
        let client = connect(&origin).await;
        let slow = ask(&client, "/delay/150").await;
        let last = ask(&client, "/fault/goaway").await;
        let late = [ask(&client, "/r/1").await, ask(&client, "/r/2").await];
        // What came before is answered, what came after is told that it was not processed.
        assert_eq!(whole(last).await.unwrap().body, b"ok\n");
        for answer in late {
            let error = whole(answer).await.err().unwrap();
            assert!(error.is_go_away() && error.is_remote(), "{error:?}");
            assert_eq!(error.reason(), Some(Reason::NO_ERROR));
        }
        assert_eq!(whole(slow).await.unwrap().body, b"late\n");
    });
    let summary = eventually(&origin, |summary| summary.connections_open == 0);
    assert_eq!((summary.requests, summary.items), (2, 0));
    assert_eq!(summary.http2_unprocessed, 2);
}

#[test]
fn goaway_comes_after_as_many_streams_as_asked_for() {
    let origin = start(Http2 {
        goaway_after: Some(3),
        ..Http2::default()
    });
    run(async {
        let client = connect(&origin).await;
        let mut asked = Vec::new();
        for id in 1..=5 {
            asked.push(ask(&client, &format!("/r/{id}")).await);
        }
        let mut good = 0;
        for answer in asked {
            good += u32::from(whole(answer).await.is_ok());
        }
        assert_eq!(good, 3);
    });
    let summary = eventually(&origin, |summary| summary.connections_open == 0);
    assert_eq!((summary.requests, summary.http2_unprocessed), (3, 2));
}

#[test]
fn a_refused_stream_is_served_when_it_comes_again() {
    let origin = start(Http2 {
        refuse_first: true,
        ..Http2::default()
    });
    run(async {
        let client = connect(&origin).await;
        let first = get(&client, "/r/1").await;
        assert_eq!(reason(first), Some(Reason::REFUSED_STREAM));
        assert_eq!(get(&client, "/r/1").await.unwrap().body.len(), 133);
        let always = get(&client, "/fault/refused-stream").await;
        assert_eq!(reason(always), Some(Reason::REFUSED_STREAM));
    });
    let summary = origin.summary();
    let counts = (summary.requests, summary.duplicates, summary.aborted);
    assert_eq!(counts, (1, 1, 2));
}

#[test]
fn the_limit_on_streams_is_told() {
    let origin = start(Http2 {
        max_streams: Some(2),
        ..Http2::default()
    });
    run(async {
        let client = connect(&origin).await;
        get(&client, "/r/0").await.map(drop).unwrap();
        assert_eq!(client.current_max_send_streams(), 2);
        let mut asked = Vec::new();
        for id in 1..=8 {
            asked.push(ask(&client, &format!("/r/{id}")).await);
        }
        for answer in asked {
            whole(answer).await.map(drop).unwrap();
        }
    });
    let summary = origin.summary();
    assert_eq!(summary.requests, 9);
    assert!(summary.peak_in_flight <= 2, "{}", summary.peak_in_flight);
}

#[test]
fn faults_of_one_stream_leave_the_others_alone() {
    let origin = start(Http2::default());
    run(async {
        let client = connect(&origin).await;
        let steady = ask(&client, "/delay/100").await;
        let reset = get(&client, "/fault/reset").await;
        assert_eq!(reason(reset), Some(Reason::INTERNAL_ERROR));
        let cut = ask(&client, "/fault/truncate-chunked").await;
        let mut cut = cut.await.expect("a head").into_body();
        let mut seen = 0;
        let end = loop {
            match cut.data().await.expect("no orderly end") {
                Ok(data) => seen += data.len(),
                Err(error) => break error,
            }
        };
        assert_eq!((seen, end.reason()), (500, Some(Reason::INTERNAL_ERROR)));
        let short = get(&client, "/fault/truncate").await;
        assert_eq!(reason(short), Some(Reason::PROTOCOL_ERROR));
        for fault in ["stall-head", "stall-body", "drip"] {
            let path = format!("/fault/{fault}");
            let stalled = get(&client, &path);
            let patience = Duration::from_millis(50);
            assert!(tokio::time::timeout(patience, stalled).await.is_err());
        }
        assert_eq!(whole(steady).await.unwrap().body, b"late\n");
        assert_eq!(get(&client, "/r/1").await.unwrap().body.len(), 133);
    });
    let summary = eventually(&origin, |summary| summary.connections_open == 0);
    assert_eq!(summary.connections, 1);
    let summary = eventually(&origin, |summary| summary.aborted == 5);
    assert_eq!(summary.requests, 3, "{summary:?}");
}

#[test]
fn faults_of_a_connection_end_it() {
    let origin = start(Http2::default());
    for fault in ["close", "garbage", "tls-cut"] {
        run(async {
            let client = connect(&origin).await;
            let result = get(&client, &format!("/fault/{fault}")).await;
            assert!(result.is_err(), "{fault}");
        });
    }
    run(async {
        let client = connect(&origin).await;
        assert_eq!(
            get(&client, "/fault/idle-close").await.unwrap().body,
            b"ok\n"
        );
    });
    let summary = eventually(&origin, |summary| summary.connections_open == 0);
    assert_eq!(summary.connections, 4);
}

#[test]
fn streams_of_a_client_that_leaves_are_aborts() {
    let origin = start(Http2::default());
    run(async {
        let client = connect(&origin).await;
        let asked = [
            ask(&client, "/delay/30000").await,
            ask(&client, "/fault/stall-head").await,
            ask(&client, "/fault/stall-body").await,
        ];
        loop {
            tokio::time::sleep(Duration::from_millis(5)).await;
            if origin.summary().peak_in_flight == 3 {
                break;
            }
        }
        drop(asked);
    });
    let summary = eventually(&origin, |summary| summary.aborted == 3);
    assert_eq!(summary.requests, 0);
    eventually(&origin, |summary| summary.connections_open == 0);
}

#[test]
fn chaos_harms_streams_and_never_their_connection() {
    let origin = Origin::start(Options {
        http2: Some(Http2::default()),
        chaos: Some(
            "reset=20%,truncate=20%,garbage=20%,close=20%,500=10%"
                .parse()
                .unwrap(),
        ),
        ..Options::default()
    })
    .unwrap();
    let (good, refused) = run(async {
        let client = connect(&origin).await;
        let (mut good, mut refused) = (0, 0);
        for id in 0..200 {
            match get(&client, &format!("/r/{id}")).await {
                Ok(answer) => good += u64::from(answer.body.len() == 133),
                Err(error) => {
                    assert!(error.is_reset() || error.is_library(), "{error:?}");
                    refused += u64::from(error.reason() == Some(Reason::REFUSED_STREAM));
                }
            }
        }
        (good, refused)
    });
    let summary = origin.summary();
    let chaos = summary.chaos.unwrap();
    assert_eq!(summary.connections, 1);
    assert_eq!(chaos["good"].count, good);
    assert_eq!(chaos["close"].count, refused);
    assert_eq!(chaos.values().map(|dealt| dealt.count).sum::<u64>(), 200);
}
