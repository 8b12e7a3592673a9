//! The command line's help as Markdown, one page for each command, for the documentation's site.

use std::fmt::Write as _;

use clap::{Arg, Command};

/// One page for the command itself and one for each of its subcommands, one after another; each begins with a heading
/// of the first level.
pub fn pages(command: Command) -> String {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut text = String::new();
    section(&command, 1, &mut text);
    for verb in shown(&command) {
        page(verb, &mut text);
    }
    text
}

fn page(command: &Command, text: &mut String) {
    section(command, 1, text);
    for verb in shown(command) {
        section(verb, 2, text);
    }
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set())
}

/// One command: its purpose, its usage, and each argument under a heading that a link can lead to.
fn section(command: &Command, level: usize, text: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let _ = writeln!(text, "{} {name}\n", "#".repeat(level));
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        let _ = writeln!(text, "{}\n", prose(&about.to_string()));
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage
        .trim_start_matches("Usage: ")
        .replace("\n       ", "\n  ")
        .replace("\n  hecaton", "\n$ hecaton");
    let _ = writeln!(text, "```console\n$ {usage}\n```\n");
    for (heading, arguments) in groups(command) {
        let _ = writeln!(text, "{} {heading}\n", "#".repeat(level + 1));
        for argument in arguments {
            argument_section(argument, name, level + 2, text);
        }
    }
    if let Some(examples) = command.get_after_long_help().or(command.get_after_help()) {
        after(&examples.to_string(), level + 1, text);
    }
}

/// The arguments by the headings of `--help`, in the same order.
fn groups(command: &Command) -> Vec<(String, Vec<&Arg>)> {
    let mut groups: Vec<(String, Vec<&Arg>)> = Vec::new();
    let positional = command.get_positionals();
    let options = command.get_opts().chain(flags(command));
    for argument in positional
        .chain(options)
        .filter(|argument| !argument.is_hide_set())
    {
        let heading = match argument.get_help_heading() {
            Some(heading) => heading,
            None if argument.is_positional() => "Arguments",
            None => "Options",
        };
        match groups.iter_mut().find(|(name, _)| name == heading) {
            Some((_, group)) => group.push(argument),
            None => groups.push((heading.to_owned(), vec![argument])),
        }
    }
    groups
}

/// Options without a value, except `--help` and `--version`, which every command has.
fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|argument| {
        let action = argument.get_action();
        !argument.is_positional()
            && !action.takes_values()
            && !matches!(argument.get_id().as_str(), "help" | "version")
    })
}

/// Writes an argument under a heading. The heading's anchor contains the command, because several commands on a page
/// may have an option with the same name.
fn argument_section(argument: &Arg, command: &str, level: usize, text: &mut String) {
    let short = argument.get_short();
    let short = short.map_or(String::new(), |letter| format!("-{letter}, "));
    let anchor = format!("{command} {}", argument.get_id()).replace([' ', '_'], "-");
    let heading = "#".repeat(level);
    let _ = writeln!(text, "{heading} `{short}{argument}` {{#{anchor}}}\n");
    if let Some(help) = argument.get_long_help().or(argument.get_help()) {
        let _ = writeln!(text, "{}\n", prose(&help.to_string()));
    }
    let facts = facts(argument);
    if !facts.is_empty() {
        let _ = writeln!(text, "{}\n", facts.join(" "));
    }
    values(argument, text);
}

/// The facts that `--help` adds in brackets.
fn facts(argument: &Arg) -> Vec<String> {
    let mut facts = Vec::new();
    if argument.get_action().takes_values() && !argument.is_hide_default_value_set() {
        let defaults = argument.get_default_values().iter();
        let defaults: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
        if !defaults.is_empty() {
            facts.push(format!("Default: `{}`.", defaults.join(" ")));
        }
    }
    if let Some(variable) = argument.get_env() {
        facts.push(format!("Environment: `{}`.", variable.to_string_lossy()));
    }
    facts
}

/// Lists the words that an argument takes, if it takes only certain words. A switch takes none.
fn values(argument: &Arg, text: &mut String) {
    let values = argument.get_possible_values();
    if !argument.get_action().takes_values() || values.is_empty() {
        return;
    }
    for value in values.iter().filter(|value| !value.is_hide_set()) {
        let _ = match value.get_help() {
            Some(help) => writeln!(
                text,
                "- `{}`: {}",
                value.get_name(),
                prose(&help.to_string())
            ),
            None => writeln!(text, "- `{}`", value.get_name()),
        };
    }
    text.push('\n');
}

/// The text below the options. It has parts, each with a title that ends in a colon and indented lines.
fn after(help: &str, level: usize, text: &mut String) {
    let mut code = false;
    for line in help.lines() {
        let title = !line.starts_with(' ') && line.ends_with(':');
        let indented = line.starts_with(' ') || (code && line.is_empty());
        if code != indented {
            text.push_str(if indented { "```text\n" } else { "```\n\n" });
            code = indented;
        }
        let _ = match title {
            true => writeln!(
                text,
                "{} {}\n",
                "#".repeat(level),
                line.trim_end_matches(':')
            ),
            false if code => writeln!(text, "{}", line.strip_prefix("  ").unwrap_or(line)),
            false => writeln!(text, "{}", prose(line)),
        };
    }
    text.push_str(if code { "```\n\n" } else { "\n" });
}

/// Escapes `<`, `*` and `_` in text so that Markdown shows them, but not between backticks.
fn prose(help: &str) -> String {
    let mut text = String::new();
    for (index, part) in help.split('`').enumerate() {
        let escaped = match index % 2 {
            0 => part
                .replace('<', "&lt;")
                .replace('*', "\\*")
                .replace('_', "\\_"),
            _ => format!("`{part}`"),
        };
        text += &escaped;
    }
    text
}
