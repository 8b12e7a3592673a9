//! Facts, and conditions on them: `post.attempts >= 2`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Fact {
    /// A number.
    Number(i64),
    /// Yes or no.
    Yes(bool),
    /// A text.
    Text(String),
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::Number(number) => number.fmt(f),
            Fact::Yes(yes) => yes.fmt(f),
            Fact::Text(text) => text.fmt(f),
        }
    }
}

/// All facts of a run, by name.
pub type Facts = BTreeMap<String, Fact>;

/// A condition on one fact.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Condition {
    /// The fact's name.
    pub fact: String,
    relation: Relation,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    Unequal,
    Least,
    Most,
    Contains,
    Lacks,
}

const RELATIONS: [(&str, Relation); 6] = [
    ("==", Relation::Equal),
    ("!=", Relation::Unequal),
    (">=", Relation::Least),
    ("<=", Relation::Most),
    ("contains", Relation::Contains),
    ("lacks", Relation::Lacks),
];

impl TryFrom<String> for Condition {
    type Error = String;

    fn try_from(text: String) -> Result<Condition, String> {
        let wrong = || format!("`{text}` is not a condition; write it as in `post.attempts >= 2`");
        let (fact, rest) = text.trim().split_once(' ').ok_or_else(wrong)?;
        let (word, value) = rest
            .trim_start()
            .split_once(' ')
            .unwrap_or((rest.trim(), ""));
        let found = RELATIONS.iter().find(|(name, _)| *name == word);
        let (_, relation) = found.ok_or_else(wrong)?;
        Ok(Condition {
            fact: fact.to_owned(),
            relation: *relation,
            value: value.trim().to_owned(),
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = RELATIONS
            .iter()
            .find(|(_, relation)| *relation == self.relation);
        write!(
            f,
            "{} {} {}",
            self.fact,
            found.map_or("", |(name, _)| name),
            self.value
        )
    }
}

impl Condition {
    /// Whether it holds. A fact that is missing is an empty text.
    pub fn holds(&self, facts: &Facts) -> bool {
        let empty = Fact::Text(String::new());
        let fact = facts.get(&self.fact).unwrap_or(&empty);
        // The other side may be another fact.
        let value = match facts.get(&self.value) {
            Some(other) => other.to_string(),
            // A driver reports the hash of a body, and a case holds the body.
            None if self.fact.ends_with(".body") => hash(self.value.as_bytes()),
            None => self.value.clone(),
        };
        let text = fact.to_string();
        match self.relation {
            Relation::Equal => text == value,
            Relation::Unequal => text != value,
            Relation::Contains => text.contains(&value),
            Relation::Lacks => !text.contains(&value),
            Relation::Least | Relation::Most => match (fact, value.parse::<i64>()) {
                (Fact::Number(number), Ok(value)) if self.relation == Relation::Least => {
                    *number >= value
                }
                (Fact::Number(number), Ok(value)) => *number <= value,
                _ => false,
            },
        }
    }

    /// Whether only the client's caller knows the fact.
    pub fn is_claimed(&self) -> bool {
        let last = self.fact.rsplit('.').next().unwrap_or_default();
        !self.fact.contains(".field.") && super::fact_names::CLAIMED.contains(&last)
    }
}

/// The hash of a body: lower-case hexadecimal digits of SHA-256.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> bool {
        let facts = [
            ("a.attempts", Fact::Number(2)),
            ("b.attempts", Fact::Number(3)),
            ("a.reused", Fact::Yes(true)),
            ("a.body", Fact::Text(hash(b"ok"))),
            ("a.text", Fact::Text("it timed out".into())),
        ];
        let facts = facts.map(|(name, fact)| (name.to_owned(), fact)).into();
        Condition::try_from(text.to_owned()).unwrap().holds(&facts)
    }

    #[test]
    fn conditions_compare_facts_with_values_and_with_facts() {
        for yes in [
            "a.attempts >= 2",
            "a.attempts <= 2",
            "a.attempts != b.attempts",
            "a.reused == true",
            "a.body == ok",
            "a.text contains timed out",
            "a.field.cookie ==",
        ] {
            assert!(holds(yes), "{yes}");
        }
        for no in [
            "a.attempts >= 3",
            "a.attempts == b.attempts",
            "a.body == no",
            "a.text >= 1",
        ] {
            assert!(!holds(no), "{no}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for text in ["a.attempts", "a.attempts => 2", ""] {
            assert!(Condition::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
