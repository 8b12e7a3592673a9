//! Types of Ruby, in words that need no signature beside them.

use std::path::Path;

/// `name: type` of each key of `retry`, as the signature has them.
pub fn types_of_retry(root: &Path) -> Vec<(String, String)> {
    let signature = read(root, "ruby/sig/hecaton/client.rbs");
    parameters(between(&signature, "type retry_options = {", "\n    }"))
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

/// A type in words. That nil is the default is said once for all.
pub fn words(kind: &str) -> String {
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
            "fields" | "address_rule" | "retry_options" | "Client::retry_options" | "limits" => {
                "Hash"
            }
            "params" | "form" | "multipart" => "Hash or Array of pairs",
            "body" => "String, IO, Pathname, or an object with each",
            "untyped" => "what JSON can express",
            "addresses" => "`:public` or String or Array of them",
            "http_versions" => "`:auto` or String or number or Array of them",
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
