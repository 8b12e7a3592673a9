//! SOCKS 4, and 4a which adds names: request and response. Neither has an RFC; this follows curl and OpenSSH.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};

use super::socks::{Target, say};

const VERSION: u8 = 4;
const CONNECT: u8 = 1;
const GRANTED: u8 = 90;

/// Longest name to connect to, as long as one can be.
const MOST_NAME: usize = 255;

/// Makes `stream`, which is connected to the proxy, a connection to `target`, in the name of `user`, who may be empty.
pub(crate) async fn negotiate<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    user: &[u8],
    target: Target<'_>,
) -> Result<(), String> {
    check_response(say(stream, &request(user, &target)?).await?)
}

fn request(user: &[u8], target: &Target<'_>) -> Result<Vec<u8>, String> {
    let (port, address, name) = match target {
        Target::Address(SocketAddr::V4(address)) => (address.port(), address.ip().octets(), None),
        Target::Address(SocketAddr::V6(_)) => {
            return Err(
                "it is a SOCKS 4 proxy, which cannot connect to IPv6 addresses: use socks5".into(),
            );
        }
        Target::Name(name, _) if name.len() > MOST_NAME || name.contains('\0') => {
            return Err("the host's name is longer than 255 bytes, or no name".into());
        }
        // An invalid address announces a name.
        Target::Name(name, port) => (*port, [0, 0, 0, 1], Some(name)),
    };
    let mut bytes = vec![VERSION, CONNECT];
    bytes.extend_from_slice(&port.to_be_bytes());
    bytes.extend_from_slice(&address);
    bytes.extend_from_slice(user);
    bytes.push(0);
    if let Some(name) = name {
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
    }
    Ok(bytes)
}

fn check_response([version, response, ..]: [u8; 8]) -> Result<(), String> {
    if version != 0 {
        return Err("its response is not SOCKS 4".into());
    }
    Err(match response {
        GRANTED => return Ok(()),
        91 => "it says: rejected or failed".into(),
        92 | 93 => "it says: rejected, because it could not confirm the user".into(),
        _ => format!("it says: error {response}"),
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::Reactor;

    /// The result for this response, and the bytes that the client sent.
    fn outcome(user: &[u8], target: Target<'_>, response: &[u8]) -> (Result<(), String>, Vec<u8>) {
        Reactor::new().unwrap().block_on(async {
            let (mut client, mut proxy) = tokio::io::duplex(4096);
            proxy.write_all(response).await.unwrap();
            proxy.shutdown().await.unwrap();
            let result = negotiate(&mut client, user, target).await;
            drop(client);
            let mut said = Vec::new();
            proxy.read_to_end(&mut said).await.unwrap();
            (result, said)
        })
    }

    const YES: [u8; 8] = [0, 90, 0, 0, 0, 0, 0, 0];

    #[test]
    fn the_request_has_an_address_or_a_name() {
        let address = Target::Address("127.0.0.1:258".parse().unwrap());
        let (result, said) = outcome(b"", address, &YES);
        assert_eq!(
            (result, &said[..]),
            (Ok(()), &b"\x04\x01\x01\x02\x7f\x00\x00\x01\x00"[..])
        );
        let (result, said) = outcome(b"me", Target::Name("host", 258), &YES);
        let expected = b"\x04\x01\x01\x02\x00\x00\x00\x01me\x00host\x00";
        assert_eq!((result, &said[..]), (Ok(()), &expected[..]));
    }

    #[test]
    fn each_refusal_has_its_words() {
        for (response, word) in [
            (&[0, 91, 0, 0, 0, 0, 0, 0][..], "rejected"),
            (&[0, 93, 0, 0, 0, 0, 0, 0], "confirm the user"),
            (&[0, 7, 0, 0, 0, 0, 0, 0], "error 7"),
            (&[5, 0, 0, 0, 0, 0, 0, 0], "not SOCKS 4"),
            (&[0, 90], "closed"),
        ] {
            let why = outcome(b"", Target::Name("host", 80), response)
                .0
                .unwrap_err();
            assert!(why.contains(word), "no {word:?} in: {why}");
        }
        let long = "x".repeat(256);
        for target in [
            Target::Address("[::1]:80".parse().unwrap()),
            Target::Name(&long, 80),
            Target::Name("a\0b", 80),
        ] {
            let (result, said) = outcome(b"", target, &YES);
            assert!(result.is_err() && said.is_empty());
        }
    }

    proptest::proptest! {
        #[test]
        fn only_what_is_granted_is_taken(response: [u8; 8]) {
            proptest::prop_assert_eq!(check_response(response).is_ok(), response[..2] == [0, 90]);
        }
    }
}
