//! A place that cannot be written is noticed before the work whose result would be lost, and so is an address that is in
//! use.

use std::net::TcpListener;

use crate::support::{hecaton, root, run};

/// Every option that names a file or a folder to write, or an address to listen on, and the status of the refusal. `PLACE`
/// is below a file, `RUN` is a run, `LIST` is a list of URLs, `JOB` is a job, and `ADDRESS` is in use.
const WRITES: &[(&str, i32)] = &[
    ("sweep honest -c 1 -r 1 --out PLACE", 2),
    ("shootout honest -r 1 --out PLACE", 2),
    ("compare honest honest --set tls=on -r 1 --out PLACE", 2),
    ("compare keepalive honest -r 1 --out PLACE", 2),
    ("bench --quick --part one --out PLACE", 2),
    ("audit saint --case rt02 --out PLACE", 2),
    ("audit saint --case rt02 --write-expect PLACE", 2),
    ("fetch LIST --into PLACE", 2),
    ("fetch plan LIST --into PLACE", 2),
    ("fetch LIST --into NEW --metrics ADDRESS", 2),
    ("fetch add JOB LIST --metrics ADDRESS", 2),
    ("fetch again JOB --metrics ADDRESS", 2),
    ("fetch run-part JOB 0 --metrics ADDRESS", 2),
    ("fetch export JOB --csv PLACE", 1),
    #[cfg(feature = "parquet")]
    ("fetch export JOB --parquet PLACE", 1),
    ("serve --tls --tls-ca-out PLACE", 1),
    ("serve --tls --tls-client-out PLACE", 1),
    ("serve --unix PLACE", 1),
    ("report RUN --html PLACE", 1),
    ("report RUN --svg PLACE", 1),
    ("report --index PLACE", 1),
];

#[test]
fn a_place_that_cannot_be_written_is_refused_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("file"), "").unwrap();
    std::fs::write(path("list"), "http://127.0.0.1:9/\n").unwrap();
    let recorded = root().join("docs/results/2026-11-24-shootout");
    let job = [
        "fetch",
        &path("list"),
        "--into",
        &path("job"),
        "--fail-if",
        "never",
    ];
    run(hecaton("cheats").args(job)).assert(3, &[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    for &(line, status) in WRITES {
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
                "JOB" => path("job"),
                "NEW" => path("new"),
                "ADDRESS" => address.clone(),
                word => word.to_owned(),
            });
        }
        let ending = run(command.current_dir(folder.path()));
        let named = if line.ends_with("ADDRESS") {
            &address
        } else {
            &path("file")
        };
        ending.assert(status, &[named]);
        assert_eq!(ending.stdout, "", "{line}");
        let said = ending.stderr.lines().count();
        // The estimate of a benchmark is made without work.
        let most = 1 + usize::from(line.starts_with("bench"));
        assert!(said <= most, "{line}: {}", ending.stderr);
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 3, "{line} left something");
    }
}
