//! Shows an attempt to the program before it is made. The program may change its headers.

use std::sync::Arc;

use crate::client::hooks::{Changes, Upcoming};
use crate::client::shared::Shared;
use crate::h1::encode::encode;
use crate::message::attempt::Trace;
use crate::message::failure::{Failure, InvalidRequest, Kind, Phase};
use crate::message::fields::Fields;
use crate::message::request::Request;

impl Shared {
    /// The request of the next attempt with the program's changes; none if there are none. Boxed, because few requests
    /// have such a hook.
    pub async fn before_attempt(
        self: &Arc<Self>,
        request: &Request,
        trace: &mut Trace,
    ) -> Result<Option<Box<Request>>, Failure> {
        let number = request
            .options
            .as_ref()
            .and_then(|own| own.before_attempt_number);
        let (Some(number), Some(hooks)) = (number, &self.hooks) else {
            return Ok(None);
        };
        let upcoming = self.upcoming(request, trace.attempts.len() + 1);
        let refused = |why| Failure::new(Kind::Protocol, Phase::Queue, why).for_good();
        let changes = hooks.before_attempt(number, upcoming).await;
        trace.lap();
        let changes = changes.ok_or_else(|| refused("the program has stopped it".to_owned()))?;
        if changes.is_empty() {
            return Ok(None);
        }
        let changed = changed(request.clone(), changes);
        changed
            .map(|changed| Some(Box::new(changed)))
            .map_err(|error| refused(error.to_string()))
    }

    /// The attempt as the program sees it.
    pub fn upcoming(&self, request: &Request, number: usize) -> Upcoming {
        let mut bytes = Vec::new();
        encode(request, &self.config, None, &mut bytes);
        let first = bytes.iter().position(|byte| *byte == b'\n');
        let fields = Fields(&bytes[first.map_or(0, |end| end + 1)..]);
        let fields = fields.iter();
        Upcoming {
            number,
            method: request.method.as_str().to_owned(),
            url: request.url(),
            headers: fields
                .map(|(name, value)| (name.to_owned(), value.to_vec()))
                .collect(),
            has_body: !request.body.is_empty(),
            decodes: self.config.decodes(request.flags),
        }
    }
}

/// The request with other headers.
fn changed(mut request: Request, changes: Changes) -> Result<Request, InvalidRequest> {
    for (name, _) in &changes {
        let name = name.to_ascii_lowercase();
        request.retain(|other, _| other != name);
    }
    for (name, value) in changes {
        if let Some(value) = value {
            request = request.header(&name, &value)?;
        }
    }
    request.checked()
}
