//! A job → its proxies, and which of them the requests to each host take in turn.

use hecaton::{Client, Proxy};

use super::batches::Turns;
use crate::error::{Error, Result};
use crate::job::{Job, Network, reveal};

/// The proxies of a job.
pub struct Proxies {
    /// Each once; the first is one that hosts without proxies of their own take.
    pub proxies: Vec<Proxy>,
    /// Who takes which.
    pub turns: Turns,
}

impl Proxies {
    /// Whether every request goes to its server itself.
    pub fn are_none(&self) -> bool {
        self.proxies.iter().all(|proxy| match proxy {
            Proxy::Off => true,
            Proxy::Environment => !ENVIRONMENT.iter().any(|name| is_set(name)),
            Proxy::Url(_) => false,
        })
    }
}

/// The variables that name proxies, in lower case.
const ENVIRONMENT: [&str; 3] = ["http_proxy", "https_proxy", "all_proxy"];

fn is_set(name: &str) -> bool {
    let names = [name.to_owned(), name.to_ascii_uppercase()];
    let mut values = names.iter().filter_map(std::env::var_os);
    values.any(|value| !value.is_empty())
}

/// The proxies of a job.
///
/// # Errors
/// When one is not a URL, or its variable is not set.
pub fn all(job: &Job) -> Result<Proxies> {
    let mut proxies = Vec::new();
    let usual = places(&mut proxies, &job.network.proxy)?;
    let mut of_hosts = Vec::new();
    for host in job.hosts.values() {
        of_hosts.push(match host.proxy.is_empty() {
            true => None,
            false => Some(places(&mut proxies, &host.proxy)?),
        });
    }
    let turns = Turns { usual, of_hosts };
    Ok(Proxies { proxies, turns })
}

/// The proxy of a client that takes no turns.
///
/// # Errors
/// As [`all`].
pub fn first(network: &Network) -> Result<Proxy> {
    let mut proxies = Vec::new();
    places(&mut proxies, &network.proxy)?;
    Ok(proxies.swap_remove(0))
}

/// The clients of a thread, one for each proxy.
///
/// # Errors
/// When a proxy cannot be used.
pub fn clients(client: &Client, proxies: &[Proxy]) -> Result<Vec<Client>> {
    let through = |proxy: &Proxy| client.separate_through(proxy.clone());
    let clients: std::result::Result<_, _> = proxies.iter().map(through).collect();
    clients.map_err(Error::usage)
}

/// Where these are in the list of all, which gets those that are new.
fn places(proxies: &mut Vec<Proxy>, texts: &[String]) -> Result<Vec<usize>> {
    let mut places = Vec::new();
    let environment = [Proxy::Environment];
    let read: Result<Vec<Proxy>> = texts.iter().map(|text| read(text)).collect();
    let read = read?;
    let read = if read.is_empty() {
        &environment[..]
    } else {
        &read
    };
    for proxy in read {
        let known = proxies.iter().position(|known| known == proxy);
        places.push(known.unwrap_or_else(|| {
            proxies.push(proxy.clone());
            proxies.len() - 1
        }));
    }
    Ok(places)
}

fn read(text: &str) -> Result<Proxy> {
    if text == "none" {
        return Ok(Proxy::Off);
    }
    let url = reveal(text)?;
    match url.contains("://") {
        true => Ok(Proxy::Url(url)),
        false => Err(Error::usage(
            "proxy is not a URL: write http://HOST:PORT, or env:NAME of a variable that holds it",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::HostSettings;

    #[test]
    fn each_proxy_is_there_once() {
        let mut job = Job::default();
        assert_eq!(all(&job).unwrap().proxies, [Proxy::Environment]);
        job.network.proxy = vec!["http://a:1".into(), "none".into()];
        let own = HostSettings {
            proxy: vec!["http://b:1".into(), "http://a:1".into()],
            ..HostSettings::default()
        };
        job.hosts.insert("x.example".into(), own);
        job.hosts
            .insert("y.example".into(), HostSettings::default());
        let found = all(&job).unwrap();
        assert_eq!(found.proxies.len(), 3);
        assert_eq!(found.turns.usual, [0, 1]);
        assert_eq!(found.turns.of_hosts, [Some(vec![2, 0]), None]);
        job.network.proxy = vec!["a:1".into()];
        assert!(all(&job).is_err());
    }
}
