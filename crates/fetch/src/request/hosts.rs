//! The headers and credentials of single hosts.

use std::sync::Arc;

use super::headers::{Constant, Templates, authorization, constant_of};
use crate::error::Result;
use crate::host::HostNames;
use crate::job::Hosts;

/// The headers of all hosts with settings of their own.
#[derive(Default)]
pub struct HostHeaders {
    names: HostNames,
    own: Vec<Own>,
}

/// The headers of one host.
pub struct Own {
    /// The names of the headers in the host's settings. Headers of the job with these names are not sent.
    names: Vec<String>,
    templates: Templates,
}

impl Own {
    /// The headers of a request.
    pub fn template(&self, has_left: bool, became_get: bool) -> &Arc<hecaton::Template> {
        self.templates.at(has_left, became_get)
    }

    /// Whether it replaces a header of the job.
    pub fn replaces(&self, name: &str) -> bool {
        self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

impl HostHeaders {
    /// The headers of each host in these settings, together with `of_all`, those that all requests of the job have.
    ///
    /// # Errors
    /// When a name is not that of a host, a header cannot be sent, or a secret is not there.
    pub fn new(hosts: &Hosts, of_all: &[Constant]) -> Result<HostHeaders> {
        let mut own = Vec::new();
        for host in hosts.values() {
            let mut headers = constant_of(&host.headers)?;
            headers.extend(authorization(&host.auth, &host.bearer)?);
            let names: Vec<String> = headers.iter().map(|(name, _)| name.clone()).collect();
            let is_replaced = |name: &str| {
                names
                    .iter()
                    .any(|own: &String| own.eq_ignore_ascii_case(name))
            };
            let rest = of_all
                .iter()
                .filter(|(name, _)| !is_replaced(name))
                .cloned();
            let all: Vec<Constant> = rest.chain(headers).collect();
            own.push(Own {
                templates: Templates::of(&all)?,
                names,
            });
        }
        Ok(HostHeaders {
            names: HostNames::new(hosts)?,
            own,
        })
    }

    /// The position of the settings of a URL's host.
    pub fn of(&self, url: &str) -> Option<usize> {
        self.names.of_url(url)
    }

    /// The headers of the host whose settings have this position.
    pub fn at(&self, position: usize) -> &Own {
        &self.own[position]
    }
}
