//! The protection spaces that a client knows (RFC 7616 §3.3, `domain`), each with its latest session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use foldhash::fast::RandomState;
use http::uri::PathAndQuery;
use url::Url;

use crate::message::digest::Login;
use crate::message::digest::response::Session;
use crate::message::origin::{Origin, display_url};
use crate::runtime::lock::lock;

/// At most this many realms of one login at one origin are remembered; a new one replaces the oldest.
const MOST_REALMS: usize = 16;

/// At most this many pairs of an origin and a login are remembered. One more pair clears the map.
const MOST_PAIRS: usize = 1000;

/// All protection spaces of a client.
#[derive(Default)]
pub(crate) struct Spaces(Mutex<Known>);

type Known = HashMap<(Arc<Origin>, Arc<Login>), Vec<Space>, RandomState>;

struct Space {
    /// Beginnings of paths; an empty one matches all paths.
    beginnings: Vec<String>,
    session: Arc<Session>,
}

impl Spaces {
    /// The session for a URL: the one with the longest matching beginning of the path.
    pub fn find(
        &self,
        origin: &Arc<Origin>,
        login: &Arc<Login>,
        target: &PathAndQuery,
    ) -> Option<Arc<Session>> {
        let spaces = lock(&self.0);
        let spaces = spaces.get(&(origin.clone(), login.clone()))?;
        let known = spaces.iter().filter_map(|space| {
            let beginnings = space.beginnings.iter();
            let fitting = beginnings.filter(|path| target.path().starts_with(path.as_str()));
            Some((fitting.map(String::len).max()?, &space.session))
        });
        let (_, session) = known.max_by_key(|(length, _)| *length)?;
        Some(session.clone())
    }

    /// Stores a session. It replaces an older session for the same realm.
    pub fn keep(
        &self,
        origin: &Arc<Origin>,
        login: &Arc<Login>,
        target: &PathAndQuery,
        session: Arc<Session>,
    ) {
        let beginnings = beginnings(origin, target, &session.challenge.domain);
        let mut all = lock(&self.0);
        let pair = (origin.clone(), login.clone());
        if all.len() >= MOST_PAIRS && !all.contains_key(&pair) {
            all.clear();
        }
        let spaces = all.entry(pair).or_default();
        spaces.retain(|space| space.session.challenge.realm != session.challenge.realm);
        if spaces.len() >= MOST_REALMS {
            spaces.remove(0);
        }
        spaces.push(Space {
            beginnings,
            session,
        });
    }
}

/// The paths at this origin that `domain` names. Another origin gets a digest only after a challenge of its own.
fn beginnings(origin: &Origin, target: &PathAndQuery, domain: &[String]) -> Vec<String> {
    if domain.is_empty() {
        return vec![String::new()];
    }
    let Ok(here) = Url::parse(&display_url(origin, target)) else {
        return Vec::new();
    };
    let urls = domain.iter().filter_map(|url| here.join(url).ok());
    let own = urls.filter(|url| url.origin() == here.origin());
    own.map(|url| url.path().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::digest::challenge::first;
    use crate::message::origin::Scheme;

    fn origin(host: &str) -> Arc<Origin> {
        Arc::new(Origin {
            scheme: Scheme::Http,
            host: host.into(),
            port: 80,
        })
    }

    fn session(realm: &str, domain: &str) -> Arc<Session> {
        let field = format!(r#"Digest realm="{realm}", nonce=n, domain="{domain}""#);
        let fields = format!("www-authenticate: {field}\r\n");
        Arc::new(Session::new(first(fields.as_bytes(), true).unwrap()))
    }

    #[test]
    fn a_session_is_for_its_login_its_origin_and_its_paths() {
        let spaces = Spaces::default();
        let login = |user| Arc::new(Login::new(user, "p").unwrap());
        let target = |path: &'static str| PathAndQuery::from_static(path);
        let keep = |session| spaces.keep(&origin("a"), &login("u"), &target("/x"), session);
        let found = |host, user, path| {
            let session = spaces.find(&origin(host), &login(user), &target(path))?;
            Some(String::from_utf8(session.challenge.realm.clone()).unwrap())
        };
        assert_eq!(found("a", "u", "/"), None);
        keep(session("all", ""));
        keep(session("some", "/b/ http://a:80/c?d http://other/e"));
        for (path, realm) in [
            ("/", "all"),
            ("/b/d?e", "some"),
            ("/c", "some"),
            ("/e", "all"),
        ] {
            assert_eq!(found("a", "u", path).as_deref(), Some(realm), "{path}");
        }
        assert_eq!(found("other", "u", "/e"), None);
        assert_eq!(found("a", "v", "/"), None);
        keep(session("all", "/elsewhere"));
        assert_eq!(
            found("a", "u", "/"),
            None,
            "the newer session replaces the other"
        );
    }

    #[test]
    fn the_number_of_sessions_is_limited() {
        let spaces = Spaces::default();
        let login = Arc::new(Login::new("u", "p").unwrap());
        let target = PathAndQuery::from_static("/");
        for number in 0..2 * MOST_PAIRS {
            let origin = origin(&number.to_string());
            spaces.keep(&origin, &login, &target, session("r", ""));
        }
        for number in 0..2 * MOST_REALMS {
            spaces.keep(
                &origin("a"),
                &login,
                &target,
                session(&number.to_string(), ""),
            );
        }
        let all = lock(&spaces.0);
        assert!(all.len() <= MOST_PAIRS, "{}", all.len());
        assert_eq!(all[&(origin("a"), login)].len(), MOST_REALMS);
    }
}
