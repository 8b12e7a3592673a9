//! `and`, `or`, `not` and brackets around tests of any kind: `or` binds weakest, then `and`, then `not`.

use std::convert::Infallible;
use std::fmt::{self, Display, Formatter};

use super::ExpressionError;
use super::scan::Scanner;

/// Deepest nesting of brackets and `not`.
const DEEPEST: usize = 64;

/// What reading returns.
pub(super) type Parsed<T> = Result<T, ExpressionError>;

/// Tests, joined by `and`, `or` and `not`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Logic<T> {
    Or(Vec<Logic<T>>),
    And(Vec<Logic<T>>),
    Not(Box<Logic<T>>),
    Test(T),
}

struct Parser<'a, T> {
    scanner: Scanner<'a>,
    depth: usize,
    /// Reads one test.
    test: &'a dyn Fn(&mut Scanner<'a>) -> Parsed<T>,
}

impl<T> Logic<T> {
    /// Reads a text whose tests are read by `test`.
    pub(super) fn parse<'a>(
        text: &'a str,
        test: &'a dyn Fn(&mut Scanner<'a>) -> Parsed<T>,
    ) -> Parsed<Logic<T>> {
        let mut parser = Parser {
            scanner: Scanner { text, at: 0 },
            depth: 0,
            test,
        };
        let logic = parser.either()?;
        match parser.scanner.rest() {
            "" => Ok(logic),
            rest if rest.starts_with("&&") || rest.starts_with("||") => {
                Err(parser.scanner.expected("`and` or `or` in words"))
            }
            _ => Err(parser.scanner.expected("`and`, `or` or the end")),
        }
    }

    /// Whether the whole is true. `test` says whether one test is.
    pub(super) fn holds(&self, test: &dyn Fn(&T) -> bool) -> bool {
        let decided = self.decide(&|it| Ok::<bool, Infallible>(test(it)));
        decided.unwrap_or_else(|never| match never {})
    }

    /// Whether the whole is true, where nobody may know of some tests whether they are. The first of them is the error
    /// if the others do not decide.
    pub(super) fn decide<E>(&self, test: &dyn Fn(&T) -> Result<bool, E>) -> Result<bool, E> {
        match self {
            Logic::Or(nodes) => joint(nodes, test, true),
            Logic::And(nodes) => joint(nodes, test, false),
            Logic::Not(node) => node.decide(test).map(|holds| !holds),
            Logic::Test(it) => test(it),
        }
    }

    /// Visits every test.
    pub(super) fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a T)) {
        match self {
            Logic::Or(nodes) | Logic::And(nodes) => nodes.iter().for_each(|node| node.each(visit)),
            Logic::Not(node) => node.each(visit),
            Logic::Test(it) => visit(it),
        }
    }
}

/// One of the nodes with the value `decisive` decides for all.
fn joint<T, E>(
    nodes: &[Logic<T>],
    test: &dyn Fn(&T) -> Result<bool, E>,
    decisive: bool,
) -> Result<bool, E> {
    let mut unknown = None;
    for node in nodes {
        match node.decide(test) {
            Ok(holds) if holds == decisive => return Ok(decisive),
            Ok(_) => {}
            Err(why) => unknown = unknown.or(Some(why)),
        }
    }
    unknown.map_or(Ok(!decisive), Err)
}

impl<T> Parser<'_, T> {
    fn either(&mut self) -> Parsed<Logic<T>> {
        let mut nodes = vec![self.both()?];
        while self.scanner.keyword_and_spaces("or") {
            nodes.push(self.both()?);
        }
        Ok(one_or(nodes, Logic::Or))
    }

    fn both(&mut self) -> Parsed<Logic<T>> {
        let mut nodes = vec![self.single()?];
        while self.scanner.keyword_and_spaces("and") {
            nodes.push(self.single()?);
        }
        Ok(one_or(nodes, Logic::And))
    }

    fn single(&mut self) -> Parsed<Logic<T>> {
        self.scanner.skip_spaces();
        if self.depth == DEEPEST {
            return Err(self.scanner.expected(&format!(
                "at most {DEEPEST} brackets and `not` inside of each other"
            )));
        }
        self.depth += 1;
        let node = if self.scanner.keyword_and_spaces("not") {
            Logic::Not(Box::new(self.single()?))
        } else if self.scanner.sign("(") {
            let node = self.either()?;
            if !self.scanner.sign(")") {
                return Err(self.scanner.expected("`and`, `or` or a closing bracket"));
            }
            self.scanner.skip_spaces();
            node
        } else {
            Logic::Test((self.test)(&mut self.scanner)?)
        };
        self.depth -= 1;
        Ok(node)
    }
}

fn one_or<T>(mut nodes: Vec<Logic<T>>, many: impl Fn(Vec<Logic<T>>) -> Logic<T>) -> Logic<T> {
    match nodes.len() {
        1 => nodes.remove(0),
        _ => many(nodes),
    }
}

impl<T: Display> Display for Logic<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Logic::Or(nodes) => joined(f, nodes, " or "),
            Logic::And(nodes) => joined(f, nodes, " and "),
            Logic::Not(node) => {
                f.write_str("not ")?;
                bracketed(f, node)
            }
            Logic::Test(test) => test.fmt(f),
        }
    }
}

fn joined<T: Display>(f: &mut Formatter<'_>, nodes: &[Logic<T>], word: &str) -> fmt::Result {
    for (index, node) in nodes.iter().enumerate() {
        if index > 0 {
            f.write_str(word)?;
        }
        bracketed(f, node)?;
    }
    Ok(())
}

fn bracketed<T: Display>(f: &mut Formatter<'_>, node: &Logic<T>) -> fmt::Result {
    match node {
        Logic::Or(_) | Logic::And(_) => write!(f, "({node})"),
        node => node.fmt(f),
    }
}
