//! Which clients are missing, by language, and what installs them: one advice for every command that gives it.

use std::collections::BTreeMap;

use super::receipt::{INSTALL, Missing, Remedy};
use crate::spec::Manifest;

/// Clients of a language that cannot run here, because the same thing is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The language.
    pub language: String,
    /// Names of the clients, in the order in which they were looked at.
    pub clients: Vec<String>,
    /// The commands that help, in one line.
    pub advice: String,
}

/// The gaps of all languages, in the order of their names.
pub fn gaps<'a>(missing: impl IntoIterator<Item = (&'a Manifest, &'a Missing)>) -> Vec<Gap> {
    let mut gaps: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for (manifest, missing) in missing {
        let key = (manifest.language.as_str(), advice(manifest, missing));
        gaps.entry(key).or_default().push(manifest.client.clone());
    }
    let gap = |((language, advice), clients): ((&str, String), _)| Gap {
        language: language.to_owned(),
        clients,
        advice,
    };
    gaps.into_iter().map(gap).collect()
}

/// The command that installs a client together with others of its language.
fn advice(manifest: &Manifest, missing: &Missing) -> String {
    let install = format!("{INSTALL} {}", manifest.language);
    match &missing.remedy {
        _ if missing.can_be_installed() => install,
        own @ Remedy::Own(_) => own.to_string(),
        Remedy::Command(hint) if manifest.build.is_empty() => hint.clone(),
        Remedy::Command(hint) => format!("{hint}; then {install}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_a_language_with_the_same_advice_stand_together() {
        let manifest = |language: &str, client: &str| Manifest {
            client: client.into(),
            language: language.into(),
            ..Manifest::baseline_loader(std::path::Path::new("hecaton"))
        };
        let missing = |client: &str, hint: &str| Missing {
            client: client.into(),
            what: "nothing is there".into(),
            remedy: Remedy::Command(hint.into()),
        };
        let java = "apt-get install maven";
        let all = [
            (
                manifest("ruby", "curb"),
                missing("curb", "bin/hecaton drivers install curb"),
            ),
            (manifest("java", "okhttp"), missing("okhttp", java)),
            (manifest("java", "netty"), missing("netty", java)),
        ];
        let gaps = gaps(all.iter().map(|(manifest, missing)| (manifest, missing)));
        let advice: Vec<&str> = gaps.iter().map(|gap| gap.advice.as_str()).collect();
        assert_eq!(advice, [java, "bin/hecaton drivers install ruby"]);
        assert_eq!(gaps[0].clients, ["okhttp", "netty"]);
    }
}
