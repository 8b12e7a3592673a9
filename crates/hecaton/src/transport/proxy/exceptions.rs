//! Hosts that are connected to without a proxy: the list of `no_proxy`.

use std::net::IpAddr;

use crate::config::network::Network;
use crate::message::origin::is_within;
use crate::message::zone;

/// The parsed list. An unreadable entry counts as a name that matches no host.
#[derive(Debug, Default)]
pub(super) struct Exceptions(Vec<Exception>);

#[derive(Debug, PartialEq, Eq)]
enum Exception {
    /// `*`
    All,
    /// A name and all names under it, at any port or one.
    Name(String, Option<u16>),
    Address(IpAddr, Option<u16>),
    Network(Network),
}

impl Exceptions {
    /// Parses a list whose entries are separated by commas or spaces.
    pub fn parse(list: &str) -> Exceptions {
        let entries = list
            .split([',', ' ', '\t'])
            .filter(|entry| !entry.is_empty());
        Exceptions(entries.map(parse).collect())
    }

    /// Whether this host is in the list.
    pub fn include(&self, host: &str, port: u16) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let host = zone::without(host)
            .trim_end_matches('.')
            .to_ascii_lowercase();
        let address = host.parse().ok();
        self.0
            .iter()
            .any(|exception| exception.is(&host, address, port))
    }
}

impl Exception {
    fn is(&self, host: &str, address: Option<IpAddr>, port: u16) -> bool {
        let right = |own: &Option<u16>| own.is_none_or(|own| own == port);
        match self {
            Exception::All => true,
            Exception::Name(name, own) => address.is_none() && right(own) && is_within(host, name),
            Exception::Address(own, own_port) => address == Some(*own) && right(own_port),
            Exception::Network(network) => address.is_some_and(|one| network.contains(one)),
        }
    }
}

fn parse(entry: &str) -> Exception {
    if entry == "*" {
        return Exception::All;
    }
    if let Some(network) = Network::parse(entry) {
        return Exception::Network(network);
    }
    let (host, port) = with_port(entry);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse() {
        return Exception::Address(address, port);
    }
    let name = host.strip_prefix('*').unwrap_or(host);
    let name = name.trim_start_matches('.').trim_end_matches('.');
    Exception::Name(name.to_ascii_lowercase(), port)
}

/// Splits the port off an entry. An IPv6 address can have a port only after brackets.
fn with_port(entry: &str) -> (&str, Option<u16>) {
    let Some((host, port)) = entry.rsplit_once(':') else {
        return (entry, None);
    };
    match port.parse() {
        Ok(port) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (entry, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excepted(list: &str, host: &str, port: u16) -> bool {
        Exceptions::parse(list).include(host, port)
    }

    #[test]
    fn a_name_covers_itself_and_its_subdomains() {
        for list in [
            "example.org",
            ".example.org",
            "*.example.org",
            "a, EXAMPLE.org.",
            "x example.org",
        ] {
            assert!(excepted(list, "example.org", 80), "{list}");
            assert!(excepted(list, "a.b.Example.org.", 80), "{list}");
            assert!(!excepted(list, "anexample.org", 80), "{list}");
            assert!(!excepted(list, "example.org.evil", 80), "{list}");
        }
        assert!(!excepted("", "example.org", 80));
        assert!(!excepted(".", "example.org", 80));
    }

    #[test]
    fn a_port_narrows_it() {
        assert!(excepted("host:81", "host", 81) && !excepted("host:81", "host", 80));
        assert!(excepted("[::1]:81", "::1", 81) && !excepted("[::1]:81", "::1", 80));
        assert!(
            excepted("10.0.0.1:81", "10.0.0.1", 81) && !excepted("10.0.0.1:81", "10.0.0.1", 82)
        );
    }

    #[test]
    fn addresses_and_networks() {
        assert!(excepted("::1", "::1", 80) && excepted("[::1]", "::1", 80));
        assert!(excepted("0:0::1", "::1", 80), "however it is written");
        assert!(
            excepted("10.1.0.0/16", "10.1.2.3", 80) && !excepted("10.1.0.0/16", "10.2.0.0", 80)
        );
        assert!(excepted("fe80::/10", "febf::1", 80) && !excepted("fe80::/10", "fec0::1", 80));
        assert!(excepted("0.0.0.0/0", "10.2.0.0", 80) && !excepted("0.0.0.0/0", "::1", 80));
        assert!(!excepted("10.0.0.0/33", "10.0.0.0", 80));
        assert!(
            !excepted("0.0.1", "10.0.0.1", 80),
            "an address has no names under it"
        );
    }

    #[test]
    fn a_star_is_all() {
        assert!(excepted("*", "any.host", 1) && excepted("a,*", "::1", 1));
    }

    proptest::proptest! {
        #[test]
        fn no_list_panics(list in "[a-z0-9:.,/*\\[\\] -]{0,40}", host in "[a-z0-9:.]{0,20}", port: u16) {
            excepted(&list, &host, port);
        }

        #[test]
        fn a_network_is_its_first_and_its_last_address(address: u32, bits in 1..=32_u8) {
            let mask = u32::MAX << (32 - bits);
            let of = |bits: u32| std::net::Ipv4Addr::from_bits(bits).to_string();
            let list = format!("{}/{bits}", of(address));
            let (first, last) = (address & mask, address | !mask);
            proptest::prop_assert!(excepted(&list, &of(first), 80) && excepted(&list, &of(last), 80));
            for outside in [first.checked_sub(1), last.checked_add(1)].into_iter().flatten() {
                proptest::prop_assert!(!excepted(&list, &of(outside), 80));
            }
        }
    }
}
