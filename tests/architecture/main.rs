//! In each crate the modules import in one direction, and few files import each other in a circle.

mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::imports::{Graph, code, graph, modules, sources};

/// A crate of the workspace, and what it promises of its files.
struct Crate {
    folder: &'static str,
    /// The modules in the order of the flow, as in `lib.rs`, one word each. None: they may import each other as they like.
    flow: &'static str,
    imports_from: Neighbours,
    /// The modules that all others may use, after the flow in `lib.rs`.
    for_all: &'static str,
    /// The other crates of the workspace that it depends on, and those that only its tests use.
    links: &'static str,
    tests_link: &'static str,
    /// Least imports between modules that the test must find, or it no longer reads them.
    least_imports: usize,
}

/// Most files that import each other in a circle.
const LARGEST_CIRCLE: usize = 3;

/// The modules of the flow that a module may import from, besides itself.
#[derive(PartialEq)]
enum Neighbours {
    Earlier,
    Later,
}

const CRATES: [Crate; 7] = [
    Crate {
        folder: "crates/hecaton",
        flow: "batch client pool multiplex h3 h2 h1 transport content runtime config message",
        imports_from: Neighbours::Later,
        for_all: "",
        links: "",
        tests_link: "",
        least_imports: 100,
    },
    Crate {
        folder: "crates/fetch",
        flow: "job objects host input template expression take robots sink plan request segment finalize run show verify start again finish remote place dispatch",
        imports_from: Neighbours::Earlier,
        for_all: "error frame record",
        links: "hecaton",
        tests_link: "hecaton-test-server",
        least_imports: 100,
    },
    Crate {
        folder: "crates/lab",
        flow: "spec plan run ledger findings views report measure doctor",
        imports_from: Neighbours::Earlier,
        for_all: "",
        links: "hecaton-test-server",
        tests_link: "",
        least_imports: 100,
    },
    Crate {
        folder: "crates/audit",
        flow: "case server subject clients facts judge run listen report",
        imports_from: Neighbours::Earlier,
        for_all: "",
        // It uses our client only through a driver, as all others.
        links: "hecaton-lab hecaton-test-server",
        tests_link: "",
        least_imports: 40,
    },
    Crate {
        folder: "crates/test-server",
        flow: "server http1 http2 http3 multiplexed replies hub options request ledger round wire",
        imports_from: Neighbours::Later,
        for_all: "",
        links: "",
        tests_link: "",
        least_imports: 100,
    },
    Crate {
        folder: "crates/cli",
        flow: "",
        imports_from: Neighbours::Later,
        for_all: "",
        links: "hecaton-audit hecaton-fetch hecaton-lab hecaton-test-server",
        tests_link: "hecaton-e2e",
        least_imports: 20,
    },
    Crate {
        folder: "ruby/ext/hecaton",
        flow: "",
        imports_from: Neighbours::Later,
        for_all: "",
        links: "hecaton",
        tests_link: "",
        least_imports: 50,
    },
];

impl Crate {
    fn path(&self) -> PathBuf {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        here.parent().unwrap().join(self.folder)
    }

    fn graph(&self) -> Graph {
        graph(&self.path().join("src"))
    }

    /// Whether a file may import from another, by their modules.
    fn allows(&self, file: &str, target: &str) -> bool {
        let place = |name: &str| self.flow.split(' ').position(|module| module == name);
        match (place(file), place(target)) {
            (Some(own), Some(other)) => match self.imports_from {
                Neighbours::Earlier => other <= own,
                Neighbours::Later => other >= own,
            },
            (None, Some(_)) => !words(self.for_all).contains(&file),
            (_, None) => true,
        }
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// The module of a file: the first name of its path.
fn module(file: &str) -> &str {
    file.split('/').next().unwrap()
}

#[test]
fn modules_import_in_one_direction() {
    for it in &CRATES {
        let graph = it.graph();
        let imports = graph
            .iter()
            .flat_map(|(file, targets)| targets.iter().map(move |target| (file, target)));
        let between: Vec<_> = imports
            .filter(|(file, target)| !file.is_empty() && module(file) != module(target))
            .collect();
        let against: Vec<_> = between
            .iter()
            .filter(|(file, target)| !it.allows(module(file), module(target)))
            .collect();
        assert!(against.is_empty(), "{}: {against:?}", it.folder);
        assert!(
            between.len() >= it.least_imports,
            "{}: only {} imports were found: does this test still read them?",
            it.folder,
            between.len()
        );
    }
}

#[test]
fn files_import_each_other_in_small_circles() {
    for it in &CRATES {
        let graph = it.graph();
        let reached = reached(&graph);
        for (file, from_it) in &reached {
            let circle: Vec<_> = from_it
                .iter()
                .filter(|target| reached[**target].contains(file))
                .collect();
            assert!(
                circle.len() <= LARGEST_CIRCLE,
                "{}: these import each other: {circle:?}",
                it.folder
            );
        }
    }
}

/// All files that each file imports from, directly or not.
fn reached(graph: &Graph) -> BTreeMap<&String, BTreeSet<&String>> {
    let reach = |file| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![file]);
        while let Some(file) = open.pop() {
            open.extend(graph[file].iter().filter(|target| seen.insert(*target)));
        }
        seen
    };
    graph.keys().map(|file| (file, reach(file))).collect()
}

#[test]
fn every_module_is_in_lib_rs_in_the_order_of_the_flow_and_nothing_else_is() {
    for it in CRATES.iter().filter(|it| !it.flow.is_empty()) {
        let lib = fs::read_to_string(it.path().join("src/lib.rs")).unwrap();
        let expected = [words(it.flow), words(it.for_all)].concat();
        assert_eq!(modules(&code(&lib)), expected, "{}", it.folder);
        let graph = it.graph();
        let found: BTreeSet<_> = graph.keys().map(|file| module(file)).collect();
        // The file itself, and also the modules of tests.
        let named = [vec![""], modules(&lib)].concat();
        assert_eq!(found, BTreeSet::from_iter(named), "{}", it.folder);
    }
}

#[test]
fn every_crate_links_only_those_that_it_may() {
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let workspace: serde_json::Value = serde_json::from_slice(&cargo.stdout).unwrap();
    let packages = workspace["packages"].as_array().unwrap();
    assert_eq!(
        packages.len(),
        CRATES.len() + 1,
        "the crates, and these tests"
    );
    for it in &CRATES {
        let manifest = it.path().join("Cargo.toml");
        let package = packages
            .iter()
            .find(|package| package["manifest_path"] == manifest.to_str().unwrap());
        let package = package.unwrap();
        let linked = package["dependencies"].as_array().unwrap();
        let linked = |by_tests: bool| -> Vec<&str> {
            let others = linked.iter().filter(|it| it["name"] != package["name"]);
            let linked = others.filter(|it| (it["kind"] == "dev") == by_tests);
            let names = linked.map(|it| it["name"].as_str().unwrap());
            names.filter(|name| name.starts_with("hecaton")).collect()
        };
        assert_eq!(linked(false), words(it.links), "{}", it.folder);
        assert_eq!(linked(true), words(it.tests_link), "{}", it.folder);
    }
}

/// An installed command has no folder `docs`: its messages name a page by its title, or another command.
#[test]
fn messages_name_no_file_of_the_documentation() {
    let commands = CRATES.iter().filter(|it| it.folder != "crates/hecaton");
    let files: Vec<_> = commands
        .flat_map(|it| sources(&it.path().join("src")))
        .collect();
    assert!(files.len() > 200, "{files:?}");
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        let mut lines = code(&source).lines().map(str::to_owned).collect::<Vec<_>>();
        if file.components().any(|part| part.as_os_str() == "cmd") {
            // The help of an option.
            lines.extend(
                source
                    .lines()
                    .filter(|it| it.trim_start().starts_with("///"))
                    .map(str::to_owned),
            );
        }
        let names = lines
            .iter()
            .find(|line| line.contains("docs/") && line.contains(".md"));
        assert_eq!(names, None, "{}", file.display());
    }
}
