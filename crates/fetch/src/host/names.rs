//! Finds the settings of a host by its name.

use std::collections::HashMap;

use super::Host;
use crate::error::{Error, Result};
use crate::job::Hosts;

/// Finds the settings of a host by its canonical name: those of its own name, or of the longest `*.example.com` that it
/// is under.
#[derive(Clone, Debug, Default)]
pub struct HostNames {
    own: HashMap<String, usize>,
    /// `.example.com`, the longest first.
    under: Vec<(String, usize)>,
}

impl HostNames {
    /// The names of these settings; `of` returns the position of a setting among them.
    ///
    /// # Errors
    /// When a name is not that of a host, or two are the same host.
    pub fn new(hosts: &Hosts) -> Result<HostNames> {
        let mut names = HostNames::default();
        for (index, name) in hosts.keys().enumerate() {
            let refused = |why: &str| Error::usage(format!("hosts.{name:?} {why}"));
            let (host, is_zone) = match name.strip_prefix("*.") {
                Some(zone) => (zone, true),
                None => (&**name, false),
            };
            let canonical = canonical(host).ok_or_else(|| {
                refused("is not a host: write api.example.com, *.example.com or localhost:8080")
            })?;
            let is_new = match is_zone {
                false => names.own.insert(canonical, index).is_none(),
                true => {
                    let zone = format!(".{canonical}");
                    let is_new = !names.under.iter().any(|(known, _)| *known == zone);
                    names.under.push((zone, index));
                    is_new
                }
            };
            if !is_new {
                return Err(refused("is named twice"));
            }
        }
        names
            .under
            .sort_by_key(|(zone, _)| std::cmp::Reverse(zone.len()));
        Ok(names)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.under.is_empty()
    }

    /// The position of a host's settings.
    pub fn of(&self, host: &str) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        let own = self.own.get(host).copied();
        own.or_else(|| {
            let under = self.under.iter().find(|(zone, _)| host.ends_with(zone));
            under.map(|(_, index)| *index)
        })
    }

    /// The index for the host of a URL.
    pub fn of_url(&self, url: &str) -> Option<usize> {
        match self.is_empty() {
            true => None,
            false => self.of(Host::of(url).ok()?.as_str()),
        }
    }
}

/// The canonical name of a host without scheme, path and user.
fn canonical(host: &str) -> Option<String> {
    if host.is_empty() || host.contains(['/', '?', '#', '@', '*', '\\']) {
        return None;
    }
    let scheme = match host.ends_with(":443") {
        true => "https",
        false => "http",
    };
    let url = format!("{scheme}://{host}/");
    Host::of(&url).ok().map(Host::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::HostSettings;

    fn names(of: &[&str]) -> Result<HostNames> {
        let hosts = of
            .iter()
            .map(|name| ((*name).to_owned(), HostSettings::default()));
        HostNames::new(&hosts.collect())
    }

    #[test]
    fn a_host_is_found_by_its_own_name_or_by_the_nearest_zone() {
        // In the order of their texts.
        let names = names(&[
            "*.a.example",
            "*.b.a.example",
            "A.example:443",
            "c.a.example",
            "localhost:8080",
        ])
        .unwrap();
        for (host, index) in [
            ("x.a.example", Some(0)),
            ("x.b.a.example", Some(1)),
            ("b.a.example", Some(0)),
            ("a.example", Some(2)),
            ("c.a.example", Some(3)),
            ("localhost:8080", Some(4)),
            ("localhost", None),
            // Another port is another origin.
            ("c.a.example:8080", None),
            ("xa.example", None),
        ] {
            assert_eq!(names.of(host), index, "{host}");
        }
        assert_eq!(names.of_url("https://C.a.example./x"), Some(3));
    }

    #[test]
    fn what_is_no_host_or_named_twice_is_refused() {
        for wrong in [
            "",
            "http://a.example",
            "a.example/x",
            "*",
            "a*.example",
            "u@a.example",
        ] {
            let error = names(&[wrong]).unwrap_err().to_string();
            assert!(error.contains("is not a host"), "{wrong}: {error}");
        }
        let error = names(&["a.example", "A.example:80"]).unwrap_err();
        assert!(error.to_string().contains("twice"), "{error}");
    }
}
