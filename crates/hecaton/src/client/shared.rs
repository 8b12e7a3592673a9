//! The settings, connections and counts that clones of a client share.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::client::digest::spaces::Spaces;
use crate::client::hooks::Hooks;
use crate::config::Config;
use crate::config::cookies::Cookies;
use crate::content::buffered::Buffered;
use crate::message::failure::InvalidRequest;
use crate::pool::Pool;

pub(crate) struct Shared {
    pub config: Arc<Config>,
    pub pool: Arc<Pool>,
    /// None without a limit.
    pub buffered: Option<Arc<Buffered>>,
    /// None without a jar.
    pub cookies: Option<Cookies>,
    pub digests: Arc<Spaces>,
    /// The program's hooks, for requests that use them.
    pub hooks: Option<Arc<dyn Hooks>>,
    pub counts: Arc<Counts>,
}

/// Totals of all clients on the same connections.
#[derive(Default)]
pub(crate) struct Counts {
    pub requests: AtomicU64,
    pub retries: AtomicU64,
}

impl Shared {
    pub fn new(config: Config) -> Result<Shared, InvalidRequest> {
        let config = Arc::new(config);
        Ok(Shared {
            pool: Arc::new(Pool::new(config.clone())?),
            buffered: config.max_buffered.map(Buffered::new),
            cookies: config.cookies.clone(),
            config,
            digests: Arc::default(),
            hooks: None,
            counts: Arc::default(),
        })
    }

    /// Another handle on each field, for a client that replaces some of them.
    pub fn clone_of_parts(&self) -> Shared {
        Shared {
            config: self.config.clone(),
            pool: self.pool.clone(),
            buffered: self.buffered.clone(),
            cookies: self.cookies.clone(),
            digests: self.digests.clone(),
            hooks: self.hooks.clone(),
            counts: self.counts.clone(),
        }
    }
}
