//! Installs what a client lacks: Debian packages, then whatever its manifest builds in folders that git ignores.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::cgroup::at_home;
use super::process::command_of;
use super::receipt::{Remedy, unmet_needs};
use super::{Missing, built, receipt};
use crate::spec::Manifest;

/// Lines of a failed step's output that are shown.
const LAST_LINES: usize = 12;

/// How a client came to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// It was there already, in this version.
    Already(String),
    /// It was installed now, in this version.
    Now(String),
    /// It is not: a toolchain is missing that only people can install, by the command that is named.
    Not(Missing),
}

/// Makes a client ready to run; `say` gets each command before it runs.
///
/// # Errors
/// A sentence with what cannot be had, or with the command that failed and its last words.
pub fn install(manifest: &Manifest, say: &mut dyn FnMut(&str)) -> Result<Installed> {
    if let Ok(version) = receipt(manifest) {
        return Ok(Installed::Already(version));
    }
    if let Some(missing) = by_hand(manifest) {
        return Ok(Installed::Not(missing));
    }
    built::begin(manifest)
        .with_context(|| format!("cannot write to {}", manifest.folder.display()))?;
    satisfy_needs(manifest, say)?;
    if receipt(manifest).is_err() && !manifest.install.apt.is_empty() {
        let packages: Vec<&str> = manifest.install.apt.iter().map(String::as_str).collect();
        apt(manifest, &packages, say)?;
    }
    for words in &manifest.build {
        step(manifest, command_of(manifest, words), &words.join(" "), say)?;
    }
    built::keep(manifest)?;
    receipt(manifest).map(Installed::Now).map_err(|missing| {
        anyhow::anyhow!(
            "it still cannot run, although every step succeeded: {}",
            missing.what
        )
    })
}

/// The need that people must install first, because apt does not have it; none if there is none.
fn by_hand(manifest: &Manifest) -> Option<Missing> {
    let unmet = unmet_needs(manifest);
    let (need, what) = unmet.iter().find(|(need, _)| need.packages().is_empty())?;
    Some(Missing {
        client: manifest.client.clone(),
        what: what.clone(),
        remedy: Remedy::Command(need.hint.clone()),
    })
}

fn satisfy_needs(manifest: &Manifest, say: &mut dyn FnMut(&str)) -> Result<()> {
    let unmet = unmet_needs(manifest);
    let packages: Vec<&str> = unmet.iter().flat_map(|(need, _)| need.packages()).collect();
    if packages.is_empty() {
        return Ok(());
    }
    apt(manifest, &packages, say)?;
    match unmet_needs(manifest).first() {
        Some((_, what)) => bail!("{what}, although its packages are installed"),
        None => Ok(()),
    }
}

/// Installs Debian packages, as root.
fn apt(manifest: &Manifest, packages: &[&str], say: &mut dyn FnMut(&str)) -> Result<()> {
    if !finds("apt-get") {
        bail!(
            "there is no apt-get; install {} by other means, possibly under another name",
            packages.join(" ")
        );
    }
    let mut command = as_root()?;
    // One shell: the lists of packages are renewed first, or packages with newer versions are not found.
    let script = "apt-get update -q && \
                  apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 \"$@\"";
    command.args(["env", "DEBIAN_FRONTEND=noninteractive"]);
    command.args(["sh", "-c", script, "apt"]).args(packages);
    let shown = format!("apt-get install {}", packages.join(" "));
    step(manifest, command, &shown, say)
}

/// `env`, as root.
fn as_root() -> Result<Command> {
    if nix::unistd::geteuid().is_root() {
        return Ok(Command::new("env"));
    }
    if !finds("sudo") {
        bail!("packages are installed by root, and there is no sudo: run this as root");
    }
    let mut command = Command::new("sudo");
    command.arg("env");
    Ok(command)
}

fn finds(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Runs one command; what it prints goes to the client's log.
fn step(
    manifest: &Manifest,
    mut command: Command,
    shown: &str,
    say: &mut dyn FnMut(&str),
) -> Result<()> {
    say(shown);
    let path = built::log(manifest);
    let log = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?);
    let started = at_home(|| command.stderr(log).spawn());
    let status = started
        .and_then(|mut child| child.wait())
        .with_context(|| format!("`{shown}` does not start"))?;
    if status.success() {
        return Ok(());
    }
    bail!("`{shown}` ended with {status}:\n{}", last_words(&path))
}

fn last_words(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(folder: &Path, more: &str) -> Manifest {
        let path = folder.join("x.toml");
        let text = format!(
            "client = 'x'\nlanguage = 'sh'\nhomepage = ''\napproach = 'tuned'\ncan = []\nrun = ['true']\n\
             version = ['cat', 'made']\n{more}"
        );
        std::fs::write(&path, text).unwrap();
        Manifest::load(&path).unwrap()
    }

    #[test]
    fn builds_what_is_missing_once_and_again_when_its_source_changed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("source"), "1.0\n").unwrap();
        let manifest = client(
            folder.path(),
            "build = [['cp', 'source', 'made']]\nfrom = ['source']",
        );
        let mut said = Vec::new();
        let mut say = |line: &str| said.push(line.to_string());
        assert_eq!(
            install(&manifest, &mut say).unwrap(),
            Installed::Now("1.0".into())
        );
        assert_eq!(
            install(&manifest, &mut say).unwrap(),
            Installed::Already("1.0".into())
        );

        let source = folder.path().join("source");
        std::fs::write(&source, "1.1\n").unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(9);
        File::open(&source).unwrap().set_modified(later).unwrap();
        let missing = receipt(&manifest).unwrap_err();
        assert!(missing.what.contains("source has changed"), "{missing}");
        File::open(&source)
            .unwrap()
            .set_modified(std::time::SystemTime::UNIX_EPOCH)
            .unwrap();
        std::fs::remove_file(folder.path().join("made")).unwrap();
        assert_eq!(
            install(&manifest, &mut say).unwrap(),
            Installed::Now("1.1".into())
        );
        assert_eq!(said, ["cp source made", "cp source made"]);
    }

    #[test]
    fn a_failed_step_is_named_with_its_last_words() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = client(folder.path(), "build = [['cat', 'nowhere']]");
        let error = install(&manifest, &mut |_| ()).unwrap_err().to_string();
        assert!(
            error.contains("`cat nowhere` ended") && error.contains("No such file"),
            "{error}"
        );
        assert!(receipt(&manifest).is_err());
    }

    #[test]
    fn what_apt_lacks_is_reported_before_anything_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let needs = "needs = [{ run = ['false'], hint = 'rustup' }]\nbuild = [['touch', 'made']]";
        let manifest = client(folder.path(), needs);
        let installed = install(&manifest, &mut |line| panic!("{line}")).unwrap();
        let Installed::Not(missing) = installed else {
            panic!("{installed:?}")
        };
        assert_eq!(missing.remedy, Remedy::Command("rustup".into()));
        assert!(missing.what.contains("`false` fails"), "{missing}");
    }
}
