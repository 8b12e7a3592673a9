//! One request of a call, and its URL.

use super::outcome::{Class, Failure, failed, values};
use super::sins::Sins;
use crate::subject::CallOptions;

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
    pub(super) fn join(&self, location: &str, sins: &Sins) -> Result<Url, Failure> {
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
        values(&self.fields, name).next()
    }

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
