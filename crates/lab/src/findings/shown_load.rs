//! A load as documents and tables show it. Factors that all cells of the run share are left out.

use hecaton_test_server::Delay;
use serde::Serialize;

use crate::plan::{Load, Mode};
use crate::spec::{Job, Rate};

/// The factors of a load; those that may be absent are, where they are as usual.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShownLoad {
    /// Bytes of the response's body.
    pub body_bytes: usize,
    /// Mean delay of the test server before each response, in milliseconds; 0 when it responds at once. Only of rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<f64>,
    /// Requests that should be in flight.
    pub concurrency: usize,
    /// Whether connections are reused; absent means yes.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub keepalive: bool,
    /// The test server's delay; absent for that of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// Whether the test server uses TLS; absent for as in the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<bool>,
    /// Milliseconds of a round trip that the test server plays; absent if none is played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip_ms: Option<u64>,
    /// How a batch of a known size is sent; absent where requests are no batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Requests of a round, or of a batch; absent for as many as in the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// How each response is processed; absent for as in the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<Job>,
    /// The rate at which requests were sent; absent for the closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

impl ShownLoad {
    /// The factors of a load that differ from `usual`, the load of the plan.
    pub(super) fn new(load: &Load, usual: &Load) -> ShownLoad {
        let beyond = load.beyond(usual);
        ShownLoad {
            body_bytes: load.body_bytes,
            delay_ms: None,
            concurrency: load.concurrency,
            keepalive: load.keepalive,
            delay: (load.delay != usual.delay).then_some(load.delay),
            tls: beyond.tls.then_some(true),
            round_trip_ms: load.round_trip_ms,
            mode: load.mode,
            requests: beyond.requests,
            rate: load.rate,
            job: (!beyond.job.is_plain()).then_some(beyond.job),
        }
    }

    /// The load of a row, with the mean delay.
    pub(super) fn of_row(load: &Load, usual: &Load) -> ShownLoad {
        ShownLoad {
            delay_ms: Some(load.delay.mean().as_secs_f64() * 1e3),
            ..ShownLoad::new(load, usual)
        }
    }
}
