//! What Ruby says of a client's settings: the comment above `Client#initialize`, and its signature.

use std::path::Path;

/// A keyword: its names (a certificate and its key share a text), and what the comment says of it.
pub struct Keyword {
    pub names: Vec<String>,
    pub text: String,
}

/// The keywords in the order of the comment above `initialize` in `client.rb`.
pub fn keywords(root: &Path) -> Vec<Keyword> {
    let source = read(root, "ruby/lib/hecaton/client.rb");
    let (above, _) = source
        .split_once("    def initialize(")
        .expect("Client has an initialize");
    let comment: Vec<&str> = above
        .lines()
        .rev()
        .map_while(|line| line.strip_prefix("    #"))
        .collect();
    let mut keywords: Vec<Keyword> = Vec::new();
    for line in comment.into_iter().rev() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        match line.split_once(":: ") {
            Some((names, text)) if !line.starts_with(' ') => keywords.push(Keyword {
                names: names.split("::, ").map(str::to_owned).collect(),
                text: text.to_owned(),
            }),
            _ if line.starts_with("  ") => {
                let keyword = keywords.last_mut().expect("a keyword comes first");
                keyword.text += "\n";
                keyword.text += line.trim_start();
            }
            _ => {} // what is said of all
        }
    }
    keywords
}

/// `name: type` of each keyword of `initialize`, and of each key of `retry`, as the signature has them.
pub fn types(root: &Path) -> Vec<(String, String)> {
    let signature = read(root, "ruby/sig/hecaton/client.rbs");
    let mut types = parameters(between(&signature, "def initialize: (", ") -> void"));
    types.extend(parameters(between(
        &signature,
        "type retry_options = {",
        "\n    }",
    )));
    types
}

fn parameters(list: &str) -> Vec<(String, String)> {
    let pairs = split(list, ',').into_iter();
    pairs
        .filter_map(|part| part.trim().trim_start_matches('?').split_once(": "))
        .map(|(name, kind)| (name.to_owned(), words(kind)))
        .collect()
}

/// The parts of a text between signs that stand in no brackets.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut depth = 0_i32;
    let parts = text.split(|sign: char| {
        depth += i32::from(matches!(sign, '[' | '(' | '{'));
        depth -= i32::from(matches!(sign, ']' | ')' | '}'));
        sign == separator && depth == 0
    });
    parts.collect()
}

/// A type in words that need no signature beside them. That nil is the default is said once for all.
fn words(kind: &str) -> String {
    let kind = kind.replace(['(', ')'], "");
    let kinds = split(&kind, '|');
    let kinds = kinds.iter().map(|one| one.trim().trim_end_matches('?'));
    let words: Vec<&str> = kinds
        .filter(|one| *one != "nil")
        .map(|one| match one {
            "Numeric" => "number",
            "Integer" => "whole number",
            "bool" => "true or false",
            "url" => "String or URI",
            "name" => "String or Symbol",
            "pem" => "String",
            "fields" | "address_rule" | "retry_options" | "limits" => "Hash",
            "addresses" => "`:public` or String or Array of them",
            "credentials" => "Array of a user and a password",
            "Array[name]" => "Array of String or Symbol",
            "Array[String]" => "Array of String",
            "Array[Features::feature]" => "Array of objects",
            "Array[Integer | Range[Integer]]" => "Array of whole numbers and Ranges",
            "Range[Integer]" => "Range",
            "Hash[String, String | Array[String]]" => "Hash of String or Array of String",
            "Cookies" => "`Hecaton::Cookies`",
            "_Tokens" => "`Hecaton::Token`",
            "_Callable" | "_Decides" => "Proc",
            "_Logger" => "Logger",
            known @ ("seconds" | "String" | "false") => known,
            other => panic!("the page of settings has no words for the type {other}"),
        })
        .collect();
    words.join(" or ")
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).expect("the signature has it");
    rest.split_once(to).expect("it ends").0
}

fn read(root: &Path, path: &str) -> String {
    std::fs::read_to_string(root.join(path)).expect("the source is there")
}
