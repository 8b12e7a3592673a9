//! Expressions over the counts of a job, as in `errors > 1 %`: the limits that a job must keep.

use std::fmt::{self, Display, Formatter};

use super::ExpressionError;
use super::logic::{Logic, Parsed};
use super::scan::Scanner;
use super::value::Comparison;

/// An expression over counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold(Logic<Test>);

/// `NAME COMPARISON NUMBER`, with `%` for a share of all records.
#[derive(Clone, Debug, PartialEq)]
struct Test {
    name: String,
    comparison: Comparison,
    number: f64,
    is_share: bool,
}

/// A value in an expression over counts.
pub trait Counts {
    /// Every count with its name.
    fn counts(&self) -> Vec<(&'static str, u64)>;

    /// Counts under names that are read and not offered.
    fn former(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// The whole of which a share is taken.
    fn all(&self) -> u64;
}

impl Threshold {
    /// Reads an expression over these counts; the values do not matter.
    ///
    /// # Errors
    /// Where it cannot be read, and what was expected there.
    pub fn parse(text: &str, known: &dyn Counts) -> Result<Threshold, ExpressionError> {
        let names = |counts: Vec<(&'static str, u64)>| -> Vec<&str> {
            counts.into_iter().map(|(name, _)| name).collect()
        };
        let (names, former) = (names(known.counts()), names(known.former()));
        Logic::parse(text, &|scanner| test(scanner, &names, &former)).map(Threshold)
    }

    /// Whether it holds. A share of nothing is 0 %.
    pub fn holds(&self, counts: &dyn Counts) -> bool {
        let (known, all) = (every(counts), counts.all());
        self.0.holds(&|test| test.holds(&known, all))
    }

    /// The counts that it names, each once, with their values.
    pub fn named(&self, counts: &dyn Counts) -> Vec<(&'static str, u64)> {
        let mut named = every(counts);
        named.retain(|(name, _)| {
            let mut is_named = false;
            self.0.each(&mut |test| is_named |= test.name == *name);
            is_named
        });
        named
    }
}

fn every(counts: &dyn Counts) -> Vec<(&'static str, u64)> {
    [counts.counts(), counts.former()].concat()
}

fn test(scanner: &mut Scanner<'_>, names: &[&str], former: &[&str]) -> Parsed<Test> {
    let name = scanner.word();
    if !names.contains(&name) && !former.contains(&name) {
        return Err(scanner.expected(&format!("{}, `not` or a bracket", names.join(", "))));
    }
    scanner.at += name.len();
    scanner.skip_spaces();
    let Some(comparison) = scanner.comparison() else {
        return Err(scanner.expected("==, !=, <, <=, > or >="));
    };
    scanner.skip_spaces();
    let Some(number) = scanner.number() else {
        return Err(scanner.expected("a number, as in 10 or 1 %"));
    };
    scanner.skip_spaces();
    let is_share = scanner.sign("%");
    scanner.skip_spaces();
    Ok(Test {
        name: name.to_owned(),
        comparison,
        number: number.as_float(),
        is_share,
    })
}

impl Test {
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    fn holds(&self, known: &[(&'static str, u64)], all: u64) -> bool {
        let count = known.iter().find(|(name, _)| *name == self.name);
        let count = count.map_or(0, |(_, count)| *count) as f64;
        // Multiplied rather than divided: 1 of 100 is exactly 1 %.
        let (left, right) = match self.is_share {
            true => (count * 100.0, self.number * all as f64),
            false => (count, self.number),
        };
        self.comparison.compares(left, right)
    }
}

impl Display for Threshold {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Display for Test {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let share = if self.is_share { " %" } else { "" };
        let sign = self.comparison.sign();
        write!(f, "{} {sign} {}{share}", self.name, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Two(u64, u64);

    impl Counts for Two {
        fn counts(&self) -> Vec<(&'static str, u64)> {
            vec![("records", self.1), ("errors", self.0)]
        }

        fn all(&self) -> u64 {
            self.1
        }
    }

    fn holds(text: &str, errors: u64, records: u64) -> bool {
        let counts = Two(errors, records);
        let threshold = Threshold::parse(text, &counts).unwrap_or_else(|error| panic!("{error}"));
        let again = Threshold::parse(&threshold.to_string(), &counts).unwrap();
        assert_eq!(threshold, again, "{threshold}");
        threshold.holds(&counts)
    }

    #[test]
    fn a_share_is_one_of_all_records() {
        assert!(!holds("errors > 1 %", 1, 100));
        assert!(holds("errors > 1%", 2, 100));
        assert!(holds("errors >= 0.1 %", 1, 1000));
        assert!(!holds("errors > 0 %", 0, 0));
        assert!(holds("errors == 0 %", 0, 0));
        assert!(holds("errors > 10 or records < 5", 0, 4));
        assert!(holds("not (errors > 10 or records < 5)", 0, 5));
        assert!(holds("errors != 3 and records == 7", 2, 7));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_path_and_what_there_is() {
        for (text, column, expected) in [
            ("failures > 1 %", 1, "records, errors"),
            ("errors > 1 and lost > 2", 16, "records, errors"),
            ("errors", 7, "=="),
            ("errors > many", 10, "a number"),
            ("errors > 1 % records", 14, "`and`, `or` or the end"),
            ("errors > 1 && records > 1", 12, "`and` or `or`"),
            ("", 1, "records, errors"),
        ] {
            let refused = Threshold::parse(text, &Two(0, 0)).unwrap_err();
            assert_eq!(refused.column, column, "{refused}");
            assert!(refused.expected.contains(expected), "{refused}");
        }
    }

    #[test]
    fn it_reports_the_counts_that_it_names() {
        let counts = Two(3, 100);
        let threshold = Threshold::parse("errors > 1 % or errors > 5", &counts).unwrap();
        assert_eq!(threshold.named(&counts), [("errors", 3)]);
    }
}
