//! `docs/own-driver.md`: its drivers and manifests, as they are written there.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{Ending, document, hecaton, root, run};

/// The blocks of a language on the page.
pub fn blocks(language: &str) -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs/own-driver.md")).unwrap();
    let parts = page.split("```");
    let blocks = parts.filter_map(|part| part.strip_prefix(&format!("{language}\n")));
    blocks.map(str::to_owned).collect()
}

/// The page's drivers with their manifests in a folder, on the kit of this checkout.
fn clients() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let kit = root().canonicalize().unwrap().join("drivers/python");
    let write = |name: &str, text: &str| {
        let text = text.replace("/path/to/hecaton/drivers/python", kit.to_str().unwrap());
        std::fs::write(folder.path().join(name), text).unwrap();
    };
    for (name, (driver, manifest)) in ["mine", "alone"]
        .iter()
        .zip(blocks("python").iter().zip(blocks("toml").iter()))
    {
        write(&format!("{name}.py"), driver);
        write(&format!("{name}.toml"), manifest);
    }
    // A library's own file is no manifest.
    write("pyproject.toml", "[project]\nname = 'mine'\n");
    folder
}

fn hecaton_with(folder: &Path, line: &str) -> Ending {
    let mut command = hecaton("cheats");
    command.env("HECATON_ROOT", root());
    command.args(line.split(' ')).arg("--drivers").arg(folder);
    run(&mut command)
}

#[test]
fn the_drivers_of_the_page_keep_every_promise_and_are_measured() {
    let folder = clients();
    for client in ["mine", "alone"] {
        let checked = hecaton_with(folder.path(), &format!("drivers check {client}"));
        assert_eq!(checked.status, Some(0), "{}", checked.stdout);
    }
    let out = tempfile::tempdir().unwrap();
    let line = "sweep mine alone -c 2 -b 133 -d 0 --rounds 1 --time 50ms --quiet --out";
    let out = out.path().join("run");
    hecaton_with(folder.path(), &format!("{line} {}", out.display())).assert(0, &[]);
    let rows = document(&out)["rows"].clone();
    for client in ["mine", "alone"] {
        let mut rows = rows.as_array().unwrap().iter();
        let row = rows.find(|row| row["client"] == client).unwrap();
        assert_eq!(row["verified"], true, "{row}");
    }
}

#[test]
fn the_drivers_of_the_page_can_be_audited() {
    let folder = clients();
    for client in ["mine", "alone"] {
        let line = format!("audit {client} --case rt02,fr01 --runs 1 --format csv");
        let audited = hecaton_with(folder.path(), &line);
        audited.assert(0, &[]);
        for verdict in ["setup failed", "unsupported", "inconclusive", "mismatch"] {
            assert!(!audited.stdout.contains(verdict), "{}", audited.stdout);
        }
        let lines = audited.stdout.matches(&format!("\n{client},")).count();
        assert_eq!(lines, 2, "{}", audited.stdout);
    }
}

/// A mistake of a newcomer: the class of its exception alone would say nothing.
#[test]
fn the_message_of_an_exception_in_a_driver_is_shown() {
    let folder = clients();
    let program = folder.path().join("mine.py");
    let driver = std::fs::read_to_string(&program).unwrap();
    let wrong = driver.replace("connection.getresponse()", "connection.get_response()");
    assert_ne!(driver, wrong);
    std::fs::write(&program, wrong).unwrap();
    let message = "AttributeError: 'HTTPConnection' object has no attribute 'get_response'";
    let checked = hecaton_with(folder.path(), "drivers check mine");
    assert!(checked.stdout.contains(message), "{}", checked.stdout);
    let out = folder.path().join("run");
    let line = "sweep mine -c 2 -b 133 -d 0 --rounds 1 --time 50ms --quiet --out";
    let swept = hecaton_with(folder.path(), &format!("{line} {}", out.display()));
    swept.assert(1, &[]);
    // How lines are wrapped depends on the terminal, and on how many requests failed.
    let said: Vec<&str> = swept.stdout.split_whitespace().collect();
    assert!(
        said.join(" ").contains("AttributeError: 'HTTP"),
        "{}",
        swept.stdout
    );
}
