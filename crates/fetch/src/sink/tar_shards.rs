//! tar shards as WebDataset reads them: a file with the body of each response, and one with its facts.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tar::{Builder, EntryType, Header};

use super::kind;
use super::paths::{create, shown, sync_folder};
use super::response::StoredResponse;
use crate::record::Body;

/// How many responses a shard has before the next one is begun.
const MOST: usize = 10_000;

/// Writes `FOLDER/PREFIX-00000.tar` and so on. A response is `000000012.html` and `000000012.json` there.
pub struct TarShards {
    root: PathBuf,
    folder: String,
    prefix: String,
    most: usize,
    next: u32,
    open: Option<OpenShard>,
}

struct OpenShard {
    builder: Builder<BufWriter<File>>,
    name: String,
    held: usize,
    /// How long it was when it was on the disk last.
    synced: u64,
}

impl TarShards {
    /// Files below `folder` of the job's folder `root`, whose names begin with a prefix that nobody else uses.
    pub fn new(root: &Path, folder: &str, prefix: &str) -> io::Result<TarShards> {
        fs::create_dir_all(root.join(folder))?;
        Ok(TarShards {
            root: root.to_owned(),
            folder: folder.to_owned(),
            prefix: prefix.to_owned(),
            most: MOST,
            next: 0,
            open: None,
        })
    }

    /// Begins the next shard after another number of responses.
    #[must_use]
    pub fn most(mut self, responses: usize) -> TarShards {
        self.most = responses;
        self
    }

    pub(super) fn store(&mut self, response: &StoredResponse<'_>) -> io::Result<Body> {
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.held >= self.most)
        {
            self.close()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            closed => {
                let name = shown(
                    &self.folder,
                    &format!("{}-{:05}.tar", self.prefix, self.next),
                );
                self.next += 1;
                let file = create(&self.root.join(&name))?;
                closed.insert(OpenShard {
                    builder: Builder::new(BufWriter::with_capacity(64 << 10, file)),
                    name,
                    held: 0,
                    synced: 0,
                })
            }
        };
        let number = response.number;
        let name = name_of_body(response);
        append(
            &mut open.builder,
            &format!("{number:09}.json"),
            &about(response),
        )?;
        append(&mut open.builder, &name, response.body)?;
        open.held += 1;
        Ok(Body::Tar {
            tar: open.name.clone(),
            name,
        })
    }

    /// Ends the shard that is open.
    pub(super) fn close(&mut self) -> io::Result<()> {
        if let Some(open) = self.open.take() {
            let writer = open.builder.into_inner()?;
            let file = writer
                .into_inner()
                .map_err(io::IntoInnerError::into_error)?;
            file.sync_all()?;
            sync_folder(&self.root.join(&self.folder))?;
        }
        Ok(())
    }

    pub(super) fn archive(&self) -> Option<(String, u64)> {
        self.open
            .as_ref()
            .map(|open| (open.name.clone(), open.synced))
    }

    pub(super) fn sync(&mut self) -> io::Result<()> {
        if let Some(open) = &mut self.open {
            let writer = open.builder.get_mut();
            writer.flush()?;
            writer.get_ref().sync_data()?;
            open.synced = writer.get_ref().metadata()?.len();
            sync_folder(&self.root.join(&self.folder))?;
        }
        Ok(())
    }
}

fn append(builder: &mut Builder<BufWriter<File>>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(bytes.len() as u64);
    builder.append_data(&mut header, name, bytes)
}

/// The name of a body in its shard.
pub(super) fn name_of_body(response: &StoredResponse<'_>) -> String {
    let mut ending = kind::ending(response.header("content-type"));
    if ending == "json" {
        // That name is taken by what is known of the response.
        ending = "body.json";
    }
    format!("{:09}.{ending}", response.number)
}

/// The facts of a response, as JSON.
pub(super) fn about(response: &StoredResponse<'_>) -> Vec<u8> {
    let mut headers: Map<String, Value> = Map::new();
    for (name, value) in response.headers {
        let value = String::from_utf8_lossy(value);
        match headers.get_mut(&name.to_ascii_lowercase()) {
            Some(Value::String(known)) => {
                known.push_str(", ");
                known.push_str(&value);
            }
            _ => {
                headers.insert(name.to_ascii_lowercase(), value.into());
            }
        }
    }
    let about = json!({
        "n": response.number, "url": response.url, "status": response.status, "at": response.at, "headers": headers,
    });
    about.to_string().into_bytes()
}
