//! The host of a URL by its canonical name, and whether it is the user's own.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{ParseError, Url};

mod fast;
mod last;
mod names;
mod site;

pub use fast::plain_host;
pub use last::LastHost;
pub use names::HostNames;
pub use site::{is_same_site, site};

/// A host as the limits see it: an address, or a name in lower case and punycode without a last dot. The port follows
/// unless it is the default one of the scheme.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Host<'a>(Cow<'a, str>);

/// A URL that names no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoHost(String);

/// The owner of a host, as far as its name shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This machine.
    Loopback,
    /// A network of one's own: a private address, or a name that is none on the internet.
    Private,
    /// Someone else's, for all that is known.
    Foreign,
}

/// Addresses at which clouds give secrets to any request from inside: nobody's own host.
pub const METADATA: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

impl<'a> Host<'a> {
    /// The host that this URL names.
    pub fn of(url: &'a str) -> Result<Host<'a>, NoHost> {
        if let Some(host) = plain_host(url) {
            return Ok(Host(Cow::Borrowed(host)));
        }
        slow(url).map(|host| Host(Cow::Owned(host)))
    }

    /// `name`, `name:port`, `[address]` or `[address]:port`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Without the port, and an IPv6 address without brackets.
    pub fn name(&self) -> &str {
        match self.0.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or(rest),
            None => self.0.split(':').next().unwrap_or(&self.0),
        }
    }

    /// The text, as a String of its own.
    pub fn into_owned(self) -> String {
        self.0.into_owned()
    }

    /// The owner, by the name alone.
    pub fn whose(&self) -> Whose {
        let name = self.name();
        match name.parse() {
            Ok(address) => Whose::address(address),
            Err(_) => Whose::name(name),
        }
    }
}

impl fmt::Display for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Whose {
    /// The owner of an address.
    pub fn address(address: IpAddr) -> Whose {
        match address.to_canonical() {
            address if METADATA.contains(&address) => Whose::Foreign,
            four if four.is_loopback() || four.is_unspecified() => Whose::Loopback,
            IpAddr::V4(four) if four.is_private() || four.is_link_local() || is_shared(four) => {
                Whose::Private
            }
            IpAddr::V6(six) if six.is_unique_local() || six.is_unicast_link_local() => {
                Whose::Private
            }
            _ => Whose::Foreign,
        }
    }

    /// The owner of a name with these addresses: the one that needs most care.
    pub fn addresses(addresses: impl IntoIterator<Item = IpAddr>) -> Whose {
        let whose: Vec<Whose> = addresses.into_iter().map(Whose::address).collect();
        let is = |one: Whose| !whose.is_empty() && whose.iter().all(|it| *it == one);
        match (
            is(Whose::Loopback),
            whose.is_empty() || whose.contains(&Whose::Foreign),
        ) {
            (true, _) => Whose::Loopback,
            (false, true) => Whose::Foreign,
            (false, false) => Whose::Private,
        }
    }

    fn name(name: &str) -> Whose {
        // RFC 6761 (localhost, test), RFC 6762 (local), RFC 8375 (home.arpa), ICANN's resolution of 2024 (internal).
        let under = |zone: &str| {
            let rest = name.strip_suffix(zone);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if under("localhost") {
            return Whose::Loopback;
        }
        let own = ["test", "local", "internal", "home.arpa"];
        match own.into_iter().any(under) || !name.contains('.') {
            true => Whose::Private,
            false => Whose::Foreign,
        }
    }
}

/// Shared among the customers of a provider (RFC 6598).
fn is_shared(address: Ipv4Addr) -> bool {
    matches!(address.octets(), [100, 64..=127, ..])
}

/// By the parser that browsers' URLs are read with: IDNA, and addresses in all their forms.
fn slow(text: &str) -> Result<String, NoHost> {
    let bare = || NoHost("not a URL: it does not begin with https:// or http://".into());
    let url = Url::parse(text).map_err(|error| match error {
        ParseError::RelativeUrlWithoutBase => bare(),
        error => NoHost(format!("not a URL: {error}")),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        // `localhost:3000` is a host with a port to whoever writes it.
        if !url.has_host() {
            return Err(bare());
        }
        let scheme = url.scheme();
        return Err(NoHost(format!(
            "has the scheme {scheme:?}: use http or https"
        )));
    }
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.is_empty() {
        return Err(NoHost("names no host".to_owned()));
    }
    if host.split('.').any(str::is_empty) {
        return Err(NoHost(format!(
            "names the host {host:?}, in which a part is empty"
        )));
    }
    Ok(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

#[cfg(test)]
mod tests;
