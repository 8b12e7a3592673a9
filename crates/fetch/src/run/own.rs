//! Which hosts the user wrote as their own, and the client for each: a host of the list opens one's own network to no
//! other host.
//!
//! A host is one's own by its name, because `--resolve` names it, or because the job says that the hosts of its list
//! are. The last is a statement about the list, so it goes with a redirect within the site of an input and no further.

use std::collections::HashSet;

use hecaton::{AllowAddress, Client, Networks};
use url::Url;

use crate::error::{Error, Result};
use crate::host::{Host, METADATA, Whose, is_same_site};
use crate::job::{Job, Network};

/// The host of `--resolve` that stands for all.
const ANY: &str = "*";

/// A URL that leads to another.
#[derive(Clone, Copy, Debug)]
pub struct Referrer<'a> {
    /// The URL.
    pub url: &'a str,
    /// Whether its host is one's own.
    pub is_own: bool,
}

/// Which hosts are the user's own: local ones, those that the job names, and those of the same site that they lead to.
#[derive(Clone, Debug, Default)]
pub struct OwnHosts {
    /// Whether all hosts of the list are.
    all: bool,
    /// Those whose addresses the job has, with their ports.
    resolved: HashSet<(String, u16)>,
}

impl OwnHosts {
    /// Those of a job.
    pub fn of(job: &Job) -> OwnHosts {
        let resolved = job.network.resolve.iter().filter_map(|entry| {
            let (host, port) = resolved(entry)?.0.split_once(':')?;
            Some((host.to_ascii_lowercase(), port.parse().ok()?))
        });
        OwnHosts {
            all: job.pace.own_hosts,
            resolved: resolved.collect(),
        }
    }

    /// Whether the host of an input's URL is one's own. `foreign`: its name does not show that.
    pub fn wrote(&self, url: &str, foreign: bool) -> bool {
        self.all || self.is_named(url, foreign)
    }

    /// Whether the host of a URL is one's own to which a request leads from another URL, whose host may be one's own.
    pub fn leads(&self, from: Referrer<'_>, there: &str, foreign: bool) -> bool {
        self.is_named(there, foreign) || from.is_own && is_same_site(from.url, there)
    }

    fn is_named(&self, url: &str, foreign: bool) -> bool {
        !foreign || !self.resolved.is_empty() && self.is_resolved(url)
    }

    fn is_resolved(&self, url: &str) -> bool {
        let Ok(url) = Url::parse(url) else {
            return false;
        };
        let host_port = url.host_str().zip(url.port_or_known_default());
        host_port.is_some_and(|(host, port)| {
            let names = [host, ANY].map(|host| (host.to_owned(), port));
            names.iter().any(|name| self.resolved.contains(name))
        })
    }
}

/// The clients of a job, with equal settings but for the addresses that they may connect to.
pub struct Clients {
    of_others: Client,
    /// None if it would be no other.
    own: Option<Client>,
    hosts: OwnHosts,
}

impl Clients {
    /// Those of a job. `client` has all settings but the addresses.
    ///
    /// # Errors
    /// When an address of the job is none.
    pub fn new(job: &Job, client: &Client, has_own_hosts: bool) -> Result<Clients> {
        let hosts = OwnHosts::of(job);
        let of_others = allowing(client, of_others(&job.network)?)?;
        let own = differ(job, has_own_hosts).then(|| allowing(client, of_own(&job.network)?));
        Ok(Clients {
            of_others,
            own: own.transpose()?,
            hosts,
        })
    }

    /// How many of them a job has.
    pub fn count(job: &Job, has_own_hosts: bool) -> usize {
        1 + usize::from(differ(job, has_own_hosts))
    }

    /// That of one's own hosts, or of others.
    pub fn of(&self, is_own: bool) -> &Client {
        self.own
            .as_ref()
            .filter(|_| is_own)
            .unwrap_or(&self.of_others)
    }

    /// All of them, that of others first.
    pub fn all(&self) -> impl Iterator<Item = &Client> {
        [&self.of_others].into_iter().chain(&self.own)
    }

    /// Whether the host of a URL that the user wrote is their own.
    pub fn wrote(&self, url: &str) -> bool {
        self.hosts.wrote(url, is_foreign(url))
    }

    /// See [`OwnHosts::leads`].
    pub fn leads(&self, from: Referrer<'_>, there: &str) -> bool {
        self.hosts.leads(from, there, is_foreign(there))
    }
}

/// Whether the client of one's own hosts may connect to other addresses than that of others.
fn differ(job: &Job, has_own_hosts: bool) -> bool {
    let network = &job.network;
    let of_the_list = network.allow_address.is_empty() && (has_own_hosts || job.pace.own_hosts);
    of_the_list || !network.resolve.is_empty()
}

fn is_foreign(url: &str) -> bool {
    Host::of(url).map_or(true, |host| host.whose() == Whose::Foreign)
}

fn allowing(client: &Client, allowed: AllowAddress) -> Result<Client> {
    let made = client.separate_with(|config| config.allow_address = allowed);
    made.map_err(Error::usage)
}

/// The addresses for hosts of others. A name that someone else owns may stand for any address.
fn of_others(network: &Network) -> Result<AllowAddress> {
    let named: Vec<&str> = network.allow_address.iter().map(String::as_str).collect();
    match &named[..] {
        [] => Ok(AllowAddress::Public),
        named if named.contains(&"any") => Ok(AllowAddress::Any),
        named => networks(Some(named), &[]),
    }
}

/// The addresses for one's own hosts. No host is one's own that stands for an address at which clouds give out secrets.
fn of_own(network: &Network) -> Result<AllowAddress> {
    let resolved: Vec<&str> = network
        .resolve
        .iter()
        .filter_map(|entry| Some(resolved(entry)?.1))
        .collect();
    let named = network.allow_address.iter().map(String::as_str);
    let named: Vec<&str> = named.chain(resolved.iter().copied()).collect();
    if named.contains(&"any") {
        return Ok(AllowAddress::Any);
    }
    if !network.allow_address.is_empty() {
        return networks(Some(&named), &[]);
    }
    let secret = METADATA.map(|address| address.to_string());
    let secret: Vec<&str> = secret.iter().map(String::as_str).collect();
    let secret: Vec<&str> = secret
        .into_iter()
        .filter(|it| !resolved.contains(it))
        .collect();
    networks(None, &secret)
}

/// `host:port` and the address of an entry `host:port:address`. The address may have colons of its own.
pub(super) fn resolved(entry: &str) -> Option<(&str, &str)> {
    let (colon, _) = entry.match_indices(':').nth(1)?;
    Some((&entry[..colon], entry[colon + 1..].trim_matches(['[', ']'])))
}

fn networks(allow: Option<&[&str]>, deny: &[&str]) -> Result<AllowAddress> {
    let networks = Networks::new(allow, deny);
    networks.map(AllowAddress::Networks).map_err(Error::usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(change: impl FnOnce(&mut Job)) -> OwnHosts {
        let mut job = Job::default();
        change(&mut job);
        OwnHosts::of(&job)
    }

    #[test]
    fn a_host_is_ones_own_by_its_name_or_by_what_the_job_says_of_it() {
        let wrote = |hosts: &OwnHosts, url: &str| hosts.wrote(url, is_foreign(url));
        let usual = hosts(|_| {});
        for (url, is_own) in [
            ("http://localhost:80/", true),
            ("http://10.1.2.3/", true),
            ("http://printer.local/", true),
            ("http://shop.example/", false),
            ("http://169.254.169.254/", false),
        ] {
            assert_eq!(wrote(&usual, url), is_own, "{url}");
        }
        let resolved = hosts(|job| {
            job.network.resolve = vec!["Shop.example:443:10.0.0.1".into()];
        });
        assert!(wrote(&resolved, "https://shop.example/x"));
        assert!(!wrote(&resolved, "http://shop.example/x"));
        assert!(!wrote(&resolved, "https://other.example/x"));
        let all = hosts(|job| job.pace.own_hosts = true);
        assert!(wrote(&all, "http://shop.example/"));
    }

    #[test]
    fn a_redirect_keeps_what_the_list_says_within_its_site() {
        let all = hosts(|job| job.pace.own_hosts = true);
        let leads = |url: &str, is_own, there: &str| {
            all.leads(Referrer { url, is_own }, there, is_foreign(there))
        };
        assert!(leads(
            "http://shop.example/",
            true,
            "https://www.shop.example/"
        ));
        assert!(!leads(
            "http://shop.example/",
            true,
            "http://other.example/"
        ));
        assert!(!leads(
            "http://shop.example/",
            false,
            "http://shop.example/1"
        ));
        assert!(leads("http://shop.example/", true, "http://localhost/"));
    }
}
