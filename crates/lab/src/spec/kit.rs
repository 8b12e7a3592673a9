//! Settings shared by the clients of a folder: `kit.toml`, beside their manifests.

use std::path::Path;

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

/// The file of a folder.
pub(super) const FILE: &str = "kit.toml";

/// Lists of which the client's own follow the kit's; any other key of the client's replaces the kit's.
const JOINED: [&str; 3] = ["needs", "build", "from"];

/// Keys of which each client has its own.
const OWN: [&str; 3] = ["client", "run", "can"];

/// Keys by which a file shows that it is a client's manifest: no other TOML file of a library has them.
const TELLING: [&str; 3] = ["run", "language", "approach"];

/// Whether a TOML file is to be read as a manifest. One that is not written in TOML is, so that somebody hears of it.
pub(super) fn describes_a_client(path: &Path) -> Result<bool> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let table = text.parse::<Table>();
    Ok(table.map_or(true, |table| {
        TELLING.iter().any(|key| table.contains_key(*key))
    }))
}

/// The manifest in `text`, which was read from `path`, with what the kit beside it says; `kit = false` does without.
pub(super) fn complete(text: &str, path: &Path) -> Result<Table> {
    let mut own = read(text, path)?;
    let without = own.remove("kit") == Some(Value::Boolean(false));
    let kit = path.with_file_name(FILE);
    if without || !kit.is_file() {
        return Ok(own);
    }
    let text =
        std::fs::read_to_string(&kit).with_context(|| format!("cannot read {}", kit.display()))?;
    let mut whole = read(&text, &kit)?;
    if let Some(key) = OWN.iter().find(|key| whole.contains_key(**key)) {
        bail!(
            "{}: {key} is each client's own; write it into the clients' manifests",
            kit.display()
        );
    }
    for (key, value) in own {
        match (whole.get_mut(&key), value) {
            (Some(Value::Array(shared)), Value::Array(more)) if JOINED.contains(&&*key) => {
                shared.extend(more);
            }
            (_, value) => {
                whole.insert(key, value);
            }
        }
    }
    Ok(whole)
}

fn read(text: &str, path: &Path) -> Result<Table> {
    let table = text.parse::<Table>();
    table.with_context(|| format!("{} is not written in TOML", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(kit: &str, own: &str) -> Result<Table> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), kit).unwrap();
        complete(own, &folder.path().join("client.toml"))
    }

    #[test]
    fn lists_are_joined_and_any_other_key_is_the_clients() {
        let kit = "language = 'node'\napproach = 'idiomatic'\nneeds = [{ run = ['node'], hint = 'x' }]\nfrom = ['a']";
        let own = "approach = 'tuned'\nfrom = ['b']\nbuild = [['make']]";
        let found = whole(kit, own).unwrap();
        let expected = "language = 'node'\napproach = 'tuned'\nneeds = [{ run = ['node'], hint = 'x' }]\nfrom = ['a', 'b']\n\
                        build = [['make']]";
        assert_eq!(found, expected.parse::<Table>().unwrap());
        let alone = whole(kit, "kit = false\nlanguage = 'c'").unwrap();
        assert_eq!(alone, "language = 'c'".parse::<Table>().unwrap());
    }

    #[test]
    fn errors_name_the_file_that_is_wrong() {
        let error = format!("{:#}", whole("needs = [", "").unwrap_err());
        assert!(error.contains("kit.toml is not written in TOML"), "{error}");
        let error = format!("{:#}", whole("client = 'all'", "").unwrap_err());
        assert!(
            error.contains("kit.toml: client is each client's own"),
            "{error}"
        );
    }
}
