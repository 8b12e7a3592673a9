//! `products.json`: for each product, a digest of the commits that it was made from.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;

use crate::error::{Result, at};
use crate::plan::{Folder, Plan, write_whole};
use crate::start::Lock;

/// The stamps of a folder's products.
pub struct Stamps {
    folder: Folder,
    /// The stamp of the records as they are.
    now: String,
    /// The stamps of the products, by file name.
    made: BTreeMap<String, String>,
}

impl Stamps {
    /// The stamps of a folder.
    ///
    /// # Errors
    /// When a commit cannot be read.
    pub fn of(folder: &Folder, plan: &Plan) -> Result<Stamps> {
        Ok(Stamps {
            folder: folder.clone(),
            now: digest(folder, plan)?,
            made: noted(folder),
        })
    }

    /// The file names of the products.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.made.keys().map(String::as_str)
    }

    /// Whether a product is missing, or was made from other records.
    pub fn is_stale(&self, name: &str) -> bool {
        self.made.get(name) != Some(&self.now) || !self.folder.path().join(name).exists()
    }

    /// Notes that a product was made from the records as they were at [`of`](Stamps::of). The caller holds the lock.
    ///
    /// # Errors
    /// When the note cannot be written.
    pub fn note(&mut self, name: &str, _: &Lock) -> Result<()> {
        // Another process may have noted another product before the lock was free.
        self.made = noted(&self.folder);
        self.made.insert(name.to_owned(), self.now.clone());
        let text = serde_json::to_vec_pretty(&self.made).expect("texts become JSON");
        write_whole(&self.folder.products(), &text)
    }
}

/// The stamps in the file. A damaged file is no stamp: the products are made again.
pub(super) fn noted(folder: &Folder) -> BTreeMap<String, String> {
    let text = fs::read(folder.products()).ok();
    text.and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default()
}

/// The stamp of a folder's records as they are. Each part has one `COMMIT`, and a round that replaces records changes
/// it.
///
/// # Errors
/// When a commit cannot be read.
pub fn digest(folder: &Folder, plan: &Plan) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(plan.job.as_bytes());
    for part in &plan.parts {
        let path = folder.commit(part.number);
        match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            read => {
                let text = read.map_err(at("read", &path))?;
                hasher.update(&part.number.to_le_bytes());
                hasher.update(&(text.len() as u64).to_le_bytes());
                hasher.update(&text);
            }
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_that_note_a_product_each_keep_both_notes() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::at(home.path());
        let plan = Plan {
            version: crate::plan::VERSION,
            job: uuid::Uuid::nil(),
            round: None,
            follows_redirects: false,
            inputs: 0,
            columns: Vec::new(),
            sources: Vec::new(),
            own_hosts: false,
            repeats: 0,
            requests: Vec::new(),
            parts: Vec::new(),
        };
        let names = ["report.html", "table.csv"];
        let mut both = names.map(|_| Stamps::of(&folder, &plan).unwrap());
        for (stamps, name) in both.iter_mut().zip(names) {
            fs::write(home.path().join(name), "").unwrap();
            let lock = crate::start::lock(&folder).unwrap();
            stamps.note(name, &lock).unwrap();
        }
        let noted = Stamps::of(&folder, &plan).unwrap();
        assert!(names.iter().all(|name| !noted.is_stale(name)));
    }
}
