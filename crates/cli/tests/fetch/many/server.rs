//! A NATS server for one test, on a port of its own.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::support::until;

/// The server.
pub struct Nats {
    home: TempDir,
    port: u16,
    child: Option<Child>,
}

impl Nats {
    /// One with JetStream.
    pub fn start() -> Nats {
        Nats::with(&["-js"])
    }

    /// One as the arguments say.
    pub fn with(arguments: &[&str]) -> Nats {
        let mut nats = Nats {
            home: tempfile::tempdir().expect("a folder"),
            port: 0,
            child: None,
        };
        nats.run(arguments);
        nats
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Publishes a message, as any client of the server may.
    pub fn publish(&self, subject: &str, text: &str) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let length = text.len();
        let sent = format!("CONNECT {{}}\r\nPUB {subject} {length}\r\n{text}\r\nPING\r\n");
        stream.write_all(sent.as_bytes()).expect("it is sent");
        let lines = BufReader::new(stream).lines();
        let mut lines = lines.map(|line| line.expect("a line"));
        assert!(lines.any(|line| line == "PONG"), "the server has read it");
    }

    /// Ends it as a power cut would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it is killed");
            child.wait().expect("it ends");
        }
    }

    /// Starts it again where it was, with what it has on its disk or without.
    pub fn again(&mut self, keeps: bool) {
        self.kill();
        if !keeps {
            std::fs::remove_dir_all(self.home.path().join("store")).expect("it loses all");
        }
        self.run(&["-js"]);
    }

    fn run(&mut self, arguments: &[&str]) {
        let ports = self.home.path().join(format!("ports-{}", self.port));
        std::fs::create_dir_all(&ports).expect("a folder");
        let port = match self.port {
            0 => "-1".to_owned(),
            port => port.to_string(),
        };
        let child = Command::new("nats-server")
            .args(arguments)
            .arg("-sd")
            .arg(self.home.path().join("store"))
            .args(["-a", "127.0.0.1", "-p", &port, "--ports_file_dir"])
            .arg(&ports)
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server is there: bin/setup fetch installs it");
        self.child = Some(child);
        let mut found = None;
        until(|| {
            found = listens(&ports);
            found.is_some()
        });
        self.port = found.unwrap_or_default();
        let _ = std::fs::remove_dir_all(ports);
    }
}

/// The port that a server says it listens on.
fn listens(ports: &Path) -> Option<u16> {
    let file = std::fs::read_dir(ports).ok()?.flatten().next()?.path();
    let text = std::fs::read_to_string(file).ok()?;
    let (_, rest) = text.split_once("nats://127.0.0.1:")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}
