//! Two versions of one client side by side, each with a manifest and the same driver.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::{document, hecaton, root, run};

/// A folder with two versions of a library, and a manifest for each. A driver of a user of its own can read it.
fn versions() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let write = |path: &Path, text: &str| std::fs::write(folder.path().join(path), text).unwrap();
    let cheat = root()
        .canonicalize()
        .unwrap()
        .join("tests/drivers/cheats/cheat");
    let driver =
        format!("require \"mine\"\nrequire {cheat:?}\nCheat.run(Cheat, \"mine\", version: MINE)\n");
    write("driver.rb".as_ref(), &driver);
    for (version, number) in [("old", "1.0"), ("new", "1.1")] {
        std::fs::create_dir(folder.path().join(version)).unwrap();
        symlink("/usr/bin/env", folder.path().join(version).join("env")).unwrap();
        write(
            &Path::new(version).join("mine.rb"),
            &format!("MINE = '{number}'\n"),
        );
        let manifest = format!(
            "client = 'mine@{version}'\nreports = 'mine'\nlanguage = 'ruby'\nhomepage = ''\napproach = 'idiomatic'\n\
             version = ['ruby', '-I{version}', '-rmine', '-e', 'puts MINE']\nrun = ['{version}/env', 'ruby', '-I{version}', 'driver.rb']\n\
             can = ['http1', 'keep-alive', 'threads']\n"
        );
        write(format!("{version}.toml").as_ref(), &manifest);
    }
    folder
}

#[test]
fn two_versions_of_a_client_take_part_in_the_same_blocks() {
    let (versions, out) = (versions(), tempfile::tempdir().unwrap());
    let mut command = hecaton("cheats");
    // A relative folder, as people write it.
    command.current_dir(versions.path().parent().unwrap());
    command.env("HECATON_DRIVERS", versions.path().file_name().unwrap());
    command.args("compare mine@old mine@new -c 2 --rounds 6 --quiet --out".split(' '));
    run(command.arg(out.path())).assert(0, &[]);
    let document = document(out.path());
    let rows = document["rows"].as_array().unwrap();
    for (client, number) in [("mine@old", "1.0"), ("mine@new", "1.1")] {
        let row = rows.iter().find(|row| row["client"] == client);
        let row = row.unwrap_or_else(|| panic!("{client} has no row"));
        assert!(row["verified"] == true, "{client}: {}", row["rejected"]);
        let driver = &document["environment"]["clients"][client];
        assert_eq!(driver["version"], number);
    }
    let rounds = document["rounds"].as_array().unwrap();
    for block in 0..6 {
        let of_block = rounds.iter().filter(|round| round["block"] == block);
        let clients: Vec<_> = of_block.map(|round| &round["client"]).collect();
        for version in ["mine@old", "mine@new"] {
            let rounds = clients.iter().filter(|client| **client == version);
            assert_eq!(rounds.count(), 1, "{version} in block {block}: {clients:?}");
        }
    }
}

/// A driver that gives another name than its manifest says is not measured.
#[test]
fn a_driver_that_reports_another_name_is_refused() {
    let versions = versions();
    let path = versions.path().join("old.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("reports = 'mine'", "reports = 'yours'")).unwrap();
    let mut command = hecaton("cheats");
    command.env("HECATON_DRIVERS", versions.path());
    let ending = run(command.args(["drivers", "check", "mine@old"]));
    ending.assert(1, &[]);
    assert!(
        ending.stdout.contains("name yours were expected"),
        "{}",
        ending.stdout
    );
}
