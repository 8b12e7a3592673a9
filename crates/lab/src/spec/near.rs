//! "Did you mean …?": the known names that are like an unknown one.

use std::collections::BTreeSet;

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
        .map(|candidate| (distance(&candidate.to_lowercase(), &meant), candidate))
        .filter(|(far, candidate)| *far <= most || meant.len() > 2 && candidate.contains(&meant))
        .collect();
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// Levenshtein's distance: how many letters one must change.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
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
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
