//! The files that are made from the tables of settings and of a request's options (`table.rs` and `request_table.rs` in
//! `crates/hecaton/src/config/`): Ruby's keywords, their signatures and `docs/settings.md`.
//!
//! The defaults are those of a real `Config`. The tests fail when a file says anything else;
//! `HECATON_UPDATE=1 cargo test -p hecaton-e2e --test settings` writes them anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hecaton::{Config, Defaults, REQUEST_OPTIONS, Retry, SETTINGS, Setting};
use syn::{Attribute, Expr, ExprLit, Field, Fields, Item, Lit, Meta};

mod keywords;
mod ruby;

const INTRODUCTION: &str = "\
# Settings

<!-- Generated: HECATON_UPDATE=1 cargo test -p hecaton-e2e --test settings. The texts are in table.rs and request_table.rs of crates/hecaton/src/config. -->

Each setting is a keyword of `Hecaton::Client.new`.
Times are seconds, as Integer or Float.
`nil` means the default.
A client that is derived by `with` has its own settings of requests, and shares those of connections.

| setting | type | default | 0 means | setting of |
| --- | --- | --- | --- | --- |
";

const OF_A_REQUEST: &str = "
## Options of a request

The methods of a client and of a batch that send a request (`get`, `post`, `request` and the like) take these keywords, and so does `Hecaton::Request.new`.
`nil` means the client's setting, or nothing.
A request of a batch has also `queue`: `:front` starts it before all that were queued before, and `:back` is the default.
It has also `client`: another client, which sends this request in place of the batch's own.

";

const GENERATED_HEADERS: &str = "
## Headers that Hecaton generates

Each of these headers has several sources.
The first source of a row that says something wins, and the others are not sent.

| header | sources, the strongest first |
| --- | --- |
| `Content-Type` | the request's header; the type of its `json`, `form` or `multipart`; the client's header |
| `Authorization` | the request's header; its `basic_auth`, `bearer` or `digest_auth`; user and password of its URL; the client's header; the client's `basic_auth`, `bearer` or `digest_auth`; user and password of the `base_url` |
| `Cookie` | the request's header; the client's header; the jar of `cookies` |
| `Host` | the request's header; the client's header; the URL |
| `User-Agent` | the request's header; the client's header; `user_agent`; `app_name` |
| `Accept` | the request's header; the client's header; `*/*` |
| `Accept-Encoding` | the request's header; the client's header; `decode` |
| `Content-Length`, `Transfer-Encoding` | the body; a header of the request that disagrees with it is an ArgumentError |

- A `Content-Type` of the client wins over the body's if it can describe the body.
  For `json`, any type except a form's can; for `form` and `multipart`, only a type of the same kind can.
- Whichever type wins for `multipart` is sent with the boundary of the body, because nobody can read the parts without it (RFC 7578 §4.1).
- A header of the request that is nil leaves the client's header out, and the other sources remain.
- An empty `Accept` or `User-Agent` means none: the request is sent without it.
";

#[test]
fn the_files_say_what_the_tables_say() {
    for (path, made) in [
        ("docs/settings.md", page()),
        ("ruby/lib/hecaton/settings.rb", keywords::program()),
        ("ruby/sig/hecaton/settings.rbs", keywords::signatures()),
        ("ruby/sig/hecaton/verbs.rbs", keywords::requests()),
    ] {
        let file = root().join(path);
        if std::env::var_os("HECATON_UPDATE").is_some() {
            std::fs::write(&file, &made).expect("the file can be written");
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        let hint = "is out of date: run HECATON_UPDATE=1 cargo test -p hecaton-e2e --test settings";
        assert!(kept == made, "{path} {hint}\n{made}");
    }
}

#[test]
fn every_setting_of_the_engine_has_a_text_that_says_its_default() {
    for setting in SETTINGS.iter().filter(|setting| is_in_config(setting)) {
        let required = setting.name == "timeout";
        assert!(
            required || setting.text.contains("efault"),
            "{} says no default: {}",
            setting.name,
            setting.text
        );
    }
    for field in fields("message/retry.rs", "Retry") {
        let text = documentation(&field.attrs);
        assert!(text.contains("efault"), "{text}");
    }
}

#[test]
fn the_defaults_of_requests_are_in_the_table_too() {
    for (name, _) in values(&format!("{:#?}", Defaults::default())) {
        assert!(
            SETTINGS.iter().any(|setting| setting.name == name),
            "{name}"
        );
    }
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for setting in SETTINGS {
        let _ = writeln!(
            page,
            "| [`{name}`](#{name}) | {} | {} | {} | {} |",
            ruby::words(setting.ruby),
            default(setting)
                .trim_start_matches("default")
                .trim_start_matches([':', ' ']),
            setting.zero.unwrap_or_default(),
            match setting.of_connections {
                true => "connections",
                false => "requests",
            },
            name = setting.name,
        );
    }
    page += "\n## Settings of a client\n";
    for setting in SETTINGS {
        let Setting { name, ruby, .. } = setting;
        let text = text(setting.text).replace('*', "\\*");
        let (kind, default) = (ruby::words(ruby), default(setting));
        let _ = write!(page, "\n### `{name}`\n\n*{kind}, {default}*  \n{text}\n");
    }
    page += OF_A_REQUEST;
    for option in REQUEST_OPTIONS {
        let text = text(option.text).trim_end().replace('*', "\\*");
        let text = text.replace('\n', "\n  ");
        let (name, kind) = (option.name, ruby::words(option.ruby));
        let _ = writeln!(page, "- `{name}` (*{kind}*)  \n  {text}");
    }
    page += GENERATED_HEADERS;
    page += "\n## Keys of `retry`\n\nThe keys of a Hash that is given as `retry`; `true` stands for all of these defaults.\n";
    let types = ruby::types_of_retry(&root());
    let values = values(&format!("{:#?}", Retry::default()));
    for field in fields("message/retry.rs", "Retry") {
        let name = field.ident.as_ref().expect("a named field").to_string();
        let value = values.iter().find(|(known, _)| *known == name);
        let default = in_ruby(&name, &value.expect("a value").1);
        let text = symbols(&documentation(&field.attrs));
        let kind = types.iter().find(|(known, _)| *known == name);
        let kind = &kind.expect("the signature has every key").1;
        let _ = write!(page, "\n### `{name}`\n\n*{kind}, {default}*  \n{text}\n");
    }
    page
}

/// Whether it is a field of `Config`.
fn is_in_config(setting: &Setting) -> bool {
    let config = values(&format!("{:#?}", Config::new(Duration::from_secs(5))));
    config.iter().any(|(name, _)| name == setting.name)
}

/// The text, without the space before each line.
fn text(text: &str) -> String {
    let lines = text.lines();
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// "default `3`", as a Ruby program would write it.
fn default(setting: &Setting) -> String {
    let defaults = defaults();
    let value = defaults.iter().find(|(known, _)| known == setting.name);
    match (setting.name, value) {
        ("timeout", _) => "must be given".to_owned(),
        (name, Some((_, value))) => in_ruby(name, value),
        (_, None) if setting.ruby == "bool?" => "default `false`".to_owned(),
        (_, None) => "default none".to_owned(),
    }
}

/// Each setting of the engine with its default, as Rust shows it.
fn defaults() -> Vec<(String, String)> {
    let mut found = values(&format!("{:#?}", Config::new(Duration::from_secs(5))));
    found.extend(values(&format!("{:#?}", Defaults::default())));
    found
}

/// A default as a Ruby program would write it.
fn in_ruby(name: &str, value: &str) -> String {
    let written = match (name, value) {
        ("proxy", "Environment") => return "default: the environment's".to_owned(),
        ("http", "Auto") => return "default: what the server chooses".to_owned(),
        ("allow_address", "Any") => return "default: all".to_owned(),
        ("tls_min", "Tls12") => "\"1.2\"".to_owned(),
        (_, "None" | "[]" | "{}") => return "default none".to_owned(),
        (_, list) if list.starts_with('[') => {
            let words = list.trim_matches(['[', ']']).replace(',', "");
            match name {
                "on" => format!("%i[{}]", words.to_lowercase()),
                _ => format!("%w[{words}]"),
            }
        }
        (_, time) => seconds(time).unwrap_or_else(|| time.to_owned()),
    };
    format!("default `{written}`")
}

/// `3s` and `100ms` as numbers of seconds; nothing for what is no time.
fn seconds(time: &str) -> Option<String> {
    let time = time.strip_suffix('s')?;
    let (number, unit) = match time.strip_suffix('m') {
        Some(number) => (number, 0.001),
        None => (time, 1.0),
    };
    Some(format!("{}", number.parse::<f64>().ok()? * unit))
}

/// Kinds of errors as Ruby names them: `` `Resolve` `` → `` `:resolve` ``.
fn symbols(text: &str) -> String {
    let mut text = text.to_owned();
    for kind in ["Resolve", "Connect", "Tls", "Timeout", "Protocol", "Body"] {
        text = text.replace(&format!("`{kind}`"), &format!("`:{}`", kind.to_lowercase()));
    }
    text
}

/// Each field of a struct as `{:#?}` shows it, on one line.
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
