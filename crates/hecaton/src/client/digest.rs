//! Digest authentication (RFC 7616): what a request is sent with, and which demands are met.
//!
//! The attempt that met a demand is listed like every other, and so is the one before, which ended in 401. Both count for the one
//! deadline. A nonce is used again by later requests of the same login to the same place, numbered, so that they are asked once.

pub(super) mod spaces;

use std::sync::Arc;

use crate::client::shared::Shared;
use crate::message::digest::Digest;
use crate::message::digest::challenge::{self, Challenge};
use crate::message::digest::proof::{DigestInput, Session};
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::request::Request;

/// Most demands that a request meets for one URL: the first, and those that call only the nonce old.
const MOST_CHALLENGES: u32 = 3;

impl Shared {
    /// Begins with a URL: what was demanded at another is of no matter.
    pub fn begin_digest(request: &mut Request) {
        if let Some(digest) = digest(request) {
            digest.begin();
        }
    }

    /// Makes what an attempt is sent with: the answer to the demand that was met last, of this request or of one before it.
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
        // A body that cannot be summed up now is none for this session, whose server will ask anew.
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

    /// The demand of this response, if it is met by another attempt.
    pub fn demand(request: &Request, status: u16, fields: &[u8]) -> Option<Challenge> {
        if status != 401 {
            return None;
        }
        let digest = request.options.as_ref()?.digest.as_ref()?;
        let challenge = challenge::first(fields, request.body.whole().is_some())?;
        let met = match digest.answered {
            0 => true,
            answered => challenge.stale && answered < MOST_CHALLENGES,
        };
        met.then_some(challenge)
    }

    /// Heeds the answer to an attempt with digest authentication. True if it has to be made again, to meet a demand; a
    /// failure if it cannot be.
    pub fn heed_digest(
        &self,
        request: &mut Request,
        status: u16,
        fields: &[u8],
    ) -> Result<bool, Failure> {
        let Some(challenge) = Shared::demand(request, status, fields) else {
            self.heed_next_nonce(request, fields);
            return Ok(false);
        };
        if !request.body.begin_again() {
            let why = "the server asks for the request again, with digest authentication, and its body can be read only once: \
                       give it as a String or a file";
            return Err(Failure::new(Kind::Body, Phase::Send, why).for_good());
        }
        let session = Arc::new(Session::new(challenge));
        let (origin, target) = (request.origin.clone(), request.target.clone());
        if let Some(digest) = digest(request) {
            self.digests
                .keep(&origin, &digest.login, &target, session.clone());
            digest.session = Some(session);
            digest.answered += 1;
        }
        Ok(true)
    }

    /// The server may say which nonce it wants to see next (RFC 7616 §3.5).
    fn heed_next_nonce(&self, request: &mut Request, fields: &[u8]) {
        let Some(nonce) = challenge::next_nonce(fields) else {
            return;
        };
        let (origin, target) = (request.origin.clone(), request.target.clone());
        let Some(digest) = digest(request).filter(|digest| !digest.field.is_empty()) else {
            return;
        };
        let known = digest.session.clone();
        let known = known.or_else(|| self.digests.find(&origin, &digest.login, &target));
        // The one that is in use goes on to be counted.
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
