//! Digest authentication (RFC 7616): login, challenge, and the header that responds to a challenge. Data and hashes.

pub(crate) mod challenge;
pub(crate) mod response;

use std::fmt;
use std::sync::Arc;

use self::response::Session;
use crate::message::failure::InvalidRequest;

/// A user and a password.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Login {
    user: String,
    password: String,
}

impl Login {
    /// A login with this user and password. Refuses control characters.
    pub fn new(user: &str, password: &str) -> Result<Login, InvalidRequest> {
        if user.chars().chain(password.chars()).any(char::is_control) {
            let why = "digest_auth contains a control character";
            return Err(InvalidRequest(why.into()));
        }
        let (user, password) = (user.into(), password.into());
        Ok(Login { user, password })
    }
}

/// Leaves out the password and the name.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(..)")
    }
}

/// How far the digest authentication of a request has come.
#[derive(Clone, Debug)]
pub(crate) struct Digest {
    pub login: Arc<Login>,
    /// The session that this request's own challenge began, none before.
    pub session: Option<Arc<Session>>,
    /// How many challenges of this URL got a response.
    pub challenges: u32,
    /// The `Authorization` of the attempt, as a line; empty without one.
    pub field: Vec<u8>,
}

impl Digest {
    pub fn new(login: Arc<Login>) -> Digest {
        Digest {
            login,
            session: None,
            challenges: 0,
            field: Vec::new(),
        }
    }

    /// Forgets the challenge of the URL before.
    pub fn begin(&mut self) {
        self.session = None;
        self.challenges = 0;
        self.field.clear();
    }
}
