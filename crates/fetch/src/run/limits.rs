//! A job → the limits of the hosts of a part, with those of single hosts.

use std::sync::Arc;
use std::time::Duration;

use super::bandwidth::HostBandwidths;
use super::hosts::{Healths, Limits};
use super::own::OwnHosts;
use super::robots_cache::RobotsCache;
use crate::error::Result;
use crate::host::{Host, HostNames, Whose};
use crate::job::{Job, Pace, Rate};
use crate::plan::HostShard;

/// Most in flight to a host of others, unless the job says otherwise.
const FOREIGN: usize = 8;

/// Most requests a second to a host of others, unless the job says otherwise.
const FOREIGN_RATE: f64 = 10.0;

impl Pace {
    /// Most in flight to one host: one of this machine or a private network, and one of others.
    pub fn most(&self) -> [usize; 2] {
        let share = (self.concurrency as f64 * self.max_host_share).ceil() as usize;
        let share = share.clamp(1, self.concurrency);
        let foreign = if self.own_hosts { share } else { FOREIGN };
        [share, foreign].map(|default| self.per_host.unwrap_or(default).min(share))
    }

    /// Whether the user chose how many requests a second hosts of others may get.
    pub fn any_rate(&self) -> bool {
        self.own_hosts || self.rate.is_some()
    }
}

impl Job {
    /// Most parts that a host may be divided into: each needs a request in flight.
    pub fn most_shards(&self) -> usize {
        let [local, foreign] = self.pace.most();
        let hosts = self.hosts.values().filter_map(|host| host.per_host);
        hosts.fold(local.min(foreign), usize::min)
    }

    /// Most parts that a host is divided into when the job is planned. A host whose rate
    /// adapts stays in one part. Several parts would sometimes send at the same moment. A host without bursts refuses
    /// that, and the rate would settle far below the host's limit.
    pub fn planned_shards(&self) -> usize {
        let own = self.hosts.values().filter_map(|host| host.rate);
        match self.pace.rate.into_iter().chain(own).any(Rate::is_auto) {
            true => 1,
            false => self.most_shards(),
        }
    }
}

/// The state that the parts of a process share.
#[derive(Default)]
pub struct Common {
    /// The health of a part's hosts, if other parts send to them too.
    pub healths: Option<Arc<Healths>>,
    /// The robots.txt rules of hosts, if these are obeyed.
    pub robots_cache: Option<Arc<RobotsCache>>,
    /// The bandwidths of hosts, if any has its own.
    pub bandwidths: Option<Arc<HostBandwidths>>,
}

/// The limits of the hosts of a part.
pub struct PartLimits {
    /// Those of hosts without settings of their own.
    pub usual: Limits,
    names: HostNames,
    /// Those of hosts with settings of their own.
    of_hosts: Vec<Limits>,
    /// Which hosts the user wrote as their own.
    pub own_hosts: OwnHosts,
    /// The state that it shares with the other parts of the process.
    pub common: Common,
    /// The longest crawl delay of a host that gets requests.
    pub max_crawl_delay: Duration,
}

impl PartLimits {
    /// Those of a part, which may have a share of its hosts' limits alone, and has this in common with others.
    ///
    /// # Errors
    /// When a name of the job's hosts is none.
    pub fn new(job: &Job, shard: Option<HostShard>, common: Common) -> Result<PartLimits> {
        let of_hosts = job.hosts.values().map(|host| {
            let pace = Pace {
                rate: host.rate.or(job.pace.rate),
                per_host: host.per_host.or(job.pace.per_host),
                ..job.pace.clone()
            };
            limits(&pace, shard)
        });
        Ok(PartLimits {
            usual: limits(&job.pace, shard),
            names: HostNames::new(&job.hosts)?,
            of_hosts: of_hosts.collect(),
            own_hosts: OwnHosts::of(job),
            common,
            max_crawl_delay: job.pace.max_crawl_delay,
        })
    }

    /// The limits of a host that has its own.
    pub fn of(&self, host: &str) -> Option<&Limits> {
        self.names.of(host).map(|index| &self.of_hosts[index])
    }

    /// The least time between two requests to a host, as the job says. A rate that adapts begins with one a second.
    pub fn spacing(&self, host: &Host<'_>) -> Duration {
        let limits = self.of(host.as_str()).unwrap_or(&self.usual);
        let interval = match host.whose() {
            Whose::Foreign => limits.foreign_interval,
            _ => limits.local_interval,
        };
        let adapting = if limits.adapts { 1 } else { 0 };
        interval.max(Duration::from_secs(adapting))
    }
}

/// The limits of each host of a part.
fn limits(pace: &Pace, shard: Option<HostShard>) -> Limits {
    let of = shard.map_or(1, |shard| shard.of);
    let share = |limit: usize| shard.map_or(limit, |shard| shard.share(limit)).max(1);
    let interval = |rate: Option<f64>| {
        rate.map_or(Duration::ZERO, |rate| {
            Duration::from_secs_f64(f64::from(of) / rate)
        })
    };
    let [local, foreign] = pace.most();
    let most = pace.rate.and_then(Rate::most);
    // A rate that adapts is no permission to exceed what is polite.
    let foreign_rate = most.or((!pace.own_hosts).then_some(FOREIGN_RATE));
    Limits {
        local: share(local),
        foreign: share(foreign),
        local_interval: interval(most),
        foreign_interval: interval(foreign_rate),
        breaker: pace.breaker,
        cooldown: pace.breaker_cooldown,
        probes: pace.breaker_probes,
        adapts: pace.rate.is_some_and(Rate::is_auto),
        shards: of,
        turn: shard.map_or(0.0, |shard| f64::from(shard.index) / f64::from(shard.of)),
        wait_out: pace.wait_out,
        retry_budget: pace.retry_budget,
        max_retry_after: pace.max_retry_after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::HostSettings;

    #[test]
    fn a_host_has_its_own_limits_and_shards_share_them() {
        let mut job = Job::default();
        job.pace.rate = Some(Rate::Fixed(100.0));
        let slow = HostSettings {
            rate: Some(Rate::Fixed(2.0)),
            per_host: Some(4),
            ..HostSettings::default()
        };
        job.hosts.insert("*.example.com".into(), slow);
        assert_eq!((job.most_shards(), job.planned_shards()), (4, 4));
        let mut adapts = job.clone();
        adapts.pace.rate = Some(Rate::Auto(None));
        assert_eq!((adapts.most_shards(), adapts.planned_shards()), (4, 1));
        let shard = Some(HostShard { index: 1, of: 4 });
        let limits = PartLimits::new(&job, shard, Common::default()).unwrap();
        assert_eq!(limits.usual.local_interval, Duration::from_millis(40));
        assert!(limits.of("example.com").is_none());
        let own = limits.of("a.example.com").unwrap();
        assert_eq!((own.local, own.foreign), (1, 1));
        assert_eq!(own.foreign_interval, Duration::from_secs(2));
    }

    #[test]
    fn requests_without_a_part_keep_the_rate_of_their_host() {
        let mut job = Job::default();
        let spacing = |job: &Job, url: &str| {
            let limits = PartLimits::new(job, None, Common::default()).unwrap();
            limits.spacing(&Host::of(url).unwrap())
        };
        let (own, foreign) = ("http://localhost/", "http://a.example/");
        let tenth = Duration::from_millis(100);
        assert_eq!(
            (spacing(&job, own), spacing(&job, foreign)),
            (Duration::ZERO, tenth)
        );
        job.pace.rate = Some(Rate::Fixed(20.0));
        assert_eq!(spacing(&job, foreign), tenth / 2);
        let slow = HostSettings {
            rate: Some(Rate::Fixed(0.5)),
            ..HostSettings::default()
        };
        job.hosts.insert("a.example".into(), slow);
        assert_eq!(spacing(&job, foreign), 20 * tenth);
        job.pace.rate = Some(Rate::Auto(None));
        assert_eq!(spacing(&job, own), 10 * tenth);
    }

    #[test]
    fn a_rate_that_adapts_is_no_permission_to_be_impolite() {
        let mut pace = Pace {
            rate: Some(Rate::Auto(None)),
            ..Pace::default()
        };
        assert!(pace.any_rate());
        let found = limits(&pace, None);
        assert!(found.adapts);
        assert_eq!(found.foreign_interval, Duration::from_millis(100));
        assert_eq!(found.local_interval, Duration::ZERO);
        pace.rate = Some(Rate::Auto(Some(50.0)));
        assert_eq!(
            limits(&pace, None).local_interval,
            Duration::from_millis(20)
        );
        pace.own_hosts = true;
        pace.rate = Some(Rate::Auto(None));
        assert_eq!(limits(&pace, None).foreign_interval, Duration::ZERO);
    }
}
