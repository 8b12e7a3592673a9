//! SOCKS 5 (RFC 1928), with user and password (RFC 1929): requests and responses.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const CONNECT: u8 = 1;

/// Where the proxy shall connect to.
#[derive(Clone, Debug)]
pub(crate) enum Target<'a> {
    Address(SocketAddr),
    /// A name and a port; the proxy resolves the name.
    Name(&'a str, u16),
}

/// User and password, if there are any.
type Credentials = Option<(Vec<u8>, Vec<u8>)>;

/// The credentials, borrowed for tests.
type Shown<'a> = Option<(&'a [u8], &'a [u8])>;

/// Makes `stream`, which is connected to the proxy, a connection to `target`.
pub(crate) async fn negotiate<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    credentials: &Credentials,
    target: Target<'_>,
) -> Result<(), String> {
    let connect = connect(&target)?;
    let chosen: [u8; 2] = say(stream, &greeting(credentials)).await?;
    if let Some((user, password)) = requires_credentials(chosen, credentials)? {
        let response: [u8; 2] = say(stream, &authentication(user, password)).await?;
        if response[1] != 0 {
            return Err("it does not accept the user and password of its URL".into());
        }
    }
    let start: [u8; 5] = say(stream, &connect).await?;
    // The address that the proxy connected from, which is not needed.
    let mut rest = [0; 257];
    let rest = &mut rest[..rest_of_reply(start)?];
    stream.read_exact(rest).await.map_err(ended)?;
    Ok(())
}

/// Writes the request, and reads the response of this length.
pub(super) async fn say<const N: usize, S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    bytes: &[u8],
) -> Result<[u8; N], String> {
    let mut response = [0; N];
    stream.write_all(bytes).await.map_err(ended)?;
    stream.read_exact(&mut response).await.map_err(ended)?;
    Ok(response)
}

fn ended(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it closed the connection without a response".into(),
        _ => error.to_string(),
    }
}

/// The ways to authenticate that are offered (RFC 1928 §3).
fn greeting(credentials: &Credentials) -> Vec<u8> {
    match credentials {
        Some(_) => vec![VERSION, 2, NO_AUTHENTICATION, USER_AND_PASSWORD],
        None => vec![VERSION, 1, NO_AUTHENTICATION],
    }
}

/// The credentials if the proxy requires them.
fn requires_credentials(chosen: [u8; 2], credentials: &Credentials) -> Result<Shown<'_>, String> {
    match (chosen, credentials) {
        ([VERSION, NO_AUTHENTICATION], _) => Ok(None),
        ([VERSION, USER_AND_PASSWORD], Some((user, password))) => Ok(Some((user, password))),
        ([VERSION, 0xff], None) => {
            Err("it demands a user and a password, which its URL may have".into())
        }
        ([VERSION, 0xff], Some(_)) => Err("it accepts neither user and password nor none".into()),
        ([VERSION, _], _) => Err("it chose a way to authenticate that was not offered".into()),
        _ => Err("its response is not SOCKS 5".into()),
    }
}

/// RFC 1929 §2. Each part has 1 to 255 bytes: the URL was checked.
fn authentication(user: &[u8], password: &[u8]) -> Vec<u8> {
    let mut bytes = vec![1];
    for part in [user, password] {
        bytes.push(part.len() as u8);
        bytes.extend_from_slice(part);
    }
    bytes
}

/// RFC 1928 §4.
fn connect(target: &Target<'_>) -> Result<Vec<u8>, String> {
    let mut bytes = vec![VERSION, CONNECT, 0];
    let port = match target {
        Target::Address(SocketAddr::V4(address)) => {
            bytes.push(1);
            bytes.extend_from_slice(&address.ip().octets());
            address.port()
        }
        Target::Address(SocketAddr::V6(address)) => {
            bytes.push(4);
            bytes.extend_from_slice(&address.ip().octets());
            address.port()
        }
        Target::Name(name, port) => {
            let length = u8::try_from(name.len());
            let length = length.map_err(|_| "the host's name is longer than its 255 bytes")?;
            bytes.extend_from_slice(&[3, length]);
            bytes.extend_from_slice(name.as_bytes());
            *port
        }
    };
    bytes.extend_from_slice(&port.to_be_bytes());
    Ok(bytes)
}

/// How much of a reply follows its first five bytes (RFC 1928 §6), or why there is no connection.
fn rest_of_reply([version, reply, _, kind, first]: [u8; 5]) -> Result<usize, String> {
    if version != VERSION {
        return Err("its response is not SOCKS 5".into());
    }
    if reply != 0 {
        return Err(format!("it says: {}", meaning(reply)));
    }
    match kind {
        1 => Ok(3 + 2),
        4 => Ok(15 + 2),
        3 => Ok(usize::from(first) + 2),
        _ => Err("its response names an address of an unknown kind".into()),
    }
}

fn meaning(reply: u8) -> String {
    let known = match reply {
        1 => "general failure",
        2 => "not allowed by its rules",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "time to live expired",
        7 => "command not supported",
        8 => "address type not supported",
        _ => return format!("error {reply}"),
    };
    known.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reactor;

    fn known() -> Credentials {
        Some((b"user".to_vec(), b"pass".to_vec()))
    }

    /// The result for these responses, and the bytes that the client sent.
    fn outcome(
        credentials: &Credentials,
        target: Target<'_>,
        responses: &[u8],
    ) -> (Result<(), String>, Vec<u8>) {
        Reactor::new().unwrap().block_on(async {
            let (mut client, mut proxy) = tokio::io::duplex(4096);
            proxy.write_all(responses).await.unwrap();
            proxy.shutdown().await.unwrap();
            let result = negotiate(&mut client, credentials, target).await;
            drop(client);
            let mut said = Vec::new();
            proxy.read_to_end(&mut said).await.unwrap();
            (result, said)
        })
    }

    #[test]
    fn a_name_is_left_to_the_proxy() {
        let responses = [5, 0, 5, 0, 0, 1, 127, 0, 0, 1, 0, 80];
        let (result, said) = outcome(&None, Target::Name("host", 258), &responses);
        assert_eq!(result, Ok(()));
        assert_eq!(said, b"\x05\x01\x00\x05\x01\x00\x03\x04host\x01\x02");
    }

    #[test]
    fn user_and_password_are_sent_when_the_proxy_demands_them() {
        let address = Target::Address("127.0.0.1:80".parse().unwrap());
        let responses = [5, 2, 1, 0, 5, 0, 0, 3, 1, b'x', 0, 80];
        let (result, said) = outcome(&known(), address.clone(), &responses);
        assert_eq!(result, Ok(()));
        assert_eq!(
            said,
            b"\x05\x02\x00\x02\x01\x04user\x04pass\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"
        );
        let (result, said) = outcome(&known(), address, &[5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(result, Ok(()));
        assert!(
            !said.windows(4).any(|part| part == b"pass"),
            "not demanded, not sent"
        );
    }

    #[test]
    fn each_refusal_has_its_words() {
        for (responses, word) in [
            (&[5, 0xff][..], "demands a user"),
            (&[5, 2], "not offered"),
            (&[4, 0], "not SOCKS"),
            (&[5, 0, 5, 5, 0, 1, 0], "connection refused"),
            (&[5, 0, 5, 2, 0, 1, 0], "not allowed"),
            (&[5, 0, 5, 99, 0, 1, 0], "error 99"),
            (&[5, 0, 5, 0, 0, 9, 0], "unknown kind"),
            (&[5, 0, 5, 0, 0, 1, 0], "closed"),
            (&[], "closed"),
        ] {
            let (result, _) = outcome(&None, Target::Name("host", 80), responses);
            let why = result.unwrap_err();
            assert!(why.contains(word), "no {word:?} in: {why}");
        }
        let (result, _) = outcome(&known(), Target::Name("host", 80), &[5, 2, 1, 1]);
        assert!(result.unwrap_err().contains("does not accept"));
        let long = "x".repeat(256);
        let (result, said) = outcome(&None, Target::Name(&long, 80), &[]);
        assert!(result.is_err() && said.is_empty());
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(128))]

        #[test]
        fn no_response_panics(responses in proptest::collection::vec(0..10_u8, 0..300)) {
            let _ = outcome(&known(), Target::Name("host", 80), &responses);
        }

        #[test]
        fn a_reply_is_never_longer_than_it_can_be(start: [u8; 5]) {
            if let Ok(rest) = rest_of_reply(start) {
                proptest::prop_assert!(rest <= 257);
            }
        }
    }
}
