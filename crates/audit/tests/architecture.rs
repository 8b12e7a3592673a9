//! The flow stays one way: a module imports only from those before it, and the engine is not linked.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules. Each may import only from those before it.
const STAGES: [&str; 8] = [
    "case", "server", "subject", "clients", "facts", "run", "listen", "report",
];

fn sources(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_path_buf()];
    }
    let entries = fs::read_dir(place).into_iter().flatten();
    entries
        .flat_map(|entry| sources(&entry.unwrap().path()))
        .collect()
}

#[test]
fn modules_import_only_from_earlier_ones() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for (place, stage) in STAGES.iter().enumerate() {
        let files = [
            sources(&root.join(stage)),
            sources(&root.join(format!("{stage}.rs"))),
        ]
        .concat();
        assert!(!files.is_empty(), "there is no module {stage}");
        for file in files {
            let source = fs::read_to_string(&file).unwrap();
            for (at, found) in source.match_indices("crate::") {
                let rest = &source[at + found.len()..];
                let name = rest
                    .split(|char: char| !char.is_alphanumeric() && char != '_')
                    .next()
                    .unwrap();
                seen += usize::from(STAGES.contains(&name));
                assert!(
                    !STAGES[place + 1..].contains(&name),
                    "{} imports {name}",
                    file.display()
                );
            }
        }
    }
    assert!(
        seen > STAGES.len(),
        "only {seen} imports were found: does this test still read them?"
    );
}

#[test]
fn the_engine_is_not_linked() {
    let manifest =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    assert!(
        !manifest.contains("\nhecaton.workspace"),
        "the audit uses our client only through a driver"
    );
}
