//! `docs/settings.md` is what the engine's own settings say of themselves: name, type, default, meaning.
//!
//! The texts are the documentation of the fields, the defaults are those of a real `Config`. The test
//! fails when the page says anything else; `HECATON_UPDATE=1 cargo test -p hecaton-e2e --test settings`
//! writes it anew.

use std::fmt::{Debug, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hecaton::{Config, Defaults, Retry};
use syn::{Attribute, Expr, ExprLit, Field, Fields, Item, Lit, Meta, Type};

const INTRODUCTION: &str = "\
# Settings

Generated from the engine's own settings (`crates/hecaton/src/config/mod.rs` and what it names), which are the only home of
defaults; a test fails when this page says anything else, and `HECATON_UPDATE=1 cargo test -p hecaton-e2e --test settings`
writes it anew. In Ruby each is a keyword of `Hecaton::Client.new` under the same name, times are seconds as Integer or Float,
and `nil` means the default.
";

#[test]
fn the_page_says_what_the_engine_says() {
    let page = page();
    let path = root().join("docs/settings.md");
    if std::env::var_os("HECATON_UPDATE").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let hint = "docs/settings.md is out of date: run HECATON_UPDATE=1 cargo test -p hecaton-e2e --test settings";
    assert!(kept == page, "{hint}\n{page}");
}

#[test]
fn every_setting_has_a_text_and_says_its_default() {
    for (file, name) in [
        ("config/mod.rs", "Config"),
        ("message/template.rs", "Defaults"),
        ("message/retry.rs", "Retry"),
    ] {
        for field in fields(file, name) {
            let text = documentation(&field.attrs);
            let name = field.ident.as_ref().expect("a named field");
            assert!(
                text.contains("efault"),
                "{file}: {name} says no default: {text}"
            );
        }
    }
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let config = Config::new(Duration::from_secs(5));
    section(&mut page, "Of a client", "config/mod.rs", "Config", &config);
    section(
        &mut page,
        "Of what a client adds to its requests",
        "message/template.rs",
        "Defaults",
        &Defaults::default(),
    );
    section(
        &mut page,
        "Of `retry`",
        "message/retry.rs",
        "Retry",
        &Retry::default(),
    );
    page
}

fn section(page: &mut String, title: &str, file: &str, name: &str, defaults: &dyn Debug) {
    let _ = write!(page, "\n## {title}\n");
    let values = values(&format!("{defaults:#?}"));
    for field in fields(file, name) {
        let name = field.ident.as_ref().expect("a named field").to_string();
        let value = &values
            .iter()
            .find(|(key, _)| *key == name)
            .expect("a value")
            .1;
        let default = match name.as_str() {
            "timeout" => "must be given".to_owned(),
            _ if value == "None" => "default none".to_owned(),
            _ => format!("default `{value}`"),
        };
        let kind = kind(&field.ty);
        let text = documentation(&field.attrs);
        let _ = write!(page, "\n### `{name}`\n\n*{kind}, {default}*  \n{text}\n");
    }
}

/// What `{:#?}` shows of each field of a struct, on one line.
fn values(shown: &str) -> Vec<(String, String)> {
    let mut values: Vec<(String, String)> = Vec::new();
    for line in shown.lines() {
        let indented = line.len() - line.trim_start().len();
        let text = line.trim();
        match (indented, text.split_once(": ")) {
            (0, _) => {}
            (4, Some((name, value))) => values.push((name.to_owned(), value.to_owned())),
            _ => {
                let value = &mut values.last_mut().expect("a field comes first").1;
                if text.starts_with([']', ')', '}']) {
                    *value = value.trim_end_matches(',').to_owned();
                } else if value.ends_with(',') {
                    value.push(' ');
                }
                *value += text;
            }
        }
    }
    for (_, value) in &mut values {
        *value = value.trim_end_matches(',').to_owned();
    }
    values
}

fn kind(of: &Type) -> String {
    let Type::Path(path) = of else {
        return "a value".to_owned();
    };
    let last = path.path.segments.last().expect("a type has a name");
    let inner = match &last.arguments {
        syn::PathArguments::AngleBracketed(given) => given.args.first(),
        _ => None,
    };
    let inner = match inner {
        Some(syn::GenericArgument::Type(inner)) => kind(inner),
        _ => String::new(),
    };
    match last.ident.to_string().as_str() {
        "Option" => format!("{inner} or none"),
        "Vec" => format!("list of {inner}"),
        "Duration" => "time".to_owned(),
        "usize" | "u64" | "u32" | "u16" => "whole number".to_owned(),
        "f64" => "number".to_owned(),
        "bool" => "true or false".to_owned(),
        "String" => "text".to_owned(),
        other => format!("`{other}`"),
    }
}

fn fields(file: &str, name: &str) -> Vec<Field> {
    let path = root().join("crates/hecaton/src").join(file);
    let source = std::fs::read_to_string(path).expect("the source is there");
    let items = syn::parse_file(&source).expect("it is Rust").items;
    let found = items.into_iter().find_map(|item| match item {
        Item::Struct(found) if found.ident == name => Some(found.fields),
        _ => None,
    });
    match found {
        Some(Fields::Named(named)) => named.named.into_iter().collect(),
        _ => panic!("{file} has no struct {name}"),
    }
}

/// The text above a field, its links as plain code.
fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        });
    without_links(&lines.collect::<Vec<_>>().join("\n"))
}

/// `` [`Batch`](crate::Batch) `` → `` `Batch` ``: where a link goes means nothing outside the code.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[`") {
        let (name, after) = link.split_once("`]").expect("a link ends");
        plain += &format!("{before}`{name}`");
        rest = match after.strip_prefix('(') {
            Some(target) => target.split_once(')').expect("a target ends").1,
            None => after,
        };
    }
    plain + rest
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the project's folder")
        .to_owned()
}
