//! Reads the command line, and explains mistakes in plain words.

use clap::error::ErrorKind;
use clap::{Command, Parser};

/// Verbs that stand together in the help.
pub struct Group {
    /// The purpose of its options.
    pub title: &'static str,
    /// Their names, in the order in which they are shown.
    pub verbs: &'static [&'static str],
}

/// Messages of Rust about texts that are not a number or an address, and our words for them.
const WORDS: [(&str, &str); 7] = [
    (
        "invalid digit found in string",
        "it is not a whole number; write its digits alone, as in 10000",
    ),
    (
        "cannot parse integer from empty string",
        "it is empty; write a whole number, as in 40",
    ),
    (
        "number too large to fit in target type",
        "the number is too large",
    ),
    (
        "number too small to fit in target type",
        "the number is below zero; write one as in 40",
    ),
    (
        "invalid float literal",
        "it is not a number; write one as in 2.5",
    ),
    (
        "invalid socket address syntax",
        "it is not an address and a port; write them as in 127.0.0.1:8080",
    ),
    (
        "invalid IP address syntax",
        "it is not an address; write one as in 127.0.0.1",
    ),
];

/// The command line; ends the process with status 2, or 0 after help.
pub fn line<T: Parser>(command: Command, groups: &[Group]) -> T {
    let command = grouped(command, groups);
    let matches = command.try_get_matches();
    let line = matches.and_then(|matches| T::from_arg_matches(&matches));
    line.unwrap_or_else(|error| {
        if error.kind() != ErrorKind::ValueValidation {
            error.exit();
        }
        crate::say!("{}", plain(error.render().to_string().trim_end()));
        std::process::exit(2)
    })
}

/// The command whose option, hidden and global, is shown in the help of these verbs.
pub fn shown(command: Command, option: &str, verbs: &[&str]) -> Command {
    let hidden = command.get_arguments().find(|arg| arg.get_id() == option);
    let Some(visible) = hidden.map(|arg| arg.clone().hide(false)) else {
        return command;
    };
    verbs.iter().fold(command, |command, verb| {
        command.mut_subcommand(verb, |verb| verb.arg(visible.clone()))
    })
}

/// The command with a help that shows its verbs in groups, which clap has for options alone.
fn grouped(mut command: Command, groups: &[Group]) -> Command {
    command.build();
    let mut verbs = String::new();
    for group in groups {
        verbs += &format!("{}:\n", group.title);
        for name in group.verbs {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let first = about.split(['.', ':']).next().unwrap_or_default();
            verbs += &format!("  {name:<12} {first}\n");
        }
        verbs.push('\n');
    }
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{verbs}Options:\n{{options}}{{after-help}}"
    ))
}

fn plain(text: &str) -> String {
    let replaced = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
    let text = WORDS.iter().fold(text.to_owned(), replaced);
    match text.split_once(" is not in ") {
        Some((number, range)) => {
            format!("{number} is not from {}", range.replacen("..=", " to ", 1))
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, SocketAddr};

    use super::*;

    /// The messages of the standard library, so that a newer one with other words is noticed.
    #[test]
    fn the_words_of_the_library_become_ordinary_ones() {
        let said = [
            "many".parse::<u32>().unwrap_err().to_string(),
            "".parse::<u32>().unwrap_err().to_string(),
            "99999999999".parse::<u32>().unwrap_err().to_string(),
            "-999".parse::<i8>().unwrap_err().to_string(),
            "many".parse::<f64>().unwrap_err().to_string(),
            "here".parse::<SocketAddr>().unwrap_err().to_string(),
            "here".parse::<IpAddr>().unwrap_err().to_string(),
        ];
        for (said, (from, to)) in said.iter().zip(WORDS) {
            assert_eq!(said, from);
            assert_eq!(plain(&format!("error: '{said}'")), format!("error: '{to}'"));
        }
        assert_eq!(
            plain("error: 3 is not in 8..=99"),
            "error: 3 is not from 8 to 99"
        );
    }
}
