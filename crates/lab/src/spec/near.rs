//! "Did you mean …?": the known names that are like an unknown one.

use std::collections::BTreeSet;

use strsim::levenshtein;

/// Most names that are proposed.
const MOST: usize = 3;

/// The end of the sentence "there is no `name`": `; did you mean NAME?` with the known names that are like it, or `;`.
pub fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match near(name, known).as_slice() {
        [] => ";".to_owned(),
        [first @ .., last] if !first.is_empty() => {
            format!("; did you mean {} or {last}?", first.join(", "))
        }
        one => format!("; did you mean {}?", one.concat()),
    }
}

/// The names that are almost this one or contain it, the nearest first.
fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let meant = name.to_lowercase();
    // A short name may have few wrong letters: otherwise it would be like every other short name.
    let most = (meant.chars().count() / 2).clamp(1, 3);
    let near: BTreeSet<(usize, &str)> = known
        .map(|candidate| (levenshtein(&candidate.to_lowercase(), &meant), candidate))
        .filter(|(far, candidate)| *far <= most || meant.len() > 2 && candidate.contains(&meant))
        .collect();
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_names_that_are_almost_the_same_are_proposed() {
        let known = ["curb", "net-http", "net-http-persistent", "RT02", "RT12"];
        for (name, says) in [
            ("nethttp", "; did you mean net-http?"),
            (
                "net-http-",
                "; did you mean net-http or net-http-persistent?",
            ),
            ("rt2", "; did you mean RT02 or RT12?"),
            ("crub", "; did you mean curb?"),
            ("xy", ";"),
            ("", ";"),
        ] {
            assert_eq!(did_you_mean(name, known.into_iter()), says, "{name}");
        }
        assert_eq!(levenshtein("kitten", "sitting"), 3);
    }
}
