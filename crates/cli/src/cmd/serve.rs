//! `hecaton serve`: the test server alone, until it is stopped.

use std::io::{Write, stdout};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use hecaton_lab::run::choose_cores;
use hecaton_lab::spec::Usage;
use hecaton_test_server::{
    Certificate, Chaos, Delay, Http2, Http3, Options, TestServer, Tls, serve_remote,
};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Runs the lab's test server on its own, until Ctrl-C or SIGTERM.
///
/// The first line on stdout is the base URL; the last is the summary of the server's log, as JSON.
#[derive(Args)]
#[command(allow_negative_numbers = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Serve the lab of another machine: listen for its control connection, and start and stop servers as it says. That
    /// machine must send TOKEN, as with `hecaton sweep --server HOST:PORT --server-token TOKEN`. Nothing is encrypted,
    /// so use it only in a network that you control.
    #[arg(long, value_name = "TOKEN")]
    remote: Option<String>,
    /// Let other machines connect: needed to listen beyond loopback. Connections then have deadlines and limits for
    /// each address.
    #[arg(long)]
    expose: bool,
    /// Also serve harmful paths to other machines: bombs, faults, bodies of any size, delays of an
    /// hour.
    #[arg(long, requires = "expose")]
    faults: bool,
    /// Bytes of a response's body, at least 8.
    #[arg(short = 'b', long, value_name = "BYTES", default_value_t = 133, value_parser = clap::value_parser!(u32).range(8..))]
    body: u32,
    /// How long to wait before each response: 15ms, uniform:5ms..20ms, exponential:10ms, lognormal:p50=5ms,p99=40ms; 0
    /// means no delay.
    #[arg(short = 'd', long, default_value = "0")]
    delay: Delay,
    /// Seed of the delays and of --chaos.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Listen on this Unix socket too, always without TLS; the file must not exist.
    #[arg(long, value_name = "PATH")]
    unix: Option<PathBuf>,
    /// Random faults on /r/<id>, as in reset=1%,500=2%: reset, stall, truncate, 500, garbage, close, slow, early.
    #[arg(long, value_name = "SHARES")]
    chaos: Option<Chaos>,
    /// Close each HTTP/1.1 connection without notice after this number of responses, as a server that reloads does; 0
    /// means never.
    #[arg(long, value_name = "RESPONSES", default_value_t = 0)]
    close_after: u32,
    /// Use TLS, with this certificate: valid (the default of --tls), expired, not-yet-valid, wrong-host or self-signed.
    #[arg(long, value_name = "CERTIFICATE", num_args = 0..=1, require_equals = true, default_missing_value = "valid",
          help_heading = TLS)]
    tls: Option<Certificate>,
    #[command(flatten)]
    secure: Secure,
    /// Support HTTP/2 too: by prior knowledge without TLS, by ALPN with it.
    #[arg(long, help_heading = HTTP2)]
    http2: bool,
    #[command(flatten)]
    streams: Streams,
    /// Support HTTP/3 too, on the same port number over UDP. Clients learn that from an Alt-Svc field only where a
    /// request asks for one: /headers?alt-svc=<value>.
    #[arg(long, help_heading = HTTP3, requires = "tls", conflicts_with = "tls_1_2")]
    http3: bool,
    #[command(flatten)]
    quic: Quic,
}

/// Headings of the help.
const TLS: &str = "TLS";
const HTTP2: &str = "HTTP/2";
const HTTP3: &str = "HTTP/3";

/// Options that need `--http2`.
#[derive(Args)]
#[command(next_help_heading = HTTP2)]
struct Streams {
    /// Most streams open at once on a connection.
    #[arg(long, value_name = "STREAMS", requires = "http2")]
    http2_max_streams: Option<u32>,
    /// Send GOAWAY on a connection when it has begun this number of streams.
    #[arg(long, value_name = "STREAMS", requires = "http2")]
    http2_goaway_after: Option<u32>,
    /// Refuse the first stream that requests an id.
    #[arg(long, requires = "http2")]
    http2_refuse_first: bool,
}

/// Options that need `--http3`.
#[derive(Args)]
#[command(next_help_heading = HTTP3)]
struct Quic {
    /// Most streams open at once on a connection.
    #[arg(long, value_name = "STREAMS", requires = "http3")]
    http3_max_streams: Option<u32>,
    /// Send GOAWAY on a connection when it has begun this number of streams.
    #[arg(long, value_name = "STREAMS", requires = "http3")]
    http3_goaway_after: Option<u32>,
    /// Refuse the first stream that requests an id.
    #[arg(long, requires = "http3")]
    http3_refuse_first: bool,
    /// Let clients prove their address first: reply to their first packet with a Retry packet.
    #[arg(long, requires = "http3")]
    http3_retry: bool,
    /// Accept requests in 0-RTT data of resumed sessions.
    #[arg(long, requires = "http3")]
    http3_early_data: bool,
}

/// Options that need `--tls`.
#[derive(Args)]
#[command(next_help_heading = TLS)]
struct Secure {
    /// Write the certificate authority that clients must trust to this file, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls")]
    tls_ca_out: Option<PathBuf>,
    /// Require that clients show a certificate of that authority.
    #[arg(long, requires = "tls")]
    tls_client: bool,
    /// Write a certificate for clients, and its key, to this file, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls")]
    tls_client_out: Option<PathBuf>,
    /// Another name or address in the certificate; may be repeated.
    #[arg(long, value_name = "NAME", requires = "tls")]
    tls_name: Vec<String>,
    /// Support no newer version than TLS 1.2.
    #[arg(long, requires = "tls")]
    tls_1_2: bool,
    /// Accept connections but never reply to a TLS handshake.
    #[arg(long, requires = "tls")]
    tls_stall: bool,
}

const EXAMPLES: &str = "\
Examples:
  hecaton serve
  hecaton serve --tls --tls-ca-out /tmp/ca.pem
  hecaton serve --tls --http2 --http3
  hecaton serve --listen 127.0.0.1:8080 --delay 5ms
  curl http://127.0.0.1:8080/r/1
      then, from another terminal
Paths:
  /r/<id>  /echo  /ledger  /headers?<header>=<value>
  /status/<code>?<header>=<value>  /delay/<ms>
  /bytes/<n>  /chunked/<n>  /pieces/<n>/<bytes>/<ms>
  /close  /eof  /upload  /early  /bomb/<coding>/<MiB>
  /encoded/<coding>[-corrupt|-truncated]/<n>?layers=<k>
  /redirect/<status>/<n>?to=<URL>  /redirect-loop
  /cookies  /cookies/set?<name>=<value>
  /basic/<user>/<password>  /fault/<fault>
Codings:
  gzip deflate br zstd
Faults:
  truncate truncate-chunked tls-cut reset close
  garbage stall-head stall-body drip huge-head early
  idle-close goaway refused-stream";

/// Serves until a signal comes.
pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(token) = &arguments.remote {
        return remote(arguments.listen, token);
    }
    if !arguments.expose && !arguments.listen.ip().is_loopback() {
        bail!(Usage(format!(
            "{} can be reached from other machines; add --expose if that is meant, or listen on 127.0.0.1",
            arguments.listen
        )));
    }
    // Before the first line is printed: who reads it may send the signal at once.
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let server = TestServer::start(Options {
        listen: arguments.listen,
        body_bytes: arguments.body as usize,
        delay: arguments.delay,
        seed: arguments.seed,
        core: choose_cores().map(|pinning| pinning.server_core),
        tls: arguments.tls(),
        http2: arguments.http2(),
        http3: arguments.http3(),
        chaos: arguments.chaos.clone(),
        close_after: arguments.close_after,
        unix: arguments.unix.clone(),
        rounds_only: false,
        exposed: arguments.expose,
        only_from: None,
        faults: arguments.faults,
    })?;
    // Before the base URL is printed: who reads it may connect at once.
    arguments.secure.write(&server)?;
    let mut out = stdout().lock();
    writeln!(out, "{}", server.base_url())?;
    out.flush()?;
    signals.forever().next();
    writeln!(out, "{}", serde_json::to_string(&server.stop())?)?;
    Ok(())
}

/// Fewest letters of a token: one that can be guessed protects nothing.
const FEWEST: usize = 8;

/// Serves the lab of another machine until a signal comes.
fn remote(listen: SocketAddr, token: &str) -> Result<()> {
    if token.len() < FEWEST {
        bail!(Usage(format!(
            "the token of --remote has fewer than {FEWEST} letters; choose a longer one"
        )));
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let listener = TcpListener::bind(listen)
        .with_context(|| format!("cannot listen on {listen}; choose another address or port"))?;
    let (address, token) = (listener.local_addr()?, token.to_owned());
    let core = choose_cores().map(|pinning| pinning.server_core);
    std::thread::spawn(move || serve_remote(&listener, &token, core));
    let mut out = stdout().lock();
    writeln!(out, "{address}")?;
    out.flush()?;
    signals.forever().next();
    Ok(())
}

impl Arguments {
    fn tls(&self) -> Option<Tls> {
        Some(Tls {
            certificate: self.tls.clone()?,
            names: self.secure.tls_name.clone(),
            client_certificate: self.secure.tls_client,
            only_1_2: self.secure.tls_1_2,
            stall: self.secure.tls_stall,
            no_resumption: false,
        })
    }

    fn http2(&self) -> Option<Http2> {
        self.http2.then_some(Http2 {
            max_streams: self.streams.http2_max_streams,
            goaway_after: self.streams.http2_goaway_after,
            refuse_first: self.streams.http2_refuse_first,
        })
    }

    fn http3(&self) -> Option<Http3> {
        self.http3.then_some(Http3 {
            max_streams: self.quic.http3_max_streams,
            goaway_after: self.quic.http3_goaway_after,
            refuse_first: self.quic.http3_refuse_first,
            retry: self.quic.http3_retry,
            early_data: self.quic.http3_early_data,
        })
    }
}

impl Secure {
    fn write(&self, server: &TestServer) -> Result<()> {
        write(self.tls_ca_out.as_deref(), server.ca_pem())?;
        write(self.tls_client_out.as_deref(), server.client_pem())
    }
}

/// Writes the text when both are there.
fn write(path: Option<&Path>, text: Option<&str>) -> Result<()> {
    let (Some(path), Some(text)) = (path, text) else {
        return Ok(());
    };
    std::fs::write(path, text)
        .with_context(|| format!("cannot write {}; choose another path", path.display()))
}
