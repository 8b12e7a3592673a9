//! Ruby's side of the tables: the keywords of `Client.new` and of a request, and their signatures.

use std::fmt::Write as _;

use hecaton::{REQUEST_OPTIONS, SETTINGS, Setting};

use crate::is_in_config;

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
    let of_engine = all.clone().filter(|setting| is_in_config(setting));
    let others = all.clone().filter(|setting| !is_in_config(setting));
    let of_connections = all.clone().filter(|setting| setting.of_connections);
    let times = all.filter(|setting| setting.ruby.starts_with("seconds"));
    code += &list(
        "Those that the engine reads once for a client.",
        "OF_ENGINE",
        &names(of_engine),
    );
    code += &list("Those of Ruby alone.", "OF_RUBY", &names(others));
    code += "    # Every setting.\n    NAMES = (OF_ENGINE + OF_RUBY).freeze\n\n";
    code += &list(
        "Settings of connections, which clients that share them have in common.",
        "OF_CONNECTIONS",
        &names(of_connections),
    );
    code += &list("Times in seconds.", "TIMES", &names(times));
    let options: Vec<_> = REQUEST_OPTIONS.iter().map(|option| option.name).collect();
    code += &list("Options of a request.", "OF_REQUESTS", &options);
    code.pop(); // the empty line behind the last list
    code += "  end\n\n  class Client\n";
    code += "    # The settings, with their types, defaults and meanings, are a table in docs/settings.md. nil is the default, and\n";
    code += "    # times are in seconds.\n";
    let keywords = SETTINGS.iter().map(|setting| match setting.name {
        "timeout" => "timeout:".to_owned(),
        name => format!("{name}: nil"),
    });
    let list = format!("{})", parts(keywords));
    code += &wrapped(&format!("def initialize({list}"), "    ", "      ");
    code += "      configure(Derivation.given(binding, Settings::NAMES))\n    end\n  end\nend\n";
    code
}

/// The lists in it.
const LISTS: [&str; 6] = [
    "OF_ENGINE",
    "OF_RUBY",
    "NAMES",
    "OF_CONNECTIONS",
    "TIMES",
    "OF_REQUESTS",
];

/// `ruby/sig/hecaton/settings.rbs`.
pub fn signatures() -> String {
    let mut code = format!("{COMMENT}module Hecaton\n  module Settings\n");
    for name in LISTS {
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

/// `ruby/sig/hecaton/verbs.rbs`: the methods that take the options of a request.
pub fn requests() -> String {
    let options = REQUEST_OPTIONS
        .iter()
        .map(|option| format!("?{}: {}", option.name, option.ruby));
    let options = parts(options);
    let taking = |others: &str| wrapped(&format!("{others}, {options}"), "      ", "      ");
    let overloads = |others: &str| {
        let list = taking(others);
        let with_queue = list.trim_end();
        format!(
            "(\n{with_queue},\n      ?queue: Batch::position?, ?client: Client? # of a Batch\n    ) -> Result\n           \
             | [Given] (\n{list}    ) {{ (Stream response) -> Given }} -> Given # of a Client\n"
        )
    };
    let of_request = taking("name http_method, url? url");
    let of_with = taking("?http_method: name, ?url: url?");
    let of_batch = taking("name method, url url");
    let of_batch = of_batch.trim_end();
    format!(
        "{OF_REQUESTS}module Hecaton
  # What Client and Batch have in common, and Verbs needs.
  interface _Requests[Result]
    def request: (Request request) -> Result
           | [Given] (Request request) {{ (Stream response) -> Given }} -> Given # of a Client
           | {}  end

  # Result: what `request` returns.
  module Verbs[Result] : _Requests[Result]
    def get: {}
    alias head get
    alias post get
    alias put get
    alias patch get
    alias delete get
    alias options get
  end

  class Batch
    def request: (Request request) -> Pending
               | (
{of_batch},
      ?queue: position?, ?client: Client?
    ) -> Pending
  end

  class Request
    def initialize: (
{of_request}    ) -> void

    def with: (
{of_with}    ) -> Request
  end
end
",
        overloads("name method, url url"),
        overloads("url url"),
    )
}

const OF_REQUESTS: &str = "\
# The methods that take the options of a request. Generated: HECATON_UPDATE=1 cargo test -p hecaton-e2e --test settings
";

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

/// The value that the bridge reads for a field of the engine.
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
