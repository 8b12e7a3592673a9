//! A call of the saint and the sinner: its hops, and which parts of the request go with a redirect.

use std::time::Instant;

use super::connection::Clock;
use super::{Class, Client, Failure, Response, Sins, exchange, failed};
use crate::subject::CallOptions;

/// Most redirects that are followed.
const MOST: usize = 20;

/// A URL of http.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    /// Whether the scheme is https.
    pub(super) secure: bool,
    /// User and password, if there are any.
    pub(super) user: String,
    /// Host and port.
    pub(super) authority: String,
    /// Path and query.
    pub(super) path: String,
}

impl Url {
    fn parse(text: &str, with_fragment: bool, sins: &Sins) -> Result<Url, Failure> {
        let secure = text.starts_with("https://");
        let rest = text.strip_prefix("http://");
        let Some(rest) = rest.or_else(|| text.strip_prefix("https://")) else {
            return failed(Class::Refused, "the scheme is not http");
        };
        if text.contains(['\r', '\n', '\0']) && !sins.has("crlf-in-target") {
            return failed(Class::Refused, "the URL has a line break");
        }
        let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let path = match with_fragment {
            true => path,
            false => path.split('#').next().unwrap_or_default(),
        };
        let (user, authority) = authority.rsplit_once('@').unwrap_or(("", authority));
        let slash = if path.starts_with('/') { "" } else { "/" };
        let path = match text.contains('\r') || sins.has("space-sent") {
            true => path.to_owned(),
            false => path.replace(' ', "%20"),
        };
        Ok(Url {
            secure,
            user: user.to_owned(),
            authority: authority.to_owned(),
            path: format!("{slash}{path}"),
        })
    }

    pub(super) fn host(&self) -> &str {
        self.authority
            .rsplit_once(':')
            .map_or(&self.authority, |(host, _)| host)
    }

    /// The URL that a Location means here.
    fn join(&self, location: &str, sins: &Sins) -> Result<Url, Failure> {
        let location = match sins.has("fragment-sent") {
            true => location,
            false => location.split('#').next().unwrap_or_default(),
        };
        let scheme = if self.secure { "https" } else { "http" };
        let base = format!("{scheme}://{}", self.authority);
        let path = self.path.split('?').next().unwrap_or_default();
        let folder = &path[..=path.rfind('/').unwrap_or(0)];
        let whole = if location.contains("://") {
            location.to_owned()
        } else if location.starts_with("//") && !sins.has("double-slash-as-path") {
            format!("{scheme}:{location}")
        } else if location.starts_with('/') {
            base + location
        } else if location.starts_with('?') {
            base + if sins.has("query-dropped") { "/" } else { path } + location
        } else if location.is_empty() {
            base + &self.path
        } else {
            base + if sins.has("relative-to-root") {
                "/"
            } else {
                folder
            } + location
        };
        let mut url = Url::parse(&whole, sins.has("fragment-sent"), sins)?;
        if !sins.has("dots-kept") {
            url.path = without_dots(&url.path);
        }
        if !url.user.is_empty() && !sins.has("userinfo-from-redirect") {
            return failed(Class::Refused, "a redirect names a user");
        }
        Ok(url)
    }
}

fn without_dots(path: &str) -> String {
    let (path, query) = path
        .split_once('?')
        .map_or((path, None), |(path, query)| (path, Some(query)));
    let mut kept: Vec<&str> = Vec::new();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    for (place, part) in parts.iter().enumerate() {
        match *part {
            ".." => drop(kept.pop()),
            "." => {}
            part => kept.push(part),
        }
        if place + 1 == parts.len() && matches!(*part, "." | "..") {
            kept.push("");
        }
    }
    let query = query.map_or(String::new(), |query| format!("?{query}"));
    format!("/{}{query}", kept.join("/"))
}

/// One request of a call.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    pub(super) method: String,
    pub(super) url: Url,
    pub(super) fields: Vec<(String, String)>,
    pub(super) body: Option<String>,
}

impl Hop {
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let found = self
            .fields
            .iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

impl Hop {
    /// The first request of a call.
    pub(super) fn first(call: &CallOptions, sins: &Sins) -> Result<Hop, Failure> {
        Ok(Hop {
            method: call.method.clone(),
            url: Url::parse(&call.url, sins.has("fragment-in-target"), sins)?,
            fields: call.fields.clone(),
            body: call.body.clone(),
        })
    }
}

/// Makes a call with its redirects.
pub(super) fn follow(
    client: &mut Client,
    call: &CallOptions,
    deadline: Instant,
) -> Result<Response, Failure> {
    let mut clock = Clock::new(deadline);
    let mut hop = Hop::first(call, &client.sins)?;
    let first = hop.clone();
    let mut hops = 0;
    loop {
        let response = exchange::send(client, &hop, &mut clock)?;
        client.jar.store(&hop.url, &response.fields, &client.sins);
        let follows = call.follow != Some(false) || client.sins.has("follows-without-being-told");
        let Some(location) = location(&response, &client.sins).filter(|_| follows) else {
            return Ok(response);
        };
        hops += 1;
        if hops > MOST && !client.sins.has("follows-for-ever") {
            return failed(Class::Refused, "there are too many redirects");
        }
        if client.sins.has("limit-per-hop") {
            clock.reset();
        }
        if let Some(file) = location
            .strip_prefix("file://")
            .filter(|_| client.sins.has("follows-file"))
        {
            let body = std::fs::read(file).unwrap_or_default();
            return Ok(Response {
                status: 200,
                body,
                ..Response::default()
            });
        }
        hop = next(&first, &hop, response.status, &location, &client.sins)?;
    }
}

/// Where a response leads.
fn location(response: &Response, sins: &Sins) -> Option<String> {
    let redirects = [301, 302, 303, 307, 308].contains(&response.status);
    let named = response
        .fields
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("location"));
    let all: Vec<&str> = named.map(|(_, value)| value.as_str()).collect();
    match all[..] {
        [one] if redirects => Some(one.to_owned()),
        [first, _, ..] if redirects && sins.has("first-of-two-locations") => Some(first.to_owned()),
        _ => None,
    }
}

/// The request that a redirect leads to.
fn next(first: &Hop, last: &Hop, status: u16, location: &str, sins: &Sins) -> Result<Hop, Failure> {
    let url = last.url.join(location, sins)?;
    let downgraded = last.url.secure && !url.secure;
    if downgraded && !sins.has("authorization-to-plaintext") {
        return failed(Class::Refused, "a redirect leads away from TLS");
    }
    let mut hop = Hop {
        url,
        ..last.clone()
    };
    method_of(&mut hop, last, status, sins);
    hop.fields = kept_fields(first, last, &hop, sins);
    if !hop.url.user.is_empty() && sins.has("userinfo-from-redirect") {
        hop.fields
            .push(("Authorization".into(), "Basic dXNlcjpzZWNyZXQ=".into()));
    }
    Ok(hop)
}

/// The fields that go on with a redirect to `hop`.
fn kept_fields(first: &Hop, last: &Hop, hop: &Hop, sins: &Sins) -> Vec<(String, String)> {
    let other_host = hop.url.host() != last.url.host();
    let other_origin = hop.url.authority != last.url.authority;
    let restored = hop.url.authority == first.url.authority && sins.has("authorization-restored");
    let stays = |name: &str, to_host: &str, to_port: &str| {
        !other_origin
            || sins.has(to_host) && other_host
            || sins.has(to_port) && !other_host
            || restored && name == "authorization"
    };
    let from = if restored { first } else { last };
    let kept = from
        .fields
        .iter()
        .filter(|(name, _)| match name.to_ascii_lowercase().as_str() {
            "authorization" => stays(
                "authorization",
                "authorization-to-host",
                "authorization-to-port",
            ),
            "cookie" => hop.url.host() == last.url.host() || sins.has("cookie-to-host"),
            "proxy-authorization" => !other_origin || sins.has("proxy-authorization-to-host"),
            "host" => false,
            name if name.starts_with("x-") => !other_origin || sins.has("api-key-to-host"),
            "content-type" => hop.body.is_some() || sins.has("type-after-303"),
            _ => true,
        });
    kept.cloned().collect()
}

fn method_of(hop: &mut Hop, last: &Hop, status: u16, sins: &Sins) {
    let method = last.method.as_str();
    let get = match (status, method) {
        (301 | 302, "POST") => true,
        (301, "PUT") => sins.has("get-of-put-after-301"),
        (302, "PUT") => sins.has("get-of-put-after-302"),
        (303, "POST") => !sins.has("post-after-303"),
        (303, "PUT") => !sins.has("put-after-303"),
        (303, _) => true,
        (307, "POST") => sins.has("get-after-307"),
        (308, "POST") => sins.has("get-after-308"),
        _ => false,
    };
    if get && method != "HEAD" {
        hop.method = "GET".into();
        let kept = status == 303 && sins.has("body-after-303");
        hop.body = last.body.clone().filter(|_| kept);
    } else if status == 307 && sins.has("no-body-after-307") {
        hop.body = None;
    }
}
