//! A job → the engine's settings.

use std::time::Duration;

use hecaton::{Addresses, Client, Config, Cookies, Protocol};

use super::body_name::BodyName;
use super::keep::Keeper;
use super::own::{Clients, resolved};
use super::pages::Paging;
use super::{descriptors, goal, proxies};
use crate::error::{Error, Result};
use crate::host::HostNames;
use crate::job::{Job, Network};
use crate::plan::Folder;
use crate::request::Naming;

/// How long a resolved name is cached, so that a list of many hosts resolves each name once, and not for each
/// connection.
const NAMES: Duration = Duration::from_secs(15 * 60);

/// The deadline of bodies that have none.
const ANY_TIME: Duration = Duration::from_secs(365 * 24 * 3600);

/// Most bytes of a body that is held in memory, unless the job says otherwise.
const MAX_BODY: usize = 64 << 20;

/// Most bytes that the decoder of a body takes.
const LARGEST_DECODER: usize = 16 << 20;

/// The clients that read sitemaps.
///
/// # Errors
/// When a setting cannot be used.
pub fn clients(job: &Job) -> Result<Clients> {
    Clients::new(job, &client(config(job)?)?, true)
}

/// The clients that read lists of any length.
///
/// # Errors
/// When a setting cannot be used.
pub fn list_clients(job: &Job) -> Result<Clients> {
    let mut config = config(job)?;
    config.max_body = usize::MAX;
    config.max_buffered = None;
    config.cookies = None;
    Clients::new(job, &client(config)?, true)
}

/// The clients of each of so many threads of a run, with their share of the connections.
///
/// # Errors
/// When a setting cannot be used, or so many cannot be in flight.
pub fn running_clients(job: &Job, has_own_hosts: bool, threads: usize) -> Result<Clients> {
    let mut config = config(job)?;
    if keeper(job)?.streams() {
        limit_silence(&mut config);
    }
    // Idle connections are kept for as many hosts as the system lets be open.
    let count = threads * proxies::all(job)?.proxies.len() * Clients::count(job, has_own_hosts);
    config.max_idle = Some(descriptors::most_idle(job.pace.concurrency, count)?);
    Clients::new(job, &client(config)?, has_own_hosts)
}

/// Lets a body take any time, as long as it brings bytes: a silence may last as long as the deadline was, unless the job
/// limits it itself.
fn limit_silence(config: &mut Config) {
    let most = std::mem::replace(&mut config.timeout, ANY_TIME);
    for silence in [
        &mut config.resolve_timeout,
        &mut config.tls_timeout,
        &mut config.queue_timeout,
        &mut config.send_timeout,
        &mut config.first_byte_timeout,
        &mut config.read_timeout,
    ] {
        silence.get_or_insert(most);
    }
    config.connect_timeout = config.connect_timeout.min(most);
}

fn keeper(job: &Job) -> Result<Keeper> {
    Keeper::new(job, &Folder::at(""), None)
}

fn client(config: Config) -> Result<Client> {
    Client::try_new(config).map_err(Error::usage)
}

fn config(job: &Job) -> Result<Config> {
    let network = &job.network;
    let mut config = Config::new(network.timeout);
    config.connect_timeout = network.connect_timeout;
    config.first_byte_timeout = network.first_byte_timeout;
    config.read_timeout = network.read_timeout;
    config.cookies = network.cookies.then(Cookies::new);
    config.http = protocol(network)?;
    config.proxy = proxies::first(network)?;
    config.ca = network.ca.clone().map(Into::into);
    config.client_cert = network.client_cert.clone().map(Into::into);
    config.client_key = network.client_key.clone().map(Into::into);
    config.verify = network.verify;
    config.max_body = network.max_body.unwrap_or(MAX_BODY);
    // One body of the largest size must always fit, with what its decoder takes.
    let largest = config.max_body.saturating_add(LARGEST_DECODER);
    config.max_buffered = Some(network.max_buffered.max(largest));
    config.decode = network.decode;
    config.resolve = addresses(network)?;
    // A request must wait for its host's limits before it is sent again. The engine still re-sends a request that its
    // server certainly did not process: after a GOAWAY, a refused stream, or the close of an idle connection.
    config.reconnect = false;
    if let Some(agent) = &network.user_agent {
        config.user_agent = agent.clone();
    }
    Ok(config)
}

fn protocol(network: &Network) -> Result<Protocol> {
    match network.http.as_deref() {
        None => Ok(Protocol::Auto),
        Some("1.1") => Ok(Protocol::Http1),
        Some("2") => Ok(Protocol::Http2),
        Some("3") => Ok(Protocol::Http3),
        Some(other) => Err(Error::usage(format!("http is {other:?}: use 1.1, 2 or 3"))),
    }
}

fn addresses(network: &Network) -> Result<Addresses> {
    let mut addresses = Addresses::default();
    addresses.cache_for(NAMES);
    for entry in &network.resolve {
        let (host_port, address) = resolved(entry).ok_or_else(|| {
            Error::usage(format!(
                "resolve {entry:?} is not host:port:address, as in example.com:443:192.0.2.7"
            ))
        })?;
        let added = addresses.add(host_port, &[address]);
        added.map_err(Error::usage)?;
    }
    Ok(addresses)
}

/// Refuses a check that names a field that no input and no response has.
///
/// # Errors
/// Which column, and what columns there are.
pub fn check_columns(job: &Job, columns: &[String]) -> Result<()> {
    BodyName::new(&job.results, Some(columns))?;
    keeper(job)?.check_columns(columns)
}

/// Refuses settings that the engine cannot use.
///
/// # Errors
/// Which, and why.
pub fn check(job: &Job) -> Result<()> {
    goal::check(job.fail_if.as_deref())?;
    HostNames::new(&job.hosts)?;
    proxies::all(job)?;
    Paging::new(job)?;
    Naming::new(job)?;
    BodyName::new(&job.results, None)?;
    let streams = keeper(job)?.streams();
    if job.network.min_speed.is_some() && !streams {
        return Err(Error::usage(
            "min_speed is for bodies that go to the disk as they come: use --keep-body files, warc or tar without --take, --next or a --check that reads bodies, or limit a body with --timeout",
        ));
    }
    clients(job).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::BodyStorage;

    #[test]
    fn a_check_that_reads_bodies_is_named_where_min_speed_is_refused_for_it() {
        let mut job = Job::default();
        job.network.min_speed = Some("1k/30s".parse().unwrap());
        job.results.body = BodyStorage::Files;
        job.results.check = Some("status == 200".into());
        check(&job).unwrap();
        job.results.check = Some("json:/price".into());
        let refused = check(&job).unwrap_err().to_string();
        assert!(refused.contains("--check"), "{refused}");
    }
}
