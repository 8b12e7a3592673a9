//! A network of addresses, in CIDR (RFC 4632), and what is in it.

use std::fmt;
use std::net::IpAddr;

/// The addresses that begin with the same bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    first: IpAddr,
    bits: u8,
}

impl Network {
    /// Reads a network such as `10.0.0.0/8`; none for any other text, even a single address.
    pub fn parse(text: &str) -> Option<Network> {
        let (first, bits) = text.split_once('/')?;
        let first: IpAddr = first.parse().ok()?;
        let bits = bits.parse().ok()?;
        (bits <= width(first)).then_some(Network { first, bits })
    }

    /// The network of one address.
    pub fn of(address: IpAddr) -> Network {
        Network {
            first: address,
            bits: width(address),
        }
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        match (address, self.first) {
            (IpAddr::V4(a), IpAddr::V4(n)) => {
                same_start(a.to_bits().into(), n.to_bits().into(), 32, self.bits)
            }
            (IpAddr::V6(a), IpAddr::V6(n)) => same_start(a.to_bits(), n.to_bits(), 128, self.bits),
            _ => false,
        }
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn same_start(one: u128, other: u128, width: u8, bits: u8) -> bool {
    bits == 0 || (one ^ other) >> (width - bits) == 0
}
