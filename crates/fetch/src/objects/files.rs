//! Files as objects: written in pieces if they are long, or many at once, and brought back.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use futures_util::{StreamExt, stream};
use object_store::{Error as StoreError, ObjectStoreExt, PutPayload};

use super::{AT_ONCE, PIECE, Store};
use crate::error::{Error, Result, at};

/// Files of at least so many bytes are written one by one.
const TOGETHER: u64 = 1 << 20;

impl Store {
    /// Writes a file as an object, in pieces if it is long.
    ///
    /// # Errors
    /// As [`about`](Store::about), and when the file cannot be read.
    pub fn upload(&self, file: &Path, name: &str) -> Result<()> {
        let mut opened = File::open(file).map_err(at("read", file))?;
        let mut next = || -> Result<Vec<u8>> {
            let mut piece = Vec::new();
            let read = (&mut opened).take(PIECE).read_to_end(&mut piece);
            read.map_err(at("read", file)).map(|_| piece)
        };
        let first = next()?;
        if (first.len() as u64) < PIECE {
            return self.write(name, first);
        }
        let path = self.path(name);
        let refused = |error: StoreError| self.failed("write", name, &error);
        let begun = self.reactor.block_on(self.store.put_multipart(&path));
        let mut upload = begun.map_err(refused)?;
        let mut piece = first;
        while !piece.is_empty() {
            let put = self.reactor.block_on(upload.put_part(piece.into()));
            put.map_err(refused)?;
            piece = next()?;
        }
        let done = self.reactor.block_on(upload.complete());
        done.map(|_| ()).map_err(refused)
    }

    /// Writes files as objects: small ones at the same time, and long ones in pieces.
    ///
    /// # Errors
    /// As [`upload`](Store::upload).
    pub fn upload_all(&self, files: &[(PathBuf, String)]) -> Result<()> {
        let mut small = Vec::new();
        for (file, name) in files {
            let about = std::fs::metadata(file).map_err(at("read", file))?;
            match about.len() < TOGETHER {
                true => small.push((file, name)),
                false => self.upload(file, name)?,
            }
        }
        let puts = small.into_iter().map(|(file, name)| async move {
            let content = std::fs::read(file).map_err(at("read", file))?;
            let path = self.path(name);
            let put = self.store.put(&path, PutPayload::from(content)).await;
            put.map(drop)
                .map_err(|error| self.failed("write", name, &error))
        });
        let mut puts = stream::iter(puts).buffered(AT_ONCE);
        self.reactor.block_on(async {
            while let Some(put) = puts.next().await {
                put?;
            }
            Ok(())
        })
    }

    /// Appends an object to a file.
    ///
    /// # Errors
    /// As [`about`](Store::about), and when the file cannot be written.
    pub fn download(&self, name: &str, file: &Path) -> Result<()> {
        let about = self.about(name)?;
        let missing = || Error::failed(format!("{}/{name} is missing", self.url));
        let about = about.ok_or_else(missing)?;
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(at("create", folder))?;
        }
        let opened = File::options().create(true).append(true).open(file);
        let mut opened = opened.map_err(at("write", file))?;
        let mut from = 0;
        while from < about.bytes {
            let piece = self.piece(name, &about, from)?;
            from += piece.len() as u64;
            opened.write_all(&piece).map_err(at("write", file))?;
        }
        Ok(())
    }
}
