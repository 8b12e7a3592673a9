//! Clients that use the connections of another with settings of their own: which settings may differ.

use std::sync::Arc;

use crate::client::Client;
use crate::client::shared::Shared;
use crate::config::Config;
use crate::config::cookies::Cookies;
use crate::config::proxy::Proxy;
use crate::message::failure::InvalidRequest;

/// Settings for requests on the connections of a client, checked.
#[derive(Clone)]
pub struct Settings(Arc<Config>);

impl Client {
    /// Checks settings for [`with`](Client::with): settings of connections must equal this client's, because the
    /// connections are shared.
    pub fn settings(&self, mut config: Config) -> Result<Settings, InvalidRequest> {
        super::check(&mut config)?;
        let other = self.0.pool.config.different_connections(&config);
        if !other.is_empty() {
            let names = other.join(", ");
            let why = "of connections, which are shared: make a client of its own for others";
            return Err(InvalidRequest(format!("{names}: settings {why}")));
        }
        Ok(Settings(Arc::new(config)))
    }

    /// A client with other settings for its requests. It shares this client's connections and their limits, the nonces
    /// of digest authentication, and the counts. Its jar is `cookies`, whatever the settings say.
    pub fn with(&self, settings: &Settings, cookies: Option<Cookies>) -> Client {
        Client(Arc::new(Shared {
            config: settings.0.clone(),
            cookies,
            ..self.0.clone_of_parts()
        }))
    }

    /// A client with the same settings and connections of its own, for a thread with a [`Reactor`](crate::Reactor) of
    /// its own. Both share the jar of cookies, and their bodies count together towards `max_buffered`. Other limits are
    /// each client's own. Fails as [`Client::try_new`] does.
    pub fn separate(&self) -> Result<Client, InvalidRequest> {
        self.separate_through(self.0.config.proxy.clone())
    }

    /// A [separate](Client::separate) client through another proxy.
    pub fn separate_through(&self, proxy: Proxy) -> Result<Client, InvalidRequest> {
        self.separate_with(|config| config.proxy = proxy)
    }

    /// A [separate](Client::separate) client with other settings of its connections.
    pub fn separate_with(
        &self,
        change: impl FnOnce(&mut Config),
    ) -> Result<Client, InvalidRequest> {
        let mut config = Config::clone(&self.0.config);
        change(&mut config);
        super::check(&mut config)?;
        Ok(Client(Arc::new(Shared {
            cookies: self.0.cookies.clone(),
            buffered: self.0.buffered.clone(),
            hooks: self.0.hooks.clone(),
            ..Shared::new(config)?
        })))
    }

    /// A client with these hooks, and otherwise with the settings and connections of this one. The retry predicate is
    /// called for requests with [`call_retry_predicate`](crate::Request::call_retry_predicate).
    pub fn with_hooks(&self, hooks: Arc<dyn super::hooks::Hooks>) -> Client {
        Client(Arc::new(Shared {
            hooks: Some(hooks),
            ..self.0.clone_of_parts()
        }))
    }
}
