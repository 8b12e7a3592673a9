//! Several addresses, one connection: Happy Eyeballs (RFC 8305).
//!
//! A name's addresses take turns by family and start 250 ms apart, or at once when one failed. The first
//! that accepts wins.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep_until};

/// How long one address is tried alone before the next is tried beside it (RFC 8305 §5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Why no address was connected to.
pub(super) type Refusals = Vec<(SocketAddr, io::Error)>;

/// The first connection that succeeds; the others are given up. An address is tried when the one before it failed, or
/// had its head start.
pub(super) async fn first<T, F: Future<Output = io::Result<T>>>(
    addresses: &[SocketAddr],
    open: impl Fn(SocketAddr) -> F,
) -> Result<T, Refusals> {
    match *addresses {
        [only] => open(only).await.map_err(|error| vec![(only, error)]),
        _ => Box::pin(first_of_several(addresses, open)).await,
    }
}

async fn first_of_several<T, F: Future<Output = io::Result<T>>>(
    addresses: &[SocketAddr],
    open: impl Fn(SocketAddr) -> F,
) -> Result<T, Refusals> {
    let mut waiting = VecDeque::from(in_turn(addresses));
    let mut going = FuturesUnordered::new();
    let mut refusals = Vec::new();
    loop {
        if let Some(address) = waiting.pop_front() {
            let opening = open(address);
            going.push(async move { (address, opening.await) });
        }
        let next = Instant::now() + HEAD_START;
        tokio::select! {
            Some((address, result)) = going.next() => match result {
                Ok(connection) => return Ok(connection),
                Err(error) => refusals.push((address, error)),
            },
            () = sleep_until(next), if !waiting.is_empty() => {}
            else => return Err(refusals),
        }
    }
}

/// The order in which to try the addresses (RFC 8305 §4). The families take turns, and the first address's family
/// begins. Each family keeps the resolver's order.
fn in_turn(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let Some(first) = addresses.first() else {
        return Vec::new();
    };
    let (mut own, mut other): (VecDeque<SocketAddr>, VecDeque<_>) = addresses
        .iter()
        .copied()
        .partition(|address| address.is_ipv4() == first.is_ipv4());
    let mut turns = Vec::with_capacity(addresses.len());
    while !(own.is_empty() && other.is_empty()) {
        turns.extend(own.pop_front());
        turns.extend(other.pop_front());
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        let parse = |text: &&str| format!("{text}:80").parse().unwrap();
        texts.iter().map(parse).collect()
    }

    #[test]
    fn families_take_turns() {
        let mixed = addresses(&["[::1]", "[::2]", "[::3]", "10.0.0.1", "10.0.0.2"]);
        let turns = addresses(&["[::1]", "10.0.0.1", "[::2]", "10.0.0.2", "[::3]"]);
        assert_eq!(in_turn(&mixed), turns);
        let one = addresses(&["10.0.0.2", "10.0.0.1"]);
        assert_eq!(in_turn(&one), one, "the resolver's order stays");
        assert_eq!(in_turn(&[]), []);
    }

    proptest::proptest! {
        #[test]
        fn none_is_lost_and_none_is_tried_twice(fours in 0..9_u8, sixes in 0..9_u8, six_first: bool) {
            let four = (0..fours).map(|n| SocketAddr::from(([10, 0, 0, n], 80)));
            let six = (0..sixes).map(|n| SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, u16::from(n)], 80)));
            let mut all: Vec<_> = if six_first { six.chain(four).collect() } else { four.chain(six).collect() };
            let mut turns = in_turn(&all);
            turns.sort();
            all.sort();
            proptest::prop_assert_eq!(turns, all);
        }
    }
}
