//! The file with the authorities that drivers must trust.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Certificates in a file, which is removed when this is dropped.
#[derive(Debug)]
pub struct Authorities(PathBuf);

impl Authorities {
    /// Writes them. Drivers may read the file, whoever they run as, and its name reveals nothing to them.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(pem: &str) -> Result<Authorities> {
        let path = std::env::temp_dir().join(format!("hecaton-{:016x}.pem", rand::random::<u64>()));
        // A link that waits under this name would lead elsewhere, so the file must be new.
        File::create_new(&path)
            .and_then(|mut new| {
                new.write_all(pem.as_bytes())?;
                new.set_permissions(Permissions::from_mode(0o644))
            })
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Authorities(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Authorities {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
