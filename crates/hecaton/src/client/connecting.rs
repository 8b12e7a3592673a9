//! Opens a connection before a request needs it.

use std::time::Instant;

use tokio::time::timeout_at;

use super::{Client, failed};
use crate::message::attempt::{Attempt, Ending, Trace};
use crate::message::error::Error;
use crate::message::request::Request;

impl Client {
    /// Connects to the origin of `request`, and sends nothing: the next request there finds an idle connection. Opens
    /// none if one is idle already. Returns what was connected to, as an attempt. The limits are those of a request.
    pub fn connect(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<Vec<Attempt>, Error>> + Send + use<> {
        let shared = self.0.clone();
        async move {
            let mut trace = Trace::new(request.timeout.unwrap_or(shared.config.timeout));
            trace.begin();
            let at = trace.deadline.at.into();
            let connecting = Box::pin(shared.pool.connect(&request.origin, &mut trace));
            let result = timeout_at(at, connecting).await;
            match shared.by_deadline(result, &request.origin, &trace) {
                Ok(()) => Ok(trace.attempts),
                Err(failure) => {
                    trace.end(Ending::Failed, Instant::now());
                    Err(failed(request, failure, trace))
                }
            }
        }
    }
}
