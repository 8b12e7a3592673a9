//! Which addresses may be connected to: pure decisions about a known address.
//!
//! The decision is about the addresses that a name was resolved to, right before connecting to exactly those. So a name
//! that changes its address between two lookups (rebinding) gains nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::network::Network;
use crate::message::failure::InvalidRequest;

/// Which addresses a client connects to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AllowAddress {
    /// All.
    #[default]
    Any,
    /// Addresses of the public internet. Excluded are private, loopback, link-local, shared (100.64.0.0/10), multicast,
    /// reserved and unspecified addresses. Also excluded are the addresses at which clouds serve secrets
    /// (169.254.169.254, 168.63.129.16 and others), and IPv6 addresses that stand for an IPv4 address (mapped, NAT64,
    /// 6to4, Teredo).
    Public,
    /// The addresses of some networks.
    Networks(Networks),
}

/// Networks to connect to, or not to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    /// The networks to connect to; none for all.
    allow: Option<Vec<Entry>>,
    /// Checked before `allow`.
    deny: Vec<Entry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Public,
    Of(Network),
}

impl Networks {
    /// `allow` lists the networks to connect to; without it, all are allowed. `deny` lists the exceptions. An entry is
    /// a network (`10.0.0.0/8`), an address, or `public`.
    pub fn new(allow: Option<&[&str]>, deny: &[&str]) -> Result<Networks, InvalidRequest> {
        let parse = |list: &[&str]| list.iter().map(|text| entry(text)).collect();
        Ok(Networks {
            allow: allow.map(parse).transpose()?,
            deny: parse(deny)?,
        })
    }
}

fn entry(text: &str) -> Result<Entry, InvalidRequest> {
    if text == "public" {
        return Ok(Entry::Public);
    }
    let network = Network::parse(text).or_else(|| text.parse().ok().map(Network::of));
    network.map(Entry::Of).ok_or_else(|| {
        InvalidRequest(format!(
            "allow_address: {text:?} is not a network (10.0.0.0/8), an address or \"public\""
        ))
    })
}

impl AllowAddress {
    /// Whether this address may be connected to.
    pub(crate) fn allows(&self, address: IpAddr) -> bool {
        match self {
            AllowAddress::Any => true,
            AllowAddress::Public => is_public(address),
            AllowAddress::Networks(networks) => networks.allow_this(address),
        }
    }
}

impl Networks {
    fn allow_this(&self, address: IpAddr) -> bool {
        // The kernel connects a mapped address by IPv4.
        let real = address.to_canonical();
        let denied = [Some(address), Some(real), inner(address), loopback(real)];
        let denied = denied.into_iter().flatten();
        let is = |entry: &Entry, address: IpAddr| match entry {
            Entry::Public => is_public(address),
            Entry::Of(network) => network.contains(address),
        };
        if denied
            .into_iter()
            .any(|face| self.deny.iter().any(|entry| is(entry, face)))
        {
            return false;
        }
        let allow = self.allow.as_ref();
        allow.is_none_or(|list| list.iter().any(|entry| is(entry, real)))
    }
}

/// The address that Linux connects to when the destination is unspecified.
fn loopback(address: IpAddr) -> Option<IpAddr> {
    address.is_unspecified().then_some(match address {
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    })
}

/// The IPv4 address that a router or a tunnel derives from an IPv6 address.
fn inner(address: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(six) = address else {
        return None;
    };
    let bytes = six.octets();
    let four = |at: usize| Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
    match six.segments() {
        // NAT64 (RFC 6052), mapped and compatible (RFC 4291 §2.5.5).
        [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0, 0 | 0xffff, ..] => Some(four(12).into()),
        // 6to4 (RFC 3056).
        [0x2002, ..] => Some(four(2).into()),
        _ => None,
    }
}

/// Whether an address is public, by the registries of special-purpose addresses (RFC 6890, and IANA's lists since).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => is_public_four(four),
        IpAddr::V6(six) => is_public_six(six),
    }
}

fn is_public_four(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        // This network, private, loopback, link-local.
        [0 | 10 | 127, ..] | [172, 16..=31, ..] | [192, 168, ..] | [169, 254, ..] => true,
        // Shared among the customers of a provider (RFC 6598).
        [100, 64..=127, ..] => true,
        // For protocols, documentation, benchmarks, and the relays of 6to4.
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] => true,
        [198, 51, 100, _] | [203, 0, 113, _] => true,
        // The wire server of a large cloud, which looks public and is not.
        [168, 63, 129, 16] => true,
        // Multicast, reserved, broadcast.
        [224..=255, ..] => true,
        _ => false,
    };
    !special
}

fn is_public_six(address: Ipv6Addr) -> bool {
    match address.segments() {
        // For protocols (Teredo among them), documentation, and 6to4.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x2002, ..] => false,
        [0x3fff, 0..=0xfff, ..] => false,
        // Global unicast. All that is local, mapped, NAT64 or multicast is outside of it.
        [first, ..] => first >> 13 == 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn public_is_what_the_internet_routes() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.167.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "169.253.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "168.63.129.15",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "2001:200::1",
            "2a00::1",
            "3ffe::1",
        ] {
            assert!(AllowAddress::Public.allows(address(text)), "{text}");
        }
    }

    #[test]
    fn local_addresses_and_their_ipv6_forms_are_not_public() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "127.0.0.1",
            "127.255.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.100.100.200",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.19.1.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            // Linux connects to loopback for these.
            "0.0.0.0",
            "::",
            "::ffff:0.0.0.0",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!AllowAddress::Public.allows(address(text)), "{text}");
            assert!(AllowAddress::Any.allows(address(text)), "{text}");
        }
    }

    #[test]
    fn networks_allow_and_deny_and_denying_wins() {
        let near = Networks::new(Some(&["10.0.0.0/8", "::1"]), &["10.1.0.0/16", "10.2.3.4"]);
        let near = AllowAddress::Networks(near.unwrap());
        for (text, allowed) in [
            ("10.0.0.1", true),
            ("::ffff:10.0.0.1", true),
            ("::1", true),
            ("10.1.2.3", false),
            ("::ffff:10.1.2.3", false),
            ("10.2.3.4", false),
            ("11.0.0.1", false),
            ("::2", false),
        ] {
            assert_eq!(near.allows(address(text)), allowed, "{text}");
        }
        let most = Networks::new(None, &["127.0.0.0/8", "::1/128"]).unwrap();
        let most = AllowAddress::Networks(most);
        for text in [
            "127.0.0.1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "::1",
        ] {
            assert!(!most.allows(address(text)), "{text}");
        }
        assert!(most.allows(address("10.0.0.1")) && most.allows(address("64:ff9b::808:808")));
        let mixed = Networks::new(Some(&["public", "10.0.0.0/8"]), &[]).unwrap();
        let mixed = AllowAddress::Networks(mixed);
        assert!(mixed.allows(address("8.8.8.8")) && mixed.allows(address("10.0.0.1")));
        assert!(!mixed.allows(address("127.0.0.1")) && !mixed.allows(address("::ffff:127.0.0.1")));
        let none = AllowAddress::Networks(Networks::new(Some(&[]), &[]).unwrap());
        assert!(
            !none.allows(address("8.8.8.8")),
            "an empty list allows none"
        );
    }

    #[test]
    fn an_invalid_network_is_refused() {
        for text in [
            "",
            "10.0.0.0/33",
            "::/129",
            "host",
            "10.0.0.0/",
            "/8",
            "10.0.0/8",
            "private",
        ] {
            let error = Networks::new(Some(&[text]), &[]).unwrap_err().to_string();
            assert!(error.starts_with("allow_address: "), "{error}");
            assert!(Networks::new(None, &[text]).is_err());
        }
    }

    proptest::proptest! {
        #[test]
        fn an_address_is_as_public_mapped_as_it_is_not(bits: u32) {
            let four = Ipv4Addr::from_bits(bits);
            proptest::prop_assert!(!is_public(four.to_ipv6_mapped().into()));
            let exactly = Networks::new(Some(&[&four.to_string()]), &[]).unwrap();
            proptest::prop_assert!(exactly.allow_this(four.to_ipv6_mapped().into()));
            let never = Networks::new(None, &[&four.to_string()]).unwrap();
            proptest::prop_assert!(!never.allow_this(four.to_ipv6_mapped().into()));
        }
    }
}
