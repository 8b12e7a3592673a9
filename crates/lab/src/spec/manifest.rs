//! Manifests: which clients there are, how their drivers are started, and what they need.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::de::IntoDeserializer;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Pitfall, Usage, did_you_mean, kit};

/// One client, as written in `drivers/<language>/<name>.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The client's name: on the command line, in tables, in documents.
    pub client: String,
    /// The language of its users.
    pub language: String,
    /// Where people read about it.
    pub homepage: String,
    /// How the driver uses the client: `idiomatic` (as its README shows) or `tuned`; `reference` is no client.
    pub approach: Approach,
    /// Prints the client's version. The client counts as installed if this command succeeds.
    pub version: Vec<String>,
    /// Starts the driver, in the manifest's folder.
    pub run: Vec<String>,
    /// Commands that build the driver, in the manifest's folder; none for interpreted ones.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// Files and folders that the build depends on, in the manifest's folder: when one is newer, it is done again.
    #[serde(default)]
    pub from: Vec<String>,
    /// The programs that must be installed first.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// The client's abilities, in words that scenarios select by.
    pub can: Vec<Ability>,
    /// What its driver cannot do of what not every driver can, so that a run which requires it is refused before anything
    /// is looked for or started. The driver's `hello` says it again, and decides about what is not named here.
    #[serde(default, deserialize_with = "known_today")]
    pub cannot: Vec<Skill>,
    /// Why the server's log rejects this use of the client, when it does; none when rows are to be ranked.
    pub pitfall: Option<Pitfall>,
    /// Packages that bring the client.
    #[serde(default)]
    pub install: Install,
    /// The name that the driver gives itself, where the client takes part under another; none for the same.
    pub reports: Option<String>,
    /// The folder of the manifest.
    #[serde(skip)]
    pub folder: PathBuf,
    /// Whether it is in a folder of the user's own, so that nothing of the project installs it.
    #[serde(skip)]
    pub is_own: bool,
}

/// How a driver uses its client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Approach {
    /// As the client's own documentation shows.
    #[default]
    Idiomatic,
    /// Set up for speed by someone who knows it well.
    Tuned,
    /// Not a client but a load generator, which verifies nothing: shown for reference, never ranked.
    Reference,
}

impl Approach {
    /// In the words of manifests.
    pub fn words(self) -> &'static str {
        match self {
            Approach::Idiomatic => "idiomatic",
            Approach::Tuned => "tuned",
            Approach::Reference => "reference",
        }
    }
}

/// An ability of a client, in the words of manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ability {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
    /// HTTP/3.
    Http3,
    /// https.
    Tls,
    /// Using a connection for more than one request.
    KeepAlive,
    /// Many requests at once by threads.
    Threads,
    /// Many requests at once by callbacks.
    Callbacks,
    /// Many requests at once by a batch that refills itself.
    Batch,
    /// Many requests at once by fibers.
    Fibers,
    /// Many requests at once by `async`/`await`.
    Async,
    /// Many requests at once by an event loop.
    Events,
}

/// What a driver may be able to do beside plain requests, in the words of `hello` (docs/driver-protocol.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Skill {
    /// To send header fields of the user's own.
    Fields,
    /// To send a body.
    Body,
    /// To accept another status than 200 to 299.
    Expect,
    /// To give each request an id.
    IdField,
    /// To send to several URLs in turn.
    Urls,
    /// To send requests at a rate.
    Rate,
}

impl Skill {
    /// All of them.
    pub const ALL: [Skill; 6] = [
        Skill::Fields,
        Skill::Body,
        Skill::Expect,
        Skill::IdField,
        Skill::Urls,
        Skill::Rate,
    ];

    /// What is said of a client whose driver cannot do it.
    pub fn refusal(self) -> &'static str {
        match self {
            Skill::Fields => "does not send header fields of yours",
            Skill::Body => "does not send a body",
            Skill::Expect => "does not support `--expect`; its driver counts 200 to 299",
            Skill::IdField => "cannot give each request an id, which --access-log needs",
            Skill::Urls => "sends to one URL, and not to several in turn",
            Skill::Rate => {
                "cannot send requests at a rate: its driver sends each when another has ended"
            }
        }
    }
}

/// Skills without `requests`, which manifests named while the lab read HAR files.
fn known_today<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Skill>, D::Error> {
    let mut words = Vec::<String>::deserialize(from)?;
    words.retain(|word| word != "requests");
    Deserialize::deserialize(words.into_deserializer())
}

impl fmt::Display for Skill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Something that must be installed before a client can run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// A command that shows it.
    pub run: Vec<String>,
    /// Text that the command's output contains; empty means that success is enough.
    #[serde(default, rename = "match")]
    pub says: String,
    /// The command that installs it.
    pub hint: String,
}

impl Need {
    /// The Debian packages that the hint names; none when it is another command, which only people can give.
    pub fn packages(&self) -> Vec<&str> {
        let packages = self.hint.strip_prefix("apt-get install ");
        packages.map_or(Vec::new(), |names| names.split_whitespace().collect())
    }
}

/// Packages that bring a client, by package manager.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Install {
    /// Debian packages.
    #[serde(default)]
    pub apt: Vec<String>,
}

impl Manifest {
    /// The lab's own loader: `program` is this very command, which has a hidden verb for it.
    pub fn baseline_loader(program: &Path) -> Manifest {
        let program = program.to_string_lossy().into_owned();
        Manifest {
            client: super::BASELINE_LOADER.to_string(),
            language: "rust".to_string(),
            approach: Approach::Tuned,
            version: vec![program.clone(), "--version".to_string()],
            run: vec![program, super::BASELINE_LOADER.to_string()],
            can: vec![Ability::Http1, Ability::KeepAlive, Ability::Events],
            folder: PathBuf::from("."),
            ..Manifest::default()
        }
    }

    /// The words that name it on a command line: its name, and the folder if the client is the user's own.
    pub fn argument(&self) -> String {
        match self.is_own {
            true => format!("{} --drivers {}", self.client, self.folder.display()),
            false => self.client.clone(),
        }
    }

    /// Reads one manifest.
    ///
    /// # Errors
    /// A sentence that names the file and the key.
    pub fn load(path: &Path) -> Result<Manifest> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let mut manifest: Manifest = kit::complete(&text, path)?
            .try_into()
            .with_context(|| format!("{} is not a client's manifest", path.display()))?;
        for (key, command) in [("run", &manifest.run), ("version", &manifest.version)] {
            if command.is_empty() {
                bail!(
                    "{}: {key} is empty; name the program to start",
                    path.display()
                );
            }
        }
        // Absolute, because commands start in this folder, and a relative program would be looked for from there.
        let path = std::path::absolute(path)?;
        manifest.folder = path.parent().unwrap_or(Path::new(".")).to_path_buf();
        Ok(manifest)
    }
}

/// All clients that the lab knows, by name.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    clients: BTreeMap<String, Manifest>,
}

impl Catalogue {
    /// Reads every `*.toml` in `folder` and one level below, each with what the `kit.toml` beside it says.
    ///
    /// # Errors
    /// A sentence when a folder or manifest cannot be read, or when two manifests share a name.
    pub fn load(folder: &Path) -> Result<Catalogue> {
        let mut catalogue = Catalogue::default();
        catalogue.add(folder, false)?;
        if catalogue.clients.is_empty() {
            bail!("{} holds no client's manifest", folder.display());
        }
        Ok(catalogue)
    }

    /// The clients of `known`, if there is such a folder, and those of each of `folders`.
    ///
    /// `known` alone may be empty. In `folders`, TOML files of another kind are passed over, such as a library's own. A name that two manifests share is an error: if one silently replaced the other, a
    /// table would show a known name, and mean another program.
    ///
    /// # Errors
    /// As [`Catalogue::load`]; [`Usage`] when one of `folders` is no folder with manifests.
    pub fn joined(known: Option<&Path>, folders: &[PathBuf]) -> Result<Catalogue> {
        let mut catalogue = Catalogue::default();
        if let Some(known) = known {
            if folders.is_empty() {
                return Catalogue::load(known);
            }
            catalogue.add(known, false)?;
        }
        for folder in folders {
            let before = catalogue.clients.len();
            if let Err(error) = std::fs::read_dir(folder) {
                let shown = folder.display();
                bail!(Usage(format!(
                    "--drivers {shown}: cannot list the folder ({error})"
                )));
            }
            catalogue.add(folder, true)?;
            if catalogue.clients.len() == before {
                let shown = folder.display();
                bail!(Usage(format!(
                    "--drivers {shown}: the folder holds no client's manifest"
                )));
            }
        }
        Ok(catalogue)
    }

    fn add(&mut self, folder: &Path, is_own: bool) -> Result<()> {
        for path in manifests_in(folder)? {
            if is_own && !kit::describes_a_client(&path)? {
                continue;
            }
            let mut manifest = Manifest::load(&path)?;
            manifest.is_own = is_own;
            if let Some(other) = self.clients.get(&manifest.client) {
                bail!(
                    "{}: the client {} has another manifest in {}; names are unique, so choose another name",
                    path.display(),
                    other.client,
                    other.folder.display()
                );
            }
            self.clients.insert(manifest.client.clone(), manifest);
        }
        Ok(())
    }

    /// Adds one.
    pub(super) fn insert(&mut self, manifest: Manifest) {
        self.clients.insert(manifest.client.clone(), manifest);
    }

    /// Every client, in the order of names.
    pub fn all(&self) -> impl Iterator<Item = &Manifest> {
        self.clients.values()
    }

    /// The clients meant by a client's name, a language or `all`.
    ///
    /// # Errors
    /// [`Usage`] when it is none of them.
    pub fn named(&self, name: &str) -> Result<Vec<&Manifest>, Usage> {
        let meant = |manifest: &&Manifest| name == "all" || manifest.language == name;
        let several: Vec<&Manifest> = self.all().filter(meant).collect();
        if several.is_empty() || self.clients.contains_key(name) {
            return Ok(vec![self.find(name)?]);
        }
        Ok(several)
    }

    /// The client of that name.
    ///
    /// # Errors
    /// [`Usage`] that names clients like it, and where all are listed.
    pub fn find(&self, name: &str) -> Result<&Manifest, Usage> {
        if name.is_empty() {
            let what = "a name of a client is empty; `hecaton drivers` lists them all";
            return Err(Usage(what.into()));
        }
        self.clients.get(name).ok_or_else(|| {
            let guess = did_you_mean(name, self.clients.keys().map(String::as_str));
            Usage(format!(
                "no client is called `{name}`{guess} `hecaton drivers` lists them all; `--drivers FOLDER` adds your own"
            ))
        })
    }
}

fn manifests_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            found.extend(entries(&path)?);
        } else {
            found.push(path);
        }
    }
    found.retain(|path| {
        let toml = path.extension().is_some_and(|it| it == "toml");
        toml && path.file_name().is_some_and(|name| name != kit::FILE)
    });
    found.sort();
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listing =
        std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    listing.map(|entry| Ok(entry?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
        client = "net-http"
        language = "ruby"
        homepage = "https://example.com"
        approach = "idiomatic"
        version = ["ruby", "--version"]
        run = ["ruby", "net_http.rb"]
        can = ["http1"]
    "#;

    fn folder_with(manifests: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in manifests {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn finds_manifests_one_level_down_and_suggests_names() {
        let folder = folder_with(&[("ruby/net_http.toml", WHOLE), ("ruby/kit.rb", "")]);
        let catalogue = Catalogue::load(folder.path()).unwrap();
        assert_eq!(
            catalogue.find("net-http").unwrap().folder,
            folder.path().join("ruby")
        );
        assert!(
            catalogue
                .find("nethttp")
                .unwrap_err()
                .0
                .contains("did you mean net-http?")
        );
        let far = catalogue.find("curl").unwrap_err().0;
        assert!(
            far.contains("called `curl`; `hecaton drivers` lists them all")
                && !far.contains("did you mean"),
            "{far}"
        );
    }

    #[test]
    fn a_name_means_a_client_before_a_language() {
        let other = WHOLE
            .replace("net-http", "ruby")
            .replace("\"ruby\"\n        homepage", "\"c\"\n        homepage");
        let third = WHOLE.replace("net-http", "curb");
        let folder = folder_with(&[("a.toml", WHOLE), ("b.toml", &other), ("c.toml", &third)]);
        let catalogue = Catalogue::load(folder.path()).unwrap();
        let named = |name| {
            let names = catalogue.named(name).unwrap();
            names
                .iter()
                .map(|one| one.client.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(named("ruby"), ["ruby"]);
        assert_eq!(named("c"), ["ruby"]);
        assert_eq!(named("curb"), ["curb"]);
        assert_eq!(named("all"), ["curb", "net-http", "ruby"]);
        assert!(catalogue.named("cobol").is_err());
    }

    #[test]
    fn a_word_that_only_older_manifests_have_means_nothing() {
        let cannot = |words: &str| toml::from_str::<Manifest>(&format!("{WHOLE}cannot = {words}"));
        let older = cannot(r#"["fields", "requests", "urls"]"#).unwrap();
        assert_eq!(older.cannot, [Skill::Fields, Skill::Urls]);
        let error = cannot(r#"["fly"]"#).unwrap_err().to_string();
        assert!(
            error.contains("fly") && error.contains("id_field"),
            "{error}"
        );
    }

    #[test]
    fn errors_name_file_and_key() {
        let folder = folder_with(&[("a.toml", &WHOLE.replace("client =", "cleint ="))]);
        let error = format!("{:#}", Catalogue::load(folder.path()).unwrap_err());
        assert!(
            error.contains("a.toml") && error.contains("cleint"),
            "{error}"
        );

        let folder = folder_with(&[("a.toml", &WHOLE.replace(r#"["ruby", "net_http.rb"]"#, "[]"))]);
        let error = format!("{:#}", Catalogue::load(folder.path()).unwrap_err());
        assert!(error.contains("a.toml: run is empty"), "{error}");

        let folder = folder_with(&[("a.toml", &WHOLE.replace(r#"["http1"]"#, r#"["fly"]"#))]);
        let error = format!("{:#}", Catalogue::load(folder.path()).unwrap_err());
        assert!(
            error.contains("in `can`") && error.contains("fly"),
            "{error}"
        );
    }

    #[test]
    fn refuses_two_manifests_of_one_name() {
        let folder = folder_with(&[("a.toml", WHOLE), ("b.toml", WHOLE)]);
        let error = format!("{:#}", Catalogue::load(folder.path()).unwrap_err());
        assert!(
            error.contains("b.toml") && error.contains("names are unique"),
            "{error}"
        );
    }

    #[test]
    fn folders_of_ones_own_add_to_the_known_clients() {
        let known = folder_with(&[("ruby/net_http.toml", WHOLE)]);
        let mine = folder_with(&[("mine.toml", &WHOLE.replace("net-http", "mine"))]);
        let other = folder_with(&[("other.toml", &WHOLE.replace("net-http", "other"))]);
        let empty = folder_with(&[("kit.rb", "")]);
        let joined = |folders: &[&tempfile::TempDir]| {
            let folders: Vec<_> = folders.iter().map(|at| at.path().to_path_buf()).collect();
            let catalogue = Catalogue::joined(Some(known.path()), &folders)?;
            Ok::<_, anyhow::Error>(catalogue.clients.into_keys().collect::<Vec<_>>())
        };
        assert_eq!(joined(&[]).unwrap(), ["net-http"]);
        assert_eq!(
            joined(&[&mine, &other]).unwrap(),
            ["mine", "net-http", "other"]
        );
        let error = joined(&[&mine, &empty]).unwrap_err().to_string();
        assert!(error.contains("holds no client's manifest"), "{error}");

        let same = folder_with(&[("net_http.toml", WHOLE)]);
        let error = joined(&[&same]).unwrap_err().to_string();
        let first = known.path().join("ruby");
        assert!(
            error.contains("net-http has another manifest in")
                && error.contains(&*first.to_string_lossy()),
            "{error}"
        );
    }
}
