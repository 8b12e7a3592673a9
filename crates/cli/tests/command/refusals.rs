//! Impossible requests are refused before anything is looked for: each line runs without any client installed.

use crate::support::{root, run};
use std::process::{Command, Stdio};

/// Lines, and words of the sentence that each is refused with. `LOG` and `LIST` are files; nothing listens at `URL`.
const REFUSED: [(&str, &str); 28] = [
    (
        "sweep URL 10 1 -c 2 --client curb-easy --access-log LOG",
        "curb-easy cannot give each request an id",
    ),
    (
        "sweep POST URL 10 1 -c 2 --client excon --data x",
        "excon does not send a body",
    ),
    (
        "sweep URL 10 1 -c 2 --client net-http --body 1",
        "leave one of them out",
    ),
    ("sweep --client nobody", "nobody"),
    (
        "sweep --client net-http --trust nobody",
        "--trust nobody: no client of that name is measured",
    ),
    (
        "sweep --client net-http --rate 50 --server 127.0.0.1:1 --server-token x",
        "leave --rate out",
    ),
    (
        "sweep URL 10 1 -c 2 --client net-http --server 127.0.0.1:1 --server-token x",
        "a URL was named too",
    ),
    (
        "shootout net-http --baseline curb",
        "the baseline curb is not measured",
    ),
    (
        "shootout net-http --skip net-http",
        "no client is left to measure",
    ),
    (
        "shootout excon net-http --url POST URL --data x",
        "excon does not send a body",
    ),
    ("shootout net-http --trust nobody", "--trust nobody"),
    ("compare net-http", "a comparison needs two clients"),
    ("compare net-http nobody", "nobody"),
    ("audit nobody", "nobody"),
    (
        "audit saint --trust nobody",
        "--trust nobody: no client of that name is audited",
    ),
    (
        "audit sinner --sin none",
        "there is no sin `none`; `hecaton audit explain CASE` names the sin of a case",
    ),
    ("sweep --memory 20m", "`20m` cannot be a size"),
    ("fetch LIST --max-body 1.5G", "\"1.5G\" cannot be a size"),
    ("fetch LIST --read-timeout 0", "read_timeout is 0"),
    ("fetch LIST --retry-status 0", "retry_statuses has 0"),
    (
        "fetch LIST --keep-header ETag:",
        "\"ETag:\" is not the name",
    ),
    (
        "fetch LIST --proxy http://u:pw@127.0.0.1:9",
        "give proxy as env:NAME",
    ),
    ("fetch LIST --rate 0", "rate is 0"),
    ("fetch LIST --connect-timeout 0", "connect_timeout is 0"),
    (
        "fetch LIST --verify sha256:sum",
        "verify names the column \"sum\"",
    ),
    (
        "fetch LIST --name url-path",
        "name is for files: give --keep-body files",
    ),
    ("fetch LIST --stop-after 2", "such as 2h or 10GB"),
    ("fetch NOTHING", "there is no such file"),
];

#[test]
fn what_cannot_be_is_refused_where_nothing_is_installed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("x.log"), "").unwrap();
    std::fs::write(path("x.txt"), "http://127.0.0.1:9/\n").unwrap();
    let mut wrong = Vec::new();
    for (line, words) in REFUSED {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hecaton"));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
            .env_clear()
            .env("HECATON_ROOT", root())
            .env("PATH", folder.path());
        for word in line.split(' ') {
            command.arg(match word {
                "LOG" => path("x.log"),
                "LIST" => path("x.txt"),
                "URL" => "http://127.0.0.1:9/".to_owned(),
                word => word.to_owned(),
            });
        }
        let ending = run(command.arg("--out").arg(path("run")));
        let is_refused = ending.status == Some(2) && ending.stderr.contains(words);
        if !is_refused || ending.stderr.contains("cannot run here") {
            wrong.push((line, ending.status, ending.stderr));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
