//! A place that cannot be written is noticed before the work whose result would be lost.

use crate::support::{hecaton, root, run};

/// Every option that names a file or a folder to write, and the status of the refusal. `PLACE` is below a file, `RUN` is
/// a run, and `LIST` is a list of URLs.
const WRITES: [(&str, i32); 14] = [
    ("sweep honest -c 1 -r 1 --out PLACE", 2),
    ("shootout honest -r 1 --out PLACE", 2),
    ("compare honest honest --set tls=on -r 1 --out PLACE", 2),
    ("compare keepalive honest -r 1 --out PLACE", 2),
    ("bench --quick --part one --out PLACE", 2),
    ("audit saint --case rt02 --out PLACE", 2),
    ("audit saint --case rt02 --write-expect PLACE", 2),
    ("fetch LIST --into PLACE", 2),
    ("fetch plan LIST --into PLACE", 2),
    ("serve --tls --tls-ca-out PLACE", 1),
    ("serve --tls --tls-client-out PLACE", 1),
    ("serve --unix PLACE", 1),
    ("report RUN --html PLACE", 1),
    ("report RUN --svg PLACE", 1),
];

#[test]
fn a_place_that_cannot_be_written_is_refused_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("file"), "").unwrap();
    std::fs::write(path("list"), "http://127.0.0.1:9/\n").unwrap();
    let recorded = root().join("docs/results/2026-11-24-shootout");
    for (line, status) in WRITES {
        let mut command = hecaton("cheats");
        if line.starts_with("bench") || line.starts_with("audit") {
            // Its scenarios are the project's.
            command.env("HECATON_ROOT", root());
        }
        for word in line.split(' ') {
            command.arg(match word {
                "PLACE" => path("file/x"),
                "RUN" => recorded.display().to_string(),
                "LIST" => path("list"),
                word => word.to_owned(),
            });
        }
        let ending = run(command.current_dir(folder.path()));
        ending.assert(status, &[&path("file")]);
        assert_eq!(ending.stdout, "", "{line}");
        let said = ending.stderr.lines().count();
        // The estimate of a benchmark is made without work.
        assert!(said <= 2, "{line}: {}", ending.stderr);
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 2, "{line} left something");
    }
}
