//! Jobs in object storage: `s3://bucket/prefix` where other jobs have a folder.

use std::path::Path;
#[cfg(feature = "objects")]
use std::sync::Arc;

use anyhow::Result;
use hecaton_fetch::plan::Folder;
#[cfg(feature = "objects")]
use hecaton_fetch::remote::{Remote, Scratch, url};

/// The folder of a job that is only read. A job in object storage is copied into a scratch folder, which lives as long
/// as this.
pub struct Home {
    /// The folder.
    pub folder: Folder,
    /// The folder or the URL, for people.
    pub shown: String,
    #[cfg(feature = "objects")]
    elsewhere: Option<(Arc<Remote>, Scratch)>,
}

impl Home {
    /// The job at this path or URL, with all of its records.
    ///
    /// # Errors
    /// When there is none, or it cannot be reached.
    pub fn open(path: &Path) -> Result<Home> {
        let home = Home::at(path)?;
        #[cfg(feature = "objects")]
        if let Some((remote, scratch)) = &home.elsewhere {
            remote.gather(scratch)?;
        }
        Ok(home)
    }

    /// Opens a job as [`open`](Home::open) does, but fetches only what `status` shows, and no records.
    ///
    /// # Errors
    /// As [`open`](Home::open).
    pub fn glance(path: &Path) -> Result<Home> {
        let home = Home::at(path)?;
        #[cfg(feature = "objects")]
        if let Some((remote, scratch)) = &home.elsewhere {
            remote.load(scratch)?;
        }
        home.refresh()?;
        Ok(home)
    }

    /// Looks again at what `status` shows.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn refresh(&self) -> Result<()> {
        #[cfg(feature = "objects")]
        if let Some((remote, _)) = &self.elsewhere {
            remote.glance(&self.folder)?;
        }
        Ok(())
    }

    /// Whether it is in object storage.
    pub fn is_elsewhere(&self) -> bool {
        #[cfg(feature = "objects")]
        return self.elsewhere.is_some();
        #[cfg(not(feature = "objects"))]
        false
    }

    fn at(path: &Path) -> Result<Home> {
        let shown = path.display().to_string();
        #[cfg(feature = "objects")]
        if let Some(url) = url(path) {
            let (remote, scratch) = (Remote::open(url)?, Scratch::new(None)?);
            return Ok(Home {
                folder: scratch.folder(),
                shown,
                elsewhere: Some((remote, scratch)),
            });
        }
        refuse(path, "")?;
        Ok(Home {
            folder: Folder::at(path),
            shown,
            #[cfg(feature = "objects")]
            elsewhere: None,
        })
    }
}

/// Refuses a URL where only a folder can be used.
///
/// # Errors
/// What to do.
pub fn refuse(path: &Path, verb: &str) -> Result<()> {
    use hecaton_fetch::error::Error;
    use hecaton_fetch::plan::remote;
    let Some(url) = remote(path) else {
        return Ok(());
    };
    let what = match (cfg!(feature = "objects"), url.starts_with("http")) {
        (_, true) => format!("{url}: a job is in a folder, or below s3://, gs:// or az://"),
        (true, _) => format!("{url}: `hecaton fetch{verb}` works on folders only"),
        (false, _) => format!(
            "{url}: this command was built without object storage: `bin/setup fetch` builds it in (cargo's feature `objects`)"
        ),
    };
    Err(Error::usage(what).into())
}
