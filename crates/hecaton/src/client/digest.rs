//! Digest authentication (RFC 7616): the header that a request is sent with, and which challenges get a response.
//!
//! A challenged request has two attempts: one that ends in 401, and one with the response to the challenge. A server
//! that says that the nonce is stale causes further ones (`MOST_CHALLENGES`). All are listed in the outcome and share
//! the request's deadline. Later requests to that protection space reuse the nonce and increment its count, so they
//! usually need no challenge.

pub(super) mod spaces;

use std::sync::Arc;

use crate::client::shared::Shared;
use crate::message::digest::Digest;
use crate::message::digest::challenge::{self, Challenge};
use crate::message::digest::response::{DigestInput, Session};
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::request::Request;

/// A request responds to at most this many challenges of one URL: the first, and later ones that only say that the
/// nonce is stale.
const MOST_CHALLENGES: u32 = 3;

impl Shared {
    /// Forgets the challenges of the previous URL when the request goes to a new one.
    pub fn begin_digest(request: &mut Request) {
        if let Some(digest) = digest(request) {
            digest.begin();
        }
    }

    /// Writes the header of an attempt, for the latest challenge of this request, or else of an earlier request.
    pub fn prove(&self, request: &mut Request) {
        let Some(mut digest) = take(request) else {
            return;
        };
        let known = digest.session.clone();
        let known = known.or_else(|| {
            self.digests
                .find(&request.origin, &digest.login, &request.target)
        });
        digest.field.clear();
        // A session may need a hash of a body that cannot be hashed now. Then no header is sent, and the server
        // challenges anew.
        let body = request.body.whole();
        if let Some(session) = known.filter(|session| session.suits(body)) {
            let input = DigestInput {
                method: request.method.as_str(),
                target: request.target.as_str(),
                body,
            };
            session.write(&digest.login, &input, &mut digest.field);
        }
        put_back(request, digest);
    }

    /// The challenge of this response, if another attempt is to respond to it.
    pub fn demand(request: &Request, status: u16, fields: &[u8]) -> Option<Challenge> {
        if status != 401 {
            return None;
        }
        let digest = request.options.as_ref()?.digest.as_ref()?;
        let challenge = challenge::first(fields, request.body.whole().is_some())?;
        let responds = match digest.challenges {
            0 => true,
            seen => challenge.stale && seen < MOST_CHALLENGES,
        };
        responds.then_some(challenge)
    }

    /// Handles the response to an attempt with digest authentication. True if the request must be sent again in
    /// response to a challenge; a failure if that is impossible.
    pub fn take_challenge(
        &self,
        request: &mut Request,
        status: u16,
        fields: &[u8],
    ) -> Result<bool, Failure> {
        let Some(challenge) = Shared::demand(request, status, fields) else {
            self.keep_next_nonce(request, fields);
            return Ok(false);
        };
        if !request.body.begin_again() {
            let why = "digest authentication needs the request to be sent again, but its body can be read only once: \
                       give the body as a String or a file";
            return Err(Failure::new(Kind::Body, Phase::Send, why).for_good());
        }
        let session = Arc::new(Session::new(challenge));
        let (origin, target) = (request.origin.clone(), request.target.clone());
        if let Some(digest) = digest(request) {
            self.digests
                .keep(&origin, &digest.login, &target, session.clone());
            digest.session = Some(session);
            digest.challenges += 1;
        }
        Ok(true)
    }

    /// The server may name the nonce to use next (RFC 7616 §3.5).
    fn keep_next_nonce(&self, request: &mut Request, fields: &[u8]) {
        let Some(nonce) = challenge::next_nonce(fields) else {
            return;
        };
        let (origin, target) = (request.origin.clone(), request.target.clone());
        let Some(digest) = digest(request).filter(|digest| !digest.field.is_empty()) else {
            return;
        };
        let known = digest.session.clone();
        let known = known.or_else(|| self.digests.find(&origin, &digest.login, &target));
        // The session in use keeps its count.
        if let Some(session) = known.filter(|known| known.challenge.nonce != nonce) {
            let next = Arc::new(session.next(nonce));
            self.digests
                .keep(&origin, &digest.login, &target, next.clone());
            digest.session = digest.session.is_some().then_some(next);
        }
    }
}

fn digest(request: &mut Request) -> Option<&mut Digest> {
    request.options.as_mut()?.digest.as_mut()
}

fn take(request: &mut Request) -> Option<Digest> {
    request.options.as_mut()?.digest.take()
}

fn put_back(request: &mut Request, digest: Digest) {
    if let Some(options) = &mut request.options {
        options.digest = Some(digest);
    }
}
