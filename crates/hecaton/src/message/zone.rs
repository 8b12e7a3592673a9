//! Zones of IPv6 addresses: which of the machine's networks a link-local address is on (RFC 4007, RFC 6874).
//!
//! A URL has `[fe80::1%25eth0]`, an origin's host is `fe80::1%eth0`. The zone has a meaning only on this machine: it
//! decides the way of the connection, and is never sent.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// An IP address in a setting. One of IPv6 may have a zone, `fe80::1%eth0`, which link-local addresses need.
#[derive(Clone, PartialEq, Eq)]
pub struct ZonedAddress {
    pub(crate) ip: IpAddr,
    pub(crate) zone: Option<String>,
}

impl From<IpAddr> for ZonedAddress {
    fn from(ip: IpAddr) -> ZonedAddress {
        ZonedAddress { ip, zone: None }
    }
}

impl FromStr for ZonedAddress {
    type Err = ();

    fn from_str(text: &str) -> Result<ZonedAddress, ()> {
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(ip.into());
        }
        let host = read(text).ok_or(())?;
        let (address, zone) = split(&host).ok_or(())?;
        Ok(ZonedAddress {
            ip: address.into(),
            zone: Some(zone.to_owned()),
        })
    }
}

impl fmt::Display for ZonedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.zone {
            None => self.ip.fmt(f),
            Some(zone) => write!(f, "{}%{zone}", self.ip),
        }
    }
}

impl fmt::Debug for ZonedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The host of an origin, for what a URL has between the brackets; none if that is not an address with a zone. A `%`
/// that is not percent-encoded is taken too, as curl does.
pub(crate) fn read(host: &str) -> Option<String> {
    let (address, zone) = host.split_once('%')?;
    let address: Ipv6Addr = address.parse().ok()?;
    let zone = zone.strip_prefix("25").unwrap_or(zone);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    (!zone.is_empty() && zone.bytes().all(plain)).then(|| format!("{address}%{zone}"))
}

/// The host without its zone, as it is sent.
pub(crate) fn without(host: &str) -> &str {
    host.split('%').next().unwrap_or(host)
}

/// The address and the zone of a host that has one.
pub(crate) fn split(host: &str) -> Option<(Ipv6Addr, &str)> {
    let (address, zone) = host.split_once('%')?;
    Some((address.parse().ok()?, zone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_read_as_urls_and_as_people_write_it() {
        for (written, host) in [
            ("fe80::1%25Eth0", "fe80::1%Eth0"),
            ("FE80::1%lo", "fe80::1%lo"),
            ("::1%251", "::1%1"),
        ] {
            assert_eq!(read(written).as_deref(), Some(host));
        }
        for other in [
            "::1",
            "::1%",
            "::1%25",
            "host%25lo",
            "127.0.0.1%25lo",
            "::1%25a%20b",
            "::1%25a/b",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
        assert_eq!(without("fe80::1%lo"), "fe80::1");
        assert_eq!(split("::1%lo"), Some((Ipv6Addr::LOCALHOST, "lo")));
        assert_eq!(split("host"), None);
    }

    #[test]
    fn an_address_in_a_setting_may_have_a_zone() {
        for text in ["127.0.0.1", "::1", "fe80::1%lo", "fe80::1%1"] {
            let read: ZonedAddress = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
        }
        for other in ["", "host", "127.0.0.1%lo", "fe80::1%", "fe80::1%a b"] {
            assert!(other.parse::<ZonedAddress>().is_err(), "{other}");
        }
    }
}
