//! Whether a client is there: its version, printed by itself, is the receipt.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::built;
use super::cgroup::at_home;
use super::process::command_of;
use super::words::{cause, plain};
use crate::spec::{Manifest, Need};

/// Longest time that printing a version may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The command that installs a client.
pub(super) const INSTALL: &str = "bin/hecaton drivers install";

/// A client that cannot run here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{client} cannot run here: {what}; {remedy}")]
pub struct Missing {
    /// The client.
    pub client: String,
    /// What is missing.
    pub what: String,
    /// The remedy.
    pub remedy: Remedy,
}

/// How a client comes to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// By this command.
    Command(String),
    /// By its owner, whose manifest is in this folder.
    Own(PathBuf),
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::Command(command) => write!(f, "install it with `{command}`"),
            Remedy::Own(folder) => {
                let folder = folder.display();
                write!(
                    f,
                    "install what it needs, or correct `version` in its manifest in {folder}"
                )
            }
        }
    }
}

impl Missing {
    /// Whether `hecaton drivers install` brings it.
    pub fn can_be_installed(&self) -> bool {
        matches!(&self.remedy, Remedy::Command(command) if command.starts_with(INSTALL))
    }
}

/// The version that the client prints.
///
/// # Errors
/// [`Missing`], with the command that installs what is absent.
pub fn receipt(manifest: &Manifest) -> Result<String, Missing> {
    let problem = match output_of(command_of(manifest, &manifest.version)) {
        Ok(text) if text.trim().is_empty() => "its version command prints nothing".into(),
        Ok(text) => match built::outdated(manifest) {
            None => return Ok(plain(text.lines().next().unwrap_or_default().trim())),
            Some(reason) => reason,
        },
        Err(problem) => problem,
    };
    let unmet = unmet_needs(manifest);
    let (what, remedy) = match unmet.first() {
        // A need that apt does not have must be installed by hand, and first.
        Some((need, what)) if need.packages().is_empty() => {
            (what.clone(), Remedy::Command(need.hint.clone()))
        }
        first => (
            first.map_or(problem, |(_, what)| what.clone()),
            remedy(manifest, !unmet.is_empty()),
        ),
    };
    Err(Missing {
        client: manifest.client.clone(),
        what,
        remedy,
    })
}

fn remedy(manifest: &Manifest, installable: bool) -> Remedy {
    if installable || !manifest.build.is_empty() || !manifest.install.apt.is_empty() {
        Remedy::Command(format!("{INSTALL} {}", manifest.argument()))
    } else if manifest.is_own {
        Remedy::Own(manifest.folder.clone())
    } else {
        Remedy::Command("bin/setup".to_owned())
    }
}

/// The unmet needs of the client, each with what went wrong; those that apt does not have come first.
pub fn unmet_needs(manifest: &Manifest) -> Vec<(&Need, String)> {
    let failed = |need| check(manifest, need).err().map(|what| (need, what));
    let mut unmet: Vec<_> = manifest.needs.iter().filter_map(failed).collect();
    unmet.sort_by_key(|(need, _)| !need.packages().is_empty());
    unmet
}

fn check(manifest: &Manifest, need: &Need) -> Result<(), String> {
    let words = need.run.iter().map(|word| match word.as_str() {
        "" => "''",
        word => word,
    });
    let shown = words.collect::<Vec<_>>().join(" ");
    let text = output_of(command_of(manifest, &need.run))
        .map_err(|problem| format!("`{shown}` fails, {problem}"))?;
    if text.contains(&need.says) {
        Ok(())
    } else {
        Err(format!("`{shown}` does not say `{}`", need.says))
    }
}

/// Standard output of a command that succeeds, else what went wrong in a few words.
fn output_of(mut command: Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
    let command = command.stderr(Stdio::piped());
    let mut child = at_home(|| command.spawn()).map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{program} is not there"),
        _ => format!("{program} does not start ({error})"),
    })?;
    let Some(status) = ended(&mut child).map_err(|error| error.to_string())? else {
        let limit = PATIENCE.as_secs();
        return Err(format!("{program} did not end within {limit} s"));
    };
    // Reading after the end is enough: a program that fills the pipe waits, and is ended at the deadline.
    if status.success() {
        return Ok(read(child.stdout));
    }
    let words = cause(&read(child.stderr)).unwrap_or_else(|| "without a word".to_owned());
    Err(format!("{program} ended with {status}, {words}"))
}

/// How a program ended; none if it was ended, because it took too long.
fn ended(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() <= deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    child.wait().map(|_| None)
}

fn read(output: Option<impl Read>) -> String {
    let mut text = String::new();
    let _ = output.map(|mut output| output.read_to_string(&mut text));
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn manifest(version: &str, need: &str) -> Manifest {
        let text = format!(
            "client = 'x'\nlanguage = 'sh'\nhomepage = ''\napproach = 'tuned'\ncan = []\nrun = ['true']\n\
             version = ['sh', '-c', '{version}']\n\
             needs = [{{ run = ['sh', '-c', '{need}'], match = 'shell', hint = 'get a shell' }}]\n\
             install = {{ apt = ['the-x'] }}"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        std::fs::write(&path, text).unwrap();
        Manifest {
            folder: Path::new("/").into(),
            ..Manifest::load(&path).unwrap()
        }
    }

    #[test]
    fn a_printed_version_is_the_receipt() {
        assert_eq!(
            receipt(&manifest("echo 1.2.3", "false")),
            Ok("1.2.3".into())
        );
        let loud = receipt(&manifest("printf \"1\\\\033[2J\"", "false"));
        assert_eq!(
            loud,
            Ok("1\u{fffd}[2J".into()),
            "nothing that terminals obey"
        );
    }

    #[test]
    fn an_unmet_need_is_named_with_its_hint() {
        let missing = receipt(&manifest("exit 3", "echo nothing")).unwrap_err();
        assert!(missing.what.contains("does not say `shell`"), "{missing}");
        assert_eq!(missing.remedy, Remedy::Command("get a shell".into()));
    }

    #[test]
    fn what_can_be_installed_is_named_with_the_command_that_does_it() {
        let install = Remedy::Command("bin/hecaton drivers install x".into());
        let missing = receipt(&manifest("echo broken >&2; exit 3", "echo a shell")).unwrap_err();
        assert!(missing.what.contains("broken"), "{missing}");
        assert_eq!(missing.remedy, install);

        let mut from_apt = manifest("exit 3", "exit 4");
        from_apt.install.apt.clear();
        from_apt.needs[0].hint = "apt-get install shell".into();
        let missing = receipt(&from_apt).unwrap_err();
        assert!(missing.what.contains("exit 4"), "{missing}");
        assert_eq!(missing.remedy, install);
    }
}
