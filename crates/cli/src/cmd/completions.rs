//! `hecaton completions`: completions for shells, the manual page, and the help as Markdown.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, Command, ValueEnum};
use clap_complete::{Shell, generate};

use super::markdown;

/// Prints a shell's completions, or the manual page.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The shell to write for, or `man` for the manual page.
    kind: Kind,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Bash,
    Elvish,
    Fish,
    Man,
    /// The help of every command as Markdown, for the site of the documentation.
    #[value(hide = true)]
    Markdown,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
}

const EXAMPLES: &str = "\
Examples:
  source <(hecaton completions bash)
  hecaton completions zsh > ~/.zfunc/_hecaton
  hecaton completions fish \\
    > ~/.config/fish/completions/hecaton.fish
  hecaton completions man \\
    > ~/.local/share/man/man1/hecaton.1";

/// Writes the completions or the manual page to standard output; `command` is the whole command line.
pub fn run(arguments: &Arguments, mut command: Command) -> Result<()> {
    let mut text = Vec::new();
    match (shell(arguments.kind), arguments.kind) {
        (Some(shell), _) => generate(shell, &mut command, "hecaton", &mut text),
        (None, Kind::Markdown) => text = markdown::pages(command).into_bytes(),
        (None, _) => manual(command, &mut text)?,
    }
    Ok(io::stdout().write_all(&text)?)
}

fn shell(kind: Kind) -> Option<Shell> {
    match kind {
        Kind::Bash => Some(Shell::Bash),
        Kind::Elvish => Some(Shell::Elvish),
        Kind::Fish => Some(Shell::Fish),
        Kind::PowerShell => Some(Shell::PowerShell),
        Kind::Zsh => Some(Shell::Zsh),
        Kind::Man | Kind::Markdown => None,
    }
}

/// The page of the command, then a section for each subcommand and for each of its subcommands, so that one file holds
/// everything.
fn manual(command: Command, page: &mut Vec<u8>) -> io::Result<()> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let man = clap_mangen::Man::new(command.clone());
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    examples(&man, &command, page)?;
    sections(&command, page)
}

fn sections(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let man = clap_mangen::Man::new(verb.clone());
        let name = verb.get_bin_name().unwrap_or(verb.get_name());
        writeln!(page, ".SH \"{}\"", name.to_uppercase())?;
        man.render_description_section(page)?;
        man.render_options_section(page)?;
        examples(&man, verb, page)?;
        sections(verb, page)?;
    }
    Ok(())
}

/// The help below a subcommand's options. This text has a heading of its own, so clap's heading (EXTRA) is dropped.
fn examples(man: &clap_mangen::Man, verb: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    if verb.get_after_help().is_none() {
        return Ok(());
    }
    let mut text = Vec::new();
    man.render_extra_section(&mut text)?;
    let text = String::from_utf8_lossy(&text).replacen(".SH EXTRA\n", ".PP\n", 1);
    page.write_all(text.as_bytes())
}
