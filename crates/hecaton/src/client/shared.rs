//! What the clones of a client share: settings, connections, and what is counted.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::config::Config;
use crate::content::buffered::Buffered;
use crate::message::failure::InvalidRequest;
use crate::pool::Pool;

pub(crate) struct Shared {
    pub config: Arc<Config>,
    pub pool: Arc<Pool>,
    /// None without a limit.
    pub buffered: Option<Arc<Buffered>>,
    pub requests: AtomicU64,
    pub retries: AtomicU64,
}

impl Shared {
    pub fn new(config: Config) -> Result<Shared, InvalidRequest> {
        let config = Arc::new(config);
        Ok(Shared {
            pool: Arc::new(Pool::new(config.clone())?),
            buffered: config.max_buffered.map(Buffered::new),
            config,
            requests: AtomicU64::new(0),
            retries: AtomicU64::new(0),
        })
    }
}
