//! A file for each body: a thousand in a folder, or with the names that the job gives.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::kind;
use super::names::Names;
use super::partial::Whole;
use super::paths::shown;
use super::response::StoredResponse;
use crate::record::Body;

/// Writes `FOLDER/012/345/012345678.html` for the input 12345678.
pub struct Files {
    root: PathBuf,
    folder: String,
    /// The folder of the last file, which is there.
    last: String,
    /// The names that were given, if the job gives names.
    names: Option<Names>,
    /// Written since the last sync.
    #[cfg(not(target_os = "linux"))]
    written: Vec<PathBuf>,
}

impl Files {
    /// Files below `folder` of the job's folder `root`.
    pub fn new(root: &Path, folder: &str) -> io::Result<Files> {
        fs::create_dir_all(root.join(folder))?;
        Ok(Files {
            root: root.to_owned(),
            folder: folder.to_owned(),
            last: String::new(),
            names: None,
            #[cfg(not(target_os = "linux"))]
            written: Vec::new(),
        })
    }

    /// The same, where responses have names for their files.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn named(self) -> io::Result<Files> {
        let names = Some(Names::new(&self.root.join(&self.folder))?);
        Ok(Files { names, ..self })
    }

    pub(super) fn store(&mut self, response: &StoredResponse<'_>) -> io::Result<Body> {
        let file = self.name(response)?;
        let path = self.root.join(&file);
        File::create(&path)?.write_all(response.body)?;
        #[cfg(not(target_os = "linux"))]
        self.written.push(path);
        Ok(Body::File { file })
    }

    /// Gives the file of a large body its name.
    pub(super) fn adopt(
        &mut self,
        response: &StoredResponse<'_>,
        whole: Whole,
    ) -> io::Result<Body> {
        let file = self.name(response)?;
        let path = self.root.join(&file);
        fs::rename(&whole.path, &path)?;
        #[cfg(not(target_os = "linux"))]
        self.written.push(path);
        Ok(Body::File { file })
    }

    /// The name of a body's file, in a folder that is there.
    fn name(&mut self, response: &StoredResponse<'_>) -> io::Result<String> {
        let number = response.number;
        let ending = kind::ending(response.header("content-type"));
        if let (Some(names), Some(wanted)) = (&mut self.names, response.name) {
            let name = names.claim(wanted, number, &format!("{number:09}.{ending}"))?;
            return Ok(shown(&self.folder, &name));
        }
        let (millions, thousands) = (number / 1_000_000, number / 1000 % 1000);
        let inner = shown(&self.folder, &format!("{millions:03}/{thousands:03}"));
        if inner != self.last {
            fs::create_dir_all(self.root.join(&inner))?;
            self.last.clone_from(&inner);
        }
        Ok(format!("{inner}/{number:09}.{ending}"))
    }

    /// All files at once: one by one would take longer than writing them.
    #[cfg(target_os = "linux")]
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let folder = File::open(self.root.join(&self.folder))?;
        Ok(nix::unistd::syncfs(folder)?)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn sync(&mut self) -> io::Result<()> {
        if let Some(names) = &self.names {
            names.sync()?;
        }
        for path in self.written.drain(..) {
            File::open(&path)?.sync_all()?;
            if let Some(folder) = path.parent() {
                super::paths::sync_folder(folder)?;
            }
        }
        Ok(())
    }
}
