//! Jobs in object storage: `s3://bucket/prefix` where other jobs have a folder.

use std::path::Path;

use anyhow::Result;
use hecaton_fetch::plan::Folder;

/// The folder of a job that is only read. A job in object storage is copied into a scratch folder, which lives as long
/// as this.
pub struct Home {
    /// The folder.
    pub folder: Folder,
    #[cfg(feature = "objects")]
    _scratch: Option<hecaton_fetch::remote::Scratch>,
}

impl Home {
    /// The job at this path or URL.
    ///
    /// # Errors
    /// When there is none, or it cannot be reached.
    #[cfg(feature = "objects")]
    pub fn open(path: &Path) -> Result<Home> {
        use hecaton_fetch::remote::{Remote, Scratch, url};
        let Some(url) = url(path) else {
            let (folder, _scratch) = (Folder::at(path), None);
            return Ok(Home { folder, _scratch });
        };
        let scratch = Scratch::new(None)?;
        let folder = Remote::open(url)?.gather(&scratch)?.folder;
        let _scratch = Some(scratch);
        Ok(Home { folder, _scratch })
    }

    /// The job at this path.
    ///
    /// # Errors
    /// When it is a URL, because this build has no object storage.
    #[cfg(not(feature = "objects"))]
    pub fn open(path: &Path) -> Result<Home> {
        refuse(path)?;
        let folder = Folder::at(path);
        Ok(Home { folder })
    }
}

/// Refuses a URL where only a folder can be used.
///
/// # Errors
/// What to do.
pub fn refuse(path: &Path) -> Result<()> {
    use hecaton_fetch::error::Error;
    use hecaton_fetch::plan::remote;
    let Some(url) = remote(path) else {
        return Ok(());
    };
    let what = match cfg!(feature = "objects") {
        true => format!(
            "{url}: this verb works on folders only; plan, run-part, show and export use object storage too"
        ),
        false => format!(
            "{url}: this command was built without object storage: `bin/setup fetch` builds it in (cargo's feature `objects`)"
        ),
    };
    Err(Error::usage(what).into())
}
