//! The cookies of the saint and the sinner, as RFC 6265 says. Hosts are addresses here, so a domain has no parent.

use super::hop::Url;
use super::outcome::values;
use super::sins::Sins;

/// The cookies that servers have set.
#[derive(Debug, Default)]
pub(super) struct Jar(Vec<Cookie>);

#[derive(Debug, PartialEq)]
struct Cookie {
    host: String,
    path: String,
    name: String,
    value: String,
    secure: bool,
}

impl Jar {
    /// The cookies for a URL, as one header.
    pub(super) fn header(&self, url: &Url, sins: &Sins) -> String {
        let path = url.path.split('?').next().unwrap_or_default();
        let within = |cookie: &Cookie| {
            let rest = path.strip_prefix(&cookie.path);
            let prefix = sins.has("cookie-path-prefix");
            sins.has("cookie-ignores-path")
                || rest.is_some_and(|rest| {
                    prefix || rest.is_empty() || rest.starts_with('/') || cookie.path.ends_with('/')
                })
        };
        let sent = self.0.iter().filter(|cookie| {
            (cookie.host == url.host() || sins.has("cookie-to-everyone"))
                && within(cookie)
                && (!cookie.secure || url.secure || sins.has("cookie-secure-plain"))
        });
        let mut sent: Vec<&Cookie> = sent.collect();
        sent.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs = sent
            .iter()
            .map(|cookie| format!("{}={}", cookie.name, cookie.value));
        pairs.collect::<Vec<_>>().join("; ")
    }

    /// Keeps what a response sets.
    pub(super) fn store(&mut self, url: &Url, fields: &[(String, String)], sins: &Sins) {
        let most = if sins.has("cookie-first-only") {
            1
        } else {
            usize::MAX
        };
        for text in values(fields, "set-cookie").take(most) {
            self.set(url, text, sins);
        }
    }

    fn set(&mut self, url: &Url, text: &str, sins: &Sins) {
        let mut parts = text.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
            return;
        };
        let attributes = Attributes::of(parts);
        let mut host = url.host().to_owned();
        if let Some(domain) = attributes.get("domain").filter(|domain| !domain.is_empty()) {
            match domain == host || sins.has("cookie-from-other-host") {
                true => host = domain.to_owned(),
                false => return,
            }
        }
        let secure = attributes.get("secure").is_some();
        if name.trim().starts_with("__Host-") && !secure && !sins.has("cookie-prefix-ignored") {
            return;
        }
        let path = attributes.get("path");
        let path = path.filter(|path| path.starts_with('/'));
        let cookie = Cookie {
            host,
            path: path.unwrap_or(default_path(url)).to_owned(),
            name: name.trim().to_owned(),
            value: value.trim().to_owned(),
            secure,
        };
        if !sins.has("cookie-never-replaced") {
            self.0.retain(|old| {
                (&old.host, &old.path, &old.name) != (&cookie.host, &cookie.path, &cookie.name)
            });
        }
        if !attributes.are_over(sins) {
            self.0.push(cookie);
        }
    }
}

/// The path of a cookie that names none (RFC 6265 §5.1.4).
fn default_path(url: &Url) -> &str {
    let path = url.path.split('?').next().unwrap_or_default();
    let end = path.rfind('/').filter(|at| *at > 0);
    end.map_or("/", |at| &path[..at])
}

/// The attributes of a cookie.
struct Attributes<'a>(Vec<(String, &'a str)>);

impl<'a> Attributes<'a> {
    fn of(parts: impl Iterator<Item = &'a str>) -> Attributes<'a> {
        let pairs = parts.map(|part| part.split_once('=').unwrap_or((part, "")));
        let pairs = pairs.map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim()));
        Attributes(pairs.collect())
    }

    /// The value of an attribute. Of attributes that are repeated, the last one counts.
    fn get(&self, needed: &str) -> Option<&'a str> {
        let mut attributes = self.0.iter().rev();
        let found = attributes.find(|(name, _)| name == needed);
        found.map(|(_, value)| *value)
    }

    /// Whether they remove the cookie.
    fn are_over(&self, sins: &Sins) -> bool {
        let expires = self.get("expires");
        let age = self.get("max-age").and_then(|age| age.parse::<i64>().ok());
        match age.filter(|_| !sins.has("cookie-expires-wins") || expires.is_none()) {
            Some(age) => age <= 0 && !sins.has("cookie-ignores-max-age"),
            None => expires.is_some_and(|date| {
                let is_usual = date.contains(" GMT") && !date.contains('-');
                has_expired(date, sins) && !(is_usual && sins.has("cookie-ignores-expires"))
            }),
        }
    }
}

/// Whether a date is before 2020. The cases use only years that are far in the past or in the future.
fn has_expired(date: &str, sins: &Sins) -> bool {
    let unread = (sins.has("cookie-date-rfc850") && date.contains('-'))
        || (sins.has("cookie-date-asctime") && date.ends_with(|char: char| char.is_ascii_digit()));
    if unread {
        return false;
    }
    let pivot = if sins.has("cookie-date-two-digits") {
        60
    } else {
        70
    };
    let tokens = date.split(|char: char| !char.is_ascii_alphanumeric() && char != ':');
    let mut numbers = tokens.filter_map(|token| {
        let digits: String = token.chars().take_while(char::is_ascii_digit).collect();
        (!token.contains(':') && matches!(digits.len(), 2 | 4))
            .then(|| digits.parse::<u32>().ok())
            .flatten()
    });
    // The day has two digits at most, and stands before a year of two digits.
    let year = numbers.next_back().map(|year| match year {
        year if (pivot..100).contains(&year) => year + 1900,
        year if year < 100 => year + 2000,
        year => year,
    });
    year.is_some_and(|year| year < 2020)
}
