//! Object storage (S3, Google Cloud Storage, Azure) by the crate `object_store`, whose requests our own engine sends.
//!
//! Settings come from the environment, by the names that `object_store` documents: `AWS_ACCESS_KEY_ID`, `AWS_REGION`,
//! `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME` and so on.

mod bucket;
mod engine;
mod files;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::future::join;
use futures_util::{StreamExt, stream};
use hecaton::Reactor;
use object_store::path::Path;
use object_store::{
    Error as StoreError, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutPayload,
    RetryConfig,
};

use self::bucket::{bucket_of, patience};
use crate::error::{Error, Result};

/// Bytes of an object that are requested at once.
pub const PIECE: u64 = 8 << 20;

/// Objects that are read or written at once.
const AT_ONCE: usize = 8;

/// The result of an operation on a store.
type Stored<T> = std::result::Result<T, StoreError>;

/// A folder in an object store: a bucket and a prefix.
pub struct Store {
    reactor: Reactor,
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    url: String,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// An object's length and its version.
pub struct About {
    /// How many bytes it has.
    pub bytes: u64,
    /// Its version, if the store says one.
    pub etag: Option<String>,
}

/// An object in a list.
pub struct Found {
    /// Its name below the folder that was listed.
    pub name: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// When it was written, by the store's clock.
    pub modified: SystemTime,
}

impl Store {
    /// The folder, or the object, at `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`.
    ///
    /// # Errors
    /// When the URL names no bucket, or a setting is missing.
    pub fn open(url: &str) -> Result<Store> {
        let refused = |why: &str| Error::usage(format!("{url:?} {why}: write s3://bucket/prefix"));
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| refused("has no scheme"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(refused("names no bucket"));
        }
        let prefix = Path::parse(prefix.trim_end_matches('/'))
            .map_err(|error| refused(&format!("has no usable prefix ({error})")))?;
        let reactor = Reactor::new();
        Ok(Store {
            reactor: reactor.map_err(|error| Error::failed(format!("cannot start: {error}")))?,
            store: bucket_of(
                scheme,
                &format!("{scheme}://{bucket}"),
                RetryConfig::default(),
            )?,
            prefix,
            url: url.trim_end_matches('/').to_owned(),
        })
    }

    /// The same for a store that has responded: when it is away, or has too much to do, it is waited for.
    ///
    /// # Errors
    /// When a setting is missing.
    pub fn patient(self) -> Result<Store> {
        let (scheme, rest) = self.url.split_once("://").unwrap_or_default();
        let bucket = rest.split('/').next().unwrap_or_default();
        let store = bucket_of(scheme, &format!("{scheme}://{bucket}"), patience())?;
        Ok(Store { store, ..self })
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn path(&self, name: &str) -> Path {
        let names = name.split('/').filter(|name| !name.is_empty());
        names.fold(self.prefix.clone(), |path, name| path.join(name))
    }

    fn failed(&self, doing: &str, name: &str, error: &StoreError) -> Error {
        let path = [&self.url, name].join("/");
        let path = path.trim_end_matches('/');
        match error {
            StoreError::NotFound { .. } => {
                Error::failed(format!("cannot {doing} {path}: there is no such object"))
            }
            error => Error::failed(format!("cannot {doing} {path}: {error}")),
        }
    }

    /// The result of an operation on an object; none if there is no such object.
    fn found<T>(&self, doing: &str, name: &str, ended: Stored<T>) -> Result<Option<T>> {
        match ended {
            Ok(found) => Ok(Some(found)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(doing, name, &error)),
        }
    }

    async fn get(&self, name: &str, options: GetOptions) -> Stored<Bytes> {
        let found = self.store.get_opts(&self.path(name), options).await?;
        found.bytes().await
    }

    /// The facts about an object; none if there is no object. An empty name is the object at the URL itself.
    ///
    /// # Errors
    /// When the store cannot be reached, or refuses.
    pub fn about(&self, name: &str) -> Result<Option<About>> {
        let head = self.reactor.block_on(self.store.head(&self.path(name)));
        let found = self.found("read", name, head)?;
        Ok(found.map(|found| About {
            bytes: found.size,
            etag: found.e_tag,
        }))
    }

    /// A piece of an object, at most [`PIECE`] bytes from there on, if it still is of this version.
    ///
    /// # Errors
    /// As [`about`](Store::about), and when the object has changed.
    pub fn piece(&self, name: &str, about: &About, from: u64) -> Result<Bytes> {
        let until = about.bytes.min(from + PIECE);
        let options = GetOptions {
            range: Some(GetRange::Bounded(from..until)),
            if_match: about.etag.clone(),
            ..GetOptions::default()
        };
        let read = self.reactor.block_on(self.get(name, options));
        read.map_err(|error| self.failed("read", name, &error))
    }

    /// A whole object; none if there is none.
    ///
    /// # Errors
    /// As [`about`](Store::about).
    pub fn read(&self, name: &str) -> Result<Option<Bytes>> {
        let read = self.get(name, GetOptions::default());
        self.found("read", name, self.reactor.block_on(read))
    }

    /// All objects below a folder, with their names from there on.
    ///
    /// # Errors
    /// As [`about`](Store::about).
    pub fn list(&self, folder: &str) -> Result<Vec<Found>> {
        let home = self.path(folder);
        let listed = self.store.list(Some(&home));
        let listed: Vec<Stored<_>> = self.reactor.block_on(listed.collect());
        let mut objects = Vec::new();
        for found in listed {
            let found = found.map_err(|error| self.failed("list", folder, &error))?;
            let rest = found.location.prefix_match(&home);
            let rest: Vec<_> = rest
                .into_iter()
                .flatten()
                .map(|part| part.as_ref().to_owned())
                .collect();
            objects.push(Found {
                name: rest.join("/"),
                bytes: found.size,
                modified: found.last_modified.into(),
            });
        }
        Ok(objects)
    }

    /// Whether each of two objects is there.
    ///
    /// # Errors
    /// As [`about`](Store::about).
    pub fn are_there(&self, names: [&str; 2]) -> Result<[bool; 2]> {
        let paths = names.map(|name| self.path(name));
        let heads = join(self.store.head(&paths[0]), self.store.head(&paths[1]));
        let (one, other) = self.reactor.block_on(heads);
        Ok([
            self.found("read", names[0], one)?.is_some(),
            self.found("read", names[1], other)?.is_some(),
        ])
    }

    /// Hands over pieces of objects in this order, while the next ones are on their way: whole objects, or the bytes of
    /// a range.
    ///
    /// # Errors
    /// As [`about`](Store::about), when there is no such object, and when the taker fails.
    pub fn read_each(
        &self,
        pieces: &[(String, Option<Range<u64>>)],
        take: &mut dyn FnMut(usize, Bytes) -> Result<()>,
    ) -> Result<()> {
        let gets = pieces.iter().map(|(name, range)| async move {
            let options = GetOptions {
                range: range.clone().map(GetRange::Bounded),
                ..GetOptions::default()
            };
            let read = self.get(name, options).await;
            read.map_err(|error| self.failed("read", name, &error))
        });
        let mut gets = stream::iter(gets).buffered(AT_ONCE).enumerate();
        self.reactor.block_on(async {
            while let Some((number, bytes)) = gets.next().await {
                take(number, bytes?)?;
            }
            Ok(())
        })
    }

    /// Removes an object, if it is there.
    ///
    /// # Errors
    /// As [`about`](Store::about).
    pub fn remove(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        let removed = self.reactor.block_on(self.store.delete(&path));
        self.found("remove", name, removed).map(drop)
    }

    /// Writes an object, whatever was there.
    ///
    /// # Errors
    /// As [`about`](Store::about).
    pub fn write(&self, name: &str, content: impl Into<Bytes>) -> Result<()> {
        let payload = PutPayload::from(content.into());
        let path = self.path(name);
        let put = self.reactor.block_on(self.store.put(&path, payload));
        put.map(drop)
            .map_err(|error| self.failed("write", name, &error))
    }

    /// Copies an object within the store.
    ///
    /// # Errors
    /// As [`about`](Store::about).
    pub fn copy(&self, from: &str, to: &str) -> Result<()> {
        let (source, target) = (self.path(from), self.path(to));
        let copied = self.reactor.block_on(self.store.copy(&source, &target));
        copied.map_err(|error| self.failed("copy", from, &error))
    }

    /// Creates an object exclusively; false if one is there with other content.
    ///
    /// The response of a put may be lost, and nobody knows then whether it was done. The object decides: it is ours if
    /// it has our content. So the content must say whose it is.
    ///
    /// # Errors
    /// As [`about`](Store::about).
    pub fn create(&self, name: &str, content: impl Into<Bytes>) -> Result<bool> {
        let content = content.into();
        let mut last = None;
        for _ in 0..TRIES {
            let payload = PutPayload::from(content.clone());
            let path = self.path(name);
            let put = self.store.put_opts(&path, payload, PutMode::Create.into());
            match self.reactor.block_on(put) {
                Ok(_) => return Ok(true),
                Err(StoreError::NotImplemented { .. }) => {
                    return Err(Error::usage(format!(
                        "{} cannot create an object exclusively, which a job needs: use a store with conditional puts",
                        self.url
                    )));
                }
                Err(error) => last = Some(error),
            }
            if let Some(found) = self.read(name)? {
                return Ok(found == content);
            }
        }
        match last {
            Some(error) => Err(self.failed("create", name, &error)),
            None => Ok(false),
        }
    }
}

/// Puts whose outcome is unknown and that left no object.
const TRIES: u32 = 5;
