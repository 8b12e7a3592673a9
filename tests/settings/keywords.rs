//! Ruby's side of the table: the keywords of `Client.new`, and their signatures.

use std::fmt::Write as _;

use hecaton::{SETTINGS, Setting};

use crate::{default, is_in_config, ruby, text};

/// Columns of a line of code.
const WIDTH: usize = 120;

const COMMENT: &str = "\
# The settings of a client. Generated: HECATON_UPDATE=1 cargo test -p hecaton-e2e --test settings
";

/// `ruby/lib/hecaton/settings.rb`.
pub fn program() -> String {
    let mut code =
        format!("{COMMENT}module Hecaton\n  # Names of settings, for Client.\n  module Settings\n");
    let all = SETTINGS.iter();
    let of_connections = all.clone().filter(|setting| setting.of_connections);
    let times = all
        .clone()
        .filter(|setting| setting.ruby.starts_with("seconds"));
    code += &list("Every setting.", "NAMES", &names(all.clone()));
    code += &list(
        "Settings of connections, which clients that share them have in common.",
        "OF_CONNECTIONS",
        &names(of_connections),
    );
    code += &list(
        "Those that the engine reads once for a client.",
        "OF_ENGINE",
        &names(all.clone().filter(|setting| is_in_config(setting))),
    );
    code += &list("Times in seconds.", "TIMES", &names(times));
    code.pop(); // the empty line behind the last list
    code += "  end\n\n  class Client\n";
    code += "    # nil is the default, and times are in seconds. docs/settings.md says all about each setting; this is its type and\n";
    code += "    # its first sentence.\n    #\n";
    for setting in SETTINGS {
        let kind = ruby::words(setting.ruby).replace('`', "");
        let default = default(setting).replace('`', "");
        let about = format!("{} ({kind}, {default})", first_sentence(setting));
        code += &wrapped(&format!("{}:: {about}", setting.name), "    # ", "    #   ");
    }
    let keywords = SETTINGS.iter().map(|setting| match setting.name {
        "timeout" => "timeout:".to_owned(),
        name => format!("{name}: nil"),
    });
    let list = format!("{})", parts(keywords));
    code += &wrapped(&format!("def initialize({list}"), "    ", "      ");
    code += "      configure(Derivation.given(binding, Settings::NAMES))\n    end\n  end\nend\n";
    code
}

/// `ruby/sig/hecaton/settings.rbs`.
pub fn signatures() -> String {
    let mut code = format!("{COMMENT}module Hecaton\n  module Settings\n");
    for name in ["NAMES", "OF_CONNECTIONS", "OF_ENGINE", "TIMES"] {
        let _ = writeln!(code, "    {name}: Array[Symbol]\n");
    }
    code.pop();
    code += "  end\n\n  class Client\n    # Any but total may be left out.\n";
    let limits = SETTINGS.iter().filter_map(limit);
    code += &wrapped(
        &format!("type limits = {{ {} }}", parts(limits)),
        "    ",
        "      ",
    );
    let keywords = SETTINGS.iter().map(|setting| match setting.name {
        "timeout" => format!("timeout: {}", setting.ruby),
        name => format!("?{name}: {}", setting.ruby),
    });
    let keywords = parts(keywords);
    let _ = writeln!(code, "\n    def initialize: (");
    code += &wrapped(&keywords, "      ", "      ");
    code += "    ) -> void\n  end\n\n  module Native\n    type settings = {\n";
    let of_engine = SETTINGS.iter().filter_map(|setting| {
        let kind = if is_in_config(setting) {
            native(setting)
        } else {
            setting.engine?
        };
        Some(format!("{}: {kind}", setting.name))
    });
    code += &wrapped(&parts(of_engine), "      ", "      ");
    code += "    }\n  end\nend\n";
    code
}

/// The name and type of a limit in `timeout: { … }`.
fn limit(setting: &Setting) -> Option<String> {
    match setting.name {
        "timeout" => Some("total: seconds".to_owned()),
        "idle_timeout" => None,
        name => Some(format!(
            "{}: {}",
            name.strip_suffix("_timeout")?,
            setting.ruby
        )),
    }
}

/// What the bridge reads for a field of the engine.
fn native(setting: &Setting) -> &'static str {
    if setting.name == "timeout" {
        return "Float";
    }
    let kind = setting.engine.expect("it is the engine's").replace(' ', "");
    let kind = kind
        .strip_prefix("Option<")
        .and_then(|kind| kind.strip_suffix('>'))
        .unwrap_or(&kind);
    match kind {
        "Duration" => "Float?",
        "usize" | "u32" => "Integer?",
        "bool" => "bool?",
        "Vec<String>" => "Array[String]?",
        "Addresses" | "AllowAddress" => "Hash[String, Array[String]]?",
        "Retry" => "retry_options?",
        "Cookies" => "Cookies?",
        "String" | "Pem" | "PathBuf" | "ZonedAddress" | "Proxy" | "Protocol" | "TlsVersion" => {
            "String?"
        }
        other => panic!("say here what Ruby passes for {other}"),
    }
}

/// Up to the first full stop that ends a sentence.
fn first_sentence(setting: &Setting) -> String {
    let text = text(setting).replace('\n', " ");
    match text.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => text,
    }
}

fn names<'a>(settings: impl Iterator<Item = &'a Setting>) -> Vec<&'a str> {
    settings.map(|setting| setting.name).collect()
}

fn list(comment: &str, name: &str, names: &[&str]) -> String {
    let names = wrapped(&names.join(" "), "      ", "      ");
    format!("    # {comment}\n    {name} = %i[\n{names}    ].freeze\n\n")
}

/// Parts of a list, which are not broken between two lines.
fn parts(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<_> = parts.map(|part| part.replace(' ', GLUE)).collect();
    parts.join(", ")
}

/// Stands for a space at which no line is broken.
const GLUE: &str = "\u{a0}";

/// Lines of at most `WIDTH` columns.
fn wrapped(text: &str, first: &str, others: &str) -> String {
    let mut lines = String::new();
    let mut line = first.trim_end_matches(' ').to_owned();
    line += &" ".repeat(first.len() - line.len());
    let mut empty = true;
    for word in text.split(' ') {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += line.trim_end();
            lines.push('\n');
            line = others.to_owned();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line += word;
        empty = false;
    }
    (lines + line.trim_end() + "\n").replace(GLUE, " ")
}
