//! The bucket of a URL, with its settings from the environment, and how often its requests are sent again.

use std::sync::Arc;
use std::time::Duration;

use hecaton::{Client, Config};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, Error as StoreError, ObjectStore, RetryConfig};

use super::engine::Engine;
use crate::error::{Error, Result};

/// The deadline of one request.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long a request that failed is sent again.
const PATIENCE: Duration = Duration::from_secs(180);

/// The longest pause before a request is sent again.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// How a store that has responded is waited for. Ten tries can be over within two seconds, because the pauses are drawn
/// by chance.
pub fn patience() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            max_backoff: LONGEST_PAUSE,
            ..BackoffConfig::default()
        },
        max_retries: usize::MAX,
        retry_timeout: PATIENCE,
    }
}

/// The bucket of a URL, whose requests are sent again as `retry` says.
///
/// # Errors
/// When a setting is missing or cannot be used.
pub fn bucket_of(scheme: &str, url: &str, retry: RetryConfig) -> Result<Arc<dyn ObjectStore>> {
    let mut config = Config::new(TIMEOUT);
    // Pieces are small, and bytes are needed as they are stored.
    config.max_body = usize::MAX;
    config.decode = false;
    let client = Client::try_new(config).map_err(Error::usage)?;
    let engine = Engine::new(client);
    let refused = |error: StoreError| Error::usage(format!("cannot use {url}: {error}"));
    macro_rules! built {
        ($builder:ident) => {{
            let builder = $builder::from_env().with_url(url);
            let builder = builder.with_http_connector(engine).with_retry(retry);
            Arc::new(builder.build().map_err(refused)?)
        }};
    }
    Ok(match scheme {
        "s3" => built!(AmazonS3Builder),
        "gs" => built!(GoogleCloudStorageBuilder),
        _ => built!(MicrosoftAzureBuilder),
    })
}
