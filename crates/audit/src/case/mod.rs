//! A case: what a server does, which calls a client makes, and which outcome deserves which verdict.

mod catalogue;
mod condition;
pub mod fact_names;
mod secure;
mod step;
mod verdict;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

pub use catalogue::{Catalogue, name_today};
pub use condition::{Condition, Fact, Facts, hash};
pub use secure::{Http2, Shown, Tls};
pub use step::{Addresses, Deed, Frame, Step, head_fields};
pub use verdict::{Severity, Verdict};

/// One case of the audit, as its file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name, which is never used again.
    pub id: String,
    /// A short name for matrices.
    pub code: String,
    /// The folder that its file is in.
    #[serde(skip)]
    pub group: String,
    /// The server's behaviour, in a few words.
    pub title: String,
    /// Why it matters.
    pub why: String,
    /// The section that rules it; empty if no text does.
    #[serde(default)]
    pub rfc: String,
    /// The harm of a bad outcome.
    pub severity: Severity,
    /// Whether it is one of the few cases that matter most.
    #[serde(default)]
    pub essential: bool,
    /// The switch of the sinner that proves the case.
    pub sin: String,
    /// The verdict that the sinner then gets.
    pub caught: Verdict,
    /// Why verdicts hold on a busy machine, for cases with pauses.
    #[serde(default)]
    pub margin: String,
    /// Abilities that the client needs, beyond those that the calls name.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Facts without which the case does not apply to a client.
    #[serde(default)]
    pub require: Vec<Condition>,
    /// When to stop.
    #[serde(default)]
    pub budget: Budget,
    /// How the server does TLS.
    #[serde(default)]
    pub tls: Tls,
    /// How the server does HTTP/2; none if it does not.
    pub h2: Option<Http2>,
    /// Whether the client uses HTTP/3, which the server then offers.
    #[serde(default)]
    pub h3: bool,
    /// How long to wait at the end until the client has closed all connections, in milliseconds.
    #[serde(default)]
    pub linger_ms: u64,
    /// The calls, in order.
    #[serde(rename = "call")]
    pub calls: Vec<Call>,
    /// The outcomes; the first that holds counts.
    #[serde(rename = "outcome")]
    pub outcomes: Vec<Outcome>,
}

/// The condition that ends a run of a case.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Most requests.
    pub requests: usize,
    /// Most connections.
    pub connections: usize,
    /// Most bytes in both directions.
    pub bytes: usize,
    /// Longest time.
    pub seconds: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            requests: 60,
            connections: 60,
            bytes: 8 << 20,
            seconds: 20,
        }
    }
}

/// One call that the client makes, and how the server serves it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Its name in paths and facts.
    pub name: String,
    /// The method.
    #[serde(default = "get")]
    pub method: String,
    /// The URL, in which `{here}` and other names are replaced.
    #[serde(default = "here")]
    pub url: String,
    /// Header fields.
    #[serde(default)]
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Option<String>,
    /// The limit that the caller sets, if it sets one.
    pub timeout_ms: Option<u64>,
    /// Whether redirects are to be followed; none for the client's default.
    pub follow: Option<bool>,
    /// The proxy that the client uses, as a URL.
    pub proxy: Option<String>,
    /// Variables of the environment that name proxies.
    #[serde(default)]
    pub environment: Vec<(String, String)>,
    /// The addresses of the host of `{named}`, with commas between them.
    pub hosts: Option<String>,
    /// How many equal calls the client makes at once.
    pub parallel: Option<usize>,
    /// The most connections that the client may open.
    pub pool_size: Option<usize>,
    /// How long an idle connection may be kept, in milliseconds, if the caller says so.
    pub idle_ms: Option<u64>,
    /// How long nothing happens before the call, in milliseconds.
    #[serde(default)]
    pub after_ms: u64,
    /// Whether the server is down during the call: it closes all connections, and refuses new ones.
    #[serde(default)]
    pub down: bool,
    /// Whether the server's certificate is verified; none for the client's default.
    pub verify: Option<bool>,
    /// `fork`: a child of the client's process makes the call. `close`: the client is closed, and no call is made.
    pub by: Option<String>,
    /// Whether the fault of the case is in this call itself.
    #[serde(default)]
    pub fault: bool,
    /// The steps of the first attempt, of the second, and so on; the last list serves all later ones.
    #[serde(default = "fine")]
    pub server: Vec<Vec<Step>>,
    /// How the server serves the paths that redirects lead to.
    #[serde(default)]
    pub stops: BTreeMap<String, Vec<Vec<Step>>>,
}

/// The steps of a proxy without faults.
fn tunnel() -> &'static [Step] {
    static STEPS: LazyLock<Vec<Step>> = LazyLock::new(|| vec![Step::fine()]);
    &STEPS
}

fn get() -> String {
    "GET".into()
}

fn here() -> String {
    "{here}".into()
}

fn fine() -> Vec<Vec<Step>> {
    vec![vec![Step::fine()]]
}

impl Call {
    /// The steps of an attempt at a stop; none if the stop is unknown.
    pub fn steps(&self, stop: &str, attempt: usize) -> Option<&[Step]> {
        let lists = match stop {
            "" => Some(&self.server),
            // A proxy that the case says nothing of opens its tunnels.
            "connect" if !self.stops.contains_key(stop) => return Some(tunnel()),
            // A redirect loop has endless stops, which all look alike.
            stop => self.stops.get(stop).or_else(|| self.stops.get("*")),
        };
        let lists = lists?;
        lists.get(attempt).or(lists.last()).map(Vec::as_slice)
    }

    /// Abilities that the client needs for this call.
    fn needs(&self) -> impl Iterator<Item = &'static str> {
        [
            (self.method != "GET", "method"),
            (self.body.is_some(), "body"),
            (!self.fields.is_empty(), "fields"),
            (self.timeout_ms.is_some(), "timeout"),
            (self.follow == Some(true), "redirects"),
            (self.url.contains("{tls"), "tls"),
            (self.proxy.is_some(), "proxy"),
            (!self.environment.is_empty(), "proxy-environment"),
            (self.hosts.is_some(), "hosts"),
            (self.parallel.is_some(), "parallel"),
            (self.pool_size.is_some(), "pool-size"),
            (self.idle_ms.is_some(), "idle-timeout"),
            (self.verify == Some(false), "no-verify"),
            (self.by.as_deref() == Some("fork"), "fork"),
            (self.by.as_deref() == Some("close"), "close"),
        ]
        .into_iter()
        .filter_map(|(needed, word)| needed.then_some(word))
    }

    /// Whether its body is long.
    pub fn is_long(&self) -> bool {
        let body = self.body.as_deref().unwrap_or_default();
        body.contains("{4mb}")
    }

    fn all_steps(&self) -> impl Iterator<Item = &Step> {
        self.server
            .iter()
            .chain(self.stops.values().flatten())
            .flatten()
    }
}

/// An outcome, and its verdict.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Conditions that must all hold.
    pub when: Vec<Condition>,
    /// A sentence; `{fact}` is filled in.
    pub says: String,
}

impl Case {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Case> {
        let case: Case = toml::from_str(text)?;
        case.check()?;
        Ok(case)
    }

    /// Abilities that the client needs, without repetitions.
    pub fn all_needs(&self) -> Vec<String> {
        let mut needs = self.needs.clone();
        needs.extend(self.calls.iter().flat_map(Call::needs).map(str::to_owned));
        needs.extend(self.h2.iter().map(|_| "h2".to_owned()));
        needs.extend(self.h3.then(|| "h3".to_owned()));
        needs.sort();
        needs.dedup();
        needs
    }

    /// The call of a name.
    pub fn call(&self, name: &str) -> Option<&Call> {
        self.calls.iter().find(|call| call.name == name)
    }

    fn check(&self) -> Result<()> {
        let id = &self.id;
        ensure!(is_slug(id), "the id `{id}` may have only a-z, 0-9 and -");
        ensure!(!self.calls.is_empty(), "{id} has no call");
        for Call { name, server, .. } in &self.calls {
            let valid = is_slug(name);
            ensure!(
                valid,
                "{id}: the call `{name}` may have only a-z, 0-9 and -"
            );
            ensure!(!server.is_empty(), "{id}: the call `{name}` has no steps");
        }
        ensure!(
            self.has_fault(),
            "{id} has no step with `!`, so nobody could say whether its fault was applied"
        );
        ensure!(
            self.outcomes
                .iter()
                .any(|outcome| outcome.verdict == Verdict::Pass),
            "{id} has no outcome with the verdict `pass`"
        );
        let conditions = self.outcomes.iter().flat_map(|outcome| &outcome.when);
        for condition in conditions.chain(&self.require) {
            self.check_fact(&condition.fact)?;
        }
        Ok(())
    }

    /// Whether something of it is said to be the fault.
    fn has_fault(&self) -> bool {
        let mut steps = self.calls.iter().flat_map(Call::all_steps);
        steps.any(|step| step.fault)
            || self.tls.certificate.fault
            || self.tls.hello.iter().any(|step| step.fault)
            || self.h2.as_ref().is_some_and(|h2| h2.fault)
            || self.calls.iter().any(|call| call.fault)
    }

    fn check_fact(&self, fact: &str) -> Result<()> {
        let known = match fact.split_once('.') {
            None => fact_names::OF_RUN.contains(&fact),
            Some((call, rest)) => self.call(call).is_some_and(|call| {
                let known = |stop: &str| stop == "connect" || call.stops.contains_key(stop);
                let stop = rest.split_once('.').filter(|(stop, _)| known(stop));
                let rest = stop.map_or(rest, |(_, rest)| rest);
                let said = fact_names::SEEN.contains(&rest) || fact_names::CLAIMED.contains(&rest);
                said || rest.starts_with("field.")
            }),
        };
        if !known {
            bail!("{}: the fact `{fact}` does not exist", self.id);
        }
        Ok(())
    }
}

/// Whether a name has only the characters that are allowed.
fn is_slug(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(allowed)
}
