//! The test server alone, with what its options add.

use std::fs::read_to_string;
use std::io::{BufRead, BufReader, Read};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::hecaton;

#[test]
fn what_clients_of_tls_need_is_written_before_the_url() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut child = hecaton("cheats")
        .args(["serve", "--tls=expired", "--http2", "--tls-client"])
        .args(["--chaos", "500=1%"])
        .arg("--tls-ca-out")
        .arg(path("ca.pem"))
        .arg("--tls-client-out")
        .arg(path("client.pem"))
        .arg("--unix")
        .arg(path("socket"))
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut url = String::new();
    out.read_line(&mut url).unwrap();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let ca = read_to_string(path("ca.pem")).unwrap();
    assert!(
        ca.contains("BEGIN CERTIFICATE") && !ca.contains("PRIVATE"),
        "{ca}"
    );
    let client = read_to_string(path("client.pem")).unwrap();
    assert!(client.contains("BEGIN PRIVATE KEY"));
    assert!(path("socket").exists());
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let summary: Value = serde_json::from_str(&rest).unwrap();
    assert_eq!(summary["chaos"]["good"]["count"], 0);
    assert!(!path("socket").exists());
}

#[test]
fn http_3_has_the_port_of_tls_over_udp() {
    let mut child = hecaton("cheats")
        .args(["serve", "--tls", "--http3", "--http3-retry"])
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut url = String::new();
    out.read_line(&mut url).unwrap();
    let address = url.trim().strip_prefix("https://").unwrap();
    let taken = std::net::UdpSocket::bind(address).unwrap_err();
    assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let summary: Value = serde_json::from_str(&rest).unwrap();
    assert_eq!(summary["http3_connections"], 0);
}

#[test]
fn http_3_needs_tls_1_3() {
    for options in [&["--http3"][..], &["--http3", "--tls", "--tls-1-2"]] {
        let refused = hecaton("cheats").arg("serve").args(options).output();
        assert_eq!(refused.unwrap().status.code(), Some(2), "{options:?}");
    }
}
