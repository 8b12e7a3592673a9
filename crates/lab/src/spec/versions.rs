//! Clients with a version behind their name, as in `curb@1.4.1`: the manifest of that client that prints this version.

use super::{Catalogue, Manifest, Usage};

/// In front of the name of a client whose packages are not the system's, but those of a newer system in a folder.
pub(crate) const NEWER: &str = "current-";

/// A name and a version; none where a word has none, or is a URL or a file.
fn split(word: &str) -> Option<(&str, &str)> {
    let (name, version) = word.split_once('@')?;
    let is_one = !name.is_empty() && !version.is_empty() && !word.contains(['/', ':']);
    is_one.then_some((name, version))
}

/// Whether a word is a client with a version.
pub fn has_version(word: &str) -> bool {
    split(word).is_some()
}

impl Catalogue {
    /// Knows those of `words` that have a version by that name, too. `version_of` finds out which version is installed,
    /// or says in a sentence why none is.
    ///
    /// # Errors
    /// [`Usage`] when there is no such client, or it is not installed in that version.
    pub fn with_versions(
        mut self,
        words: &[String],
        version_of: impl Fn(&Manifest) -> Result<String, String>,
    ) -> Result<Catalogue, Usage> {
        for word in words {
            // A manifest may have such a name itself: a build of one's own.
            let known = self.all().any(|manifest| manifest.client == *word);
            let Some((name, version)) = split(word).filter(|_| !known) else {
                continue;
            };
            let found = self.in_version(name, version, &version_of)?;
            let reports = Some(found.client.clone());
            self.insert(Manifest {
                client: word.clone(),
                reports,
                ..found
            });
        }
        Ok(self)
    }

    fn in_version(
        &self,
        name: &str,
        version: &str,
        version_of: impl Fn(&Manifest) -> Result<String, String>,
    ) -> Result<Manifest, Usage> {
        let newer = format!("{NEWER}{name}");
        let own = self
            .all()
            .filter(|manifest| manifest.client == name || manifest.client == newer);
        let mut others = Vec::new();
        for manifest in own {
            match version_of(manifest) {
                Ok(text) if text.split_whitespace().any(|word| word == version) => {
                    return Ok(manifest.clone());
                }
                Ok(text) => others.push(format!("{} is {text}", manifest.client)),
                Err(_) => others.push(format!("{} cannot run here", manifest.client)),
            }
        }
        if others.is_empty() {
            self.find(name)?;
        }
        Err(Usage(format!(
            "{name} {version} is not installed: {}. `hecaton drivers` lists what is, and how to install the rest",
            others.join(", and ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue() -> Catalogue {
        let folder = tempfile::tempdir().unwrap();
        for name in ["curb", "current-curb", "mine@2"] {
            let text = format!(
                "client = '{name}'\nlanguage = 'sh'\nhomepage = ''\napproach = 'tuned'\ncan = ['http1']\nrun = ['true']\nversion = ['true']"
            );
            std::fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
        }
        Catalogue::load(folder.path()).unwrap()
    }

    fn version_of(manifest: &Manifest) -> Result<String, String> {
        match manifest.client.as_str() {
            "curb" => Ok("1.0.5".into()),
            other => Err(format!("{other} cannot run here: install it")),
        }
    }

    #[test]
    fn the_manifest_that_prints_the_version_takes_part_under_that_name() {
        let words = ["curb@1.0.5", "curb", "mine@2", "http://a@b/", "@urls.txt"].map(String::from);
        let known = catalogue().with_versions(&words, version_of).unwrap();
        let curb = known.find("curb@1.0.5").unwrap();
        assert_eq!(curb.reports.as_deref(), Some("curb"));
        assert_eq!(known.find("mine@2").unwrap().reports, None);
        assert!(has_version("a@1.2") && !has_version("@a") && !has_version("http://a@b/"));
    }

    #[test]
    fn a_version_that_is_not_installed_is_refused_with_those_that_are() {
        let refused = |word: &str| {
            catalogue()
                .with_versions(&[word.to_owned()], version_of)
                .unwrap_err()
                .0
        };
        assert_eq!(
            refused("curb@1.4.1"),
            "curb 1.4.1 is not installed: curb is 1.0.5, and current-curb cannot run here. `hecaton drivers` lists what is, \
             and how to install the rest"
        );
        // A version is a whole word.
        assert!(refused("curb@1.0").contains("not installed"));
        assert!(refused("nobody@1").contains("no client is called `nobody`"));
    }
}
