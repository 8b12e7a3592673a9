//! The cookies of a jar, by registrable domain, so that a lookup for one host reads no other site's cookies.

use std::collections::HashMap;
use std::fmt::Write;
use std::time::SystemTime;

use psl::Psl;

use super::{Cookie, is_address, is_below};
use crate::message::origin::is_within;

/// The limit on cookies of a site, and how many the site keeps once there are more.
pub(super) const MOST_OF_A_SITE: usize = 180;
const LEFT_OF_A_SITE: usize = 150;

/// The limit on cookies in all, and how many are left once there are more. Eviction looks at every cookie, so it must
/// not happen for each new one.
pub(super) const MOST: usize = 3000;
const LEFT: usize = 2700;

/// How many cookies a site certainly keeps while other sites have more.
pub(super) const FAIR: usize = 50;

#[derive(Clone, Default)]
pub(super) struct Store {
    /// No list is empty.
    sites: HashMap<String, Vec<StoredCookie>>,
    count: usize,
    /// Whether its cookies are sent beside a request's own.
    pub joins: bool,
    /// Counts the uses of the store.
    clock: u64,
}

#[derive(Clone)]
struct StoredCookie {
    cookie: Cookie,
    /// When it came, and when it was used last, by the store's clock. No two came at once.
    created: u64,
    used: u64,
}

impl StoredCookie {
    fn has_expired(&self, now: SystemTime) -> bool {
        self.cookie.expires.is_some_and(|end| end <= now)
    }

    /// The order of removal when the jar is full: insecure cookies first, then by their last use (RFC 6265bis §5.7).
    fn worth(&self) -> (bool, u64, u64) {
        (self.cookie.secure, self.used, self.created)
    }
}

impl Store {
    /// The cookies that have not expired, in the order they came.
    pub fn list(&self) -> Vec<Cookie> {
        let now = SystemTime::now();
        let all = self.sites.values().flatten();
        let mut all: Vec<_> = all.filter(|stored| !stored.has_expired(now)).collect();
        all.sort_unstable_by_key(|stored| stored.created);
        all.into_iter()
            .map(|stored| stored.cookie.clone())
            .collect()
    }

    pub fn clear(&mut self) {
        self.sites.clear();
        self.count = 0;
    }

    /// Stores a cookie, and replaces the one with the same name, domain and path. An expired cookie only removes that
    /// one. False if the cookie is refused, because it came without https and would hide a secure cookie.
    pub fn insert(&mut self, cookie: Cookie, https: bool) -> bool {
        self.clock += 1;
        let (now, clock) = (SystemTime::now(), self.clock);
        let site = site(&cookie.domain).to_owned();
        let list = self.sites.entry(site.clone()).or_default();
        let hidden =
            |stored: &StoredCookie| !stored.has_expired(now) && hides(&cookie, &stored.cookie);
        let refused = !https && list.iter().any(hidden);
        if !refused {
            let old = list
                .iter()
                .position(|stored| is_same(&stored.cookie, &cookie));
            let old = old.map(|at| list.remove(at));
            self.count -= usize::from(old.is_some());
            let stored = StoredCookie {
                created: old.map_or(clock, |old| old.created),
                used: clock,
                cookie,
            };
            if !stored.has_expired(now) {
                list.push(stored);
                self.count += 1;
            }
        }
        self.make_room(&site, now);
        !refused
    }

    /// `name=value; …` of the cookies for a URL: longer paths first, those of equal length in the order they came
    /// (RFC 6265 §5.4).
    pub fn pairs_for(&mut self, host: &str, path: &str, https: bool) -> String {
        self.clock += 1;
        let (now, clock) = (SystemTime::now(), self.clock);
        let Some(list) = self.sites.get_mut(site(host)) else {
            return String::new();
        };
        let goes = |stored: &&mut StoredCookie| {
            let cookie = &stored.cookie;
            let at_home =
                host == cookie.domain || (!cookie.host_only && is_within(host, &cookie.domain));
            at_home
                && is_below(path, &cookie.path)
                && (https || !cookie.secure)
                && !stored.has_expired(now)
        };
        let mut found: Vec<_> = list.iter_mut().filter(goes).collect();
        found.sort_by_key(|stored| (std::cmp::Reverse(stored.cookie.path.len()), stored.created));
        let mut pairs = String::new();
        for stored in found {
            stored.used = clock;
            let Cookie { name, value, .. } = &stored.cookie;
            let between = if pairs.is_empty() { "" } else { "; " };
            // Writing to memory does not fail.
            let _ = write!(pairs, "{between}{name}={value}");
        }
        pairs
    }

    /// Removes cookies beyond the limits of this site, and of all.
    fn make_room(&mut self, site: &str, now: SystemTime) {
        if let Some(list) = self.sites.get_mut(site) {
            if list.len() > MOST_OF_A_SITE {
                let before = list.len();
                list.retain(|stored| !stored.has_expired(now));
                if list.len() > MOST_OF_A_SITE {
                    keep_best(list, LEFT_OF_A_SITE);
                }
                self.count -= before - list.len();
            }
            if list.is_empty() {
                self.sites.remove(site);
            }
        }
        if self.count > MOST {
            self.shrink(now);
        }
    }

    /// Removes expired cookies, then what each site has beyond its fair share, then the cookies used longest ago.
    fn shrink(&mut self, now: SystemTime) {
        let lists = self.sites.values_mut();
        lists.for_each(|list| list.retain(|stored| !stored.has_expired(now)));
        let mut all = Vec::with_capacity(self.count);
        for list in self.sites.values_mut() {
            list.sort_unstable_by_key(|stored| std::cmp::Reverse(stored.worth()));
            let ranked = list.iter().enumerate();
            all.extend(ranked.map(|(rank, stored)| (rank < FAIR, stored.worth())));
        }
        if all.len() > MOST {
            let surplus = all.len() - LEFT;
            let limit = *all.select_nth_unstable(surplus).1;
            for list in self.sites.values_mut() {
                let mut rank = 0..;
                list.retain(|stored| (rank.next() < Some(FAIR), stored.worth()) >= limit);
            }
        }
        self.sites.retain(|_, list| !list.is_empty());
        self.count = self.sites.values().map(Vec::len).sum();
    }
}

/// Keeps this many cookies of a list.
fn keep_best(list: &mut Vec<StoredCookie>, most: usize) {
    list.sort_unstable_by_key(|stored| std::cmp::Reverse(stored.worth()));
    list.truncate(most);
}

/// The registrable domain that a host belongs to, or the host itself if it has none.
fn site(host: &str) -> &str {
    let domain = match is_address(host) {
        true => None,
        false => psl::List.domain(host.as_bytes()),
    };
    let name = domain.and_then(|domain| std::str::from_utf8(domain.as_bytes()).ok());
    // The domain is the end of the host.
    name.map_or(host, |name| &host[host.len() - name.len()..])
}

fn is_same(one: &Cookie, other: &Cookie) -> bool {
    one.host_only == other.host_only
        && one.name == other.name
        && one.domain == other.domain
        && one.path == other.path
}

/// Whether a request could send this cookie, which came without https, instead of a secure one or beside it.
fn hides(cookie: &Cookie, stored: &Cookie) -> bool {
    stored.secure
        && stored.name == cookie.name
        && (is_within(&cookie.domain, &stored.domain) || is_within(&stored.domain, &cookie.domain))
        && is_below(&cookie.path, &stored.path)
}
