//! `hecaton audit`: findings, documents, expectations and comparisons, and a client used by hand.

use std::fs::{read_to_string, write};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{hecaton, root};

/// The command with the project's own cases and clients.
fn project() -> Command {
    let mut command = hecaton("cheats");
    command
        .env("HECATON_ROOT", root())
        .env_remove("HECATON_DRIVERS");
    command
}

fn audit(arguments: &[&str]) -> Output {
    project().arg("audit").args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Audits the sinner with one sin, and keeps the documents in `folder`.
fn sinner(sin: &str, folder: &Path, more: &[&str]) -> Output {
    let folder = folder.to_str().unwrap();
    let always = [
        "sinner",
        "--sin",
        sin,
        "--case",
        "rt02,fr01",
        "--runs",
        "1",
        "--out",
        folder,
    ];
    audit(&[&always, more].concat())
}

#[test]
fn a_finding_is_shown_with_its_evidence_in_every_document() {
    let temporary = tempfile::tempdir().unwrap();
    let ended = sinner(
        "repeats-stale-post-after-fin",
        temporary.path(),
        &["--wire"],
    );
    let shown = text(&ended);
    assert!(ended.status.success(), "{shown}");
    assert!(
        shown.contains("deviation    RT02") && shown.contains("is attempt 2 of `post`"),
        "{shown}"
    );
    let document = |name: &str| read_to_string(temporary.path().join(name)).unwrap();
    let run: Value = serde_json::from_str(&document("run.json")).unwrap();
    let finding = &run[0]["findings"][1];
    assert_eq!(
        (&finding["verdict"], &finding["id"]),
        (&"pass".into(), &"short-length".into())
    );
    let finding = &run[0]["findings"][0];
    assert_eq!(
        (&finding["verdict"], &finding["id"]),
        (&"deviation".into(), &"stale-post-fin".into())
    );
    assert!(finding["run"]["log"]["entries"].as_array().unwrap().len() > 5);
    assert!(
        document("report.html").contains("<svg") && document("report.md").contains("| deviation |")
    );
    assert!(document("junit.xml").contains("<failure type=\"deviation\""));
    assert!(
        document("report.csv").contains("sinner,built in,retries,RT02,stale-post-fin,deviation")
    );
}

#[test]
fn expectations_fail_for_what_is_new_and_for_what_is_gone() {
    let temporary = tempfile::tempdir().unwrap();
    let file = temporary.path().join("expected.toml");
    let listed = "client = 'sinner'\n[[expected]]\ncase = 'stale-post-fin'\nverdict = 'deviation'\nwhy = 'it sins'\n";
    let expect = |sin: &str, expected: &str| {
        write(&file, expected).unwrap();
        sinner(sin, temporary.path(), &["--expect", file.to_str().unwrap()])
    };
    assert!(
        expect("repeats-stale-post-after-fin", listed)
            .status
            .success()
    );
    let fresh = expect("repeats-stale-post-after-fin", "client = 'sinner'");
    assert!(
        text(&fresh).contains("the file does not list it"),
        "{}",
        text(&fresh)
    );
    let gone = expect("follows-for-ever", listed);
    assert!(
        !gone.status.success() && text(&gone).contains("expects `deviation`"),
        "{}",
        text(&gone)
    );
}

/// The command ends before the first request if a file of expectations cannot be compared.
#[test]
fn expectations_that_compare_nothing_are_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let file = temporary.path().join("expected.toml");
    let listed = |case: &str| {
        format!(
            "client = 'sinner'\n[[expected]]\ncase = '{case}'\nverdict = 'deviation'\nwhy = 'it sins'\n"
        )
    };
    let twice =
        listed("short-length") + "[[expected]]\ncase = 'fr01'\nverdict = 'pass'\nwhy = ''\n";
    let misspelt = listed("short-length").replace("expected", "expects");
    for (contents, clients, says) in [
        (
            Some("client = 'siner'"),
            "sinner",
            "is about the client siner, which is not audited",
        ),
        (
            Some("client = 'saint'"),
            "sinner",
            "is about the client saint, which is not audited",
        ),
        (
            Some("client = 'net-http'"),
            "sinner",
            "is about the client net-http, which is not audited",
        ),
        (
            Some("client = 'sinner'"),
            "sinner saint",
            "no file of `--expect` is about saint",
        ),
        (
            Some(&*listed("short-lenght")),
            "sinner",
            "there is no case `short-lenght`",
        ),
        (Some(&*twice), "sinner", "`fr01` is listed twice"),
        (Some(&*misspelt), "sinner", "is wrong"),
        (None, "sinner", "cannot be read"),
    ] {
        let _ = std::fs::remove_file(&file);
        if let Some(contents) = contents {
            write(&file, contents).unwrap();
        }
        let expect = [
            "--sin",
            "follows-for-ever",
            "--expect",
            file.to_str().unwrap(),
        ];
        let clients: Vec<&str> = clients.split(' ').collect();
        let ended = audit(&[&clients[..], &expect].concat());
        let shown = text(&ended);
        assert_eq!(ended.status.code(), Some(2), "{says}: {shown}");
        assert!(
            shown.contains(says) && !shown.contains("built in"),
            "{says}: {shown}"
        );
    }
    let unknown = ["nobody", "--case", "fr01"];
    let unknown_case = ["saint", "--case", "xx99"];
    let unknown_group = ["saint", "--group", "nothing"];
    let never = ["saint", "--runs", "0"];
    for arguments in [
        &unknown[..],
        &unknown_case,
        &unknown_group,
        &never,
        &["explain"],
        &[],
    ] {
        let ended = audit(arguments);
        assert_eq!(
            ended.status.code(),
            Some(2),
            "{arguments:?}: {}",
            text(&ended)
        );
    }
}

#[test]
fn what_was_found_can_be_written_as_what_is_expected() {
    let temporary = tempfile::tempdir().unwrap();
    let file = temporary.path().join("expected.toml");
    let file = file.to_str().unwrap();
    let sin = "repeats-stale-post-after-fin";
    let written = sinner(sin, temporary.path(), &["--write-expect", file]);
    assert!(written.status.success(), "{}", text(&written));
    let expected = read_to_string(file).unwrap();
    assert!(expected.contains("case = \"stale-post-fin\""), "{expected}");
    let same = sinner(sin, temporary.path(), &["--expect", file]);
    assert!(same.status.success(), "{}", text(&same));
    let other = sinner("follows-for-ever", temporary.path(), &["--expect", file]);
    assert_eq!(other.status.code(), Some(1), "{}", text(&other));
}

/// The essential cases are a small set to begin with; a group leaves those of the group, and `--case` names its own.
#[test]
fn a_few_essential_cases_can_run_alone() {
    let all = text(&audit(&["--list", "--essential"]));
    assert!(all.contains("RT02 ") && all.contains("TL12 "), "{all}");
    assert!((15..=25).contains(&all.lines().count()), "{all}");
    let of_group = all.lines().filter(|line| line.contains(" framing "));
    let essential = [
        "saint",
        "--essential",
        "--group",
        "framing",
        "--runs",
        "1",
        "--format",
        "csv",
    ];
    let ended = audit(&essential);
    assert_eq!(
        text(&ended).matches(",pass,").count(),
        of_group.count(),
        "{}",
        text(&ended)
    );
    for (wrong, says) in [
        (
            ["--group", "proxies"],
            "no case of these groups is essential",
        ),
        (["--case", "fr01"], "cannot be used with"),
    ] {
        let ended = audit(&[&["saint", "--essential"][..], &wrong].concat());
        assert_eq!(ended.status.code(), Some(2), "{}", text(&ended));
        assert!(text(&ended).contains(says), "{}", text(&ended));
    }
}

#[test]
fn a_run_that_is_worse_can_fail() {
    let temporary = tempfile::tempdir().unwrap();
    let (before, after) = (
        temporary.path().join("before"),
        temporary.path().join("after"),
    );
    sinner("follows-for-ever", &before, &[]);
    sinner("repeats-stale-post-after-fin", &after, &[]);
    let run = |folder: &Path| folder.join("run.json").to_str().unwrap().to_owned();
    let worse = audit(&["compare", &run(&before), &run(&after), "--fail-if-worse"]);
    assert!(
        !worse.status.success() && text(&worse).contains("pass → deviation"),
        "{}",
        text(&worse)
    );
    let better = audit(&["compare", &run(&after), &run(&before), "--fail-if-worse"]);
    assert!(
        better.status.success() && text(&better).contains("Nothing is worse"),
        "{}",
        text(&better)
    );
}

#[test]
fn a_driver_makes_a_call_and_refuses_what_its_client_cannot() {
    let ended = audit(&["net-http", "--runs", "1", "--case", "rt02,fr01,ck04"]);
    let shown = text(&ended);
    assert!(ended.status.success(), "{shown}");
    assert!(shown.contains("unsupported  CK04"), "{shown}");
    // The verdicts on the other cases depend on its version, but there are some.
    assert!(
        shown.contains("RT02") && !shown.contains("setup failed"),
        "{shown}"
    );
}

#[test]
fn a_client_that_is_used_by_hand_gets_its_verdicts_from_the_log() {
    let mut child = project()
        .args(["audit", "--listen", "--case", "fr04,rt02"])
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let url = loop {
        let mut line = String::new();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended");
        if let Some(at) = line.find("http://").filter(|_| line.contains("/post")) {
            break line[at..]
                .split("/hecaton-audit")
                .next()
                .unwrap()
                .to_owned();
        }
    };
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    stream
        .write_all(b"GET /hecaton-audit/stale-post-fin/warm HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    let mut response = [0; 17];
    stream.read_exact(&mut response).unwrap();
    assert_eq!(&response, b"HTTP/1.1 200 OK\r\n");
    let post = b"POST /hecaton-audit/stale-post-fin/post HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\norder=1";
    stream.write_all(post).unwrap();
    let verdict = loop {
        let mut line = String::new();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended");
        if line.contains("stale-post-fin: pass") {
            break line;
        }
    };
    assert!(verdict.contains("sent once"), "{verdict}");
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    assert!(child.wait().unwrap().success());
}

/// A driver of the kit for Ruby, whose calls do what `body` says.
fn driver(folder: &Path, name: &str, body: &str) {
    let kit = root().canonicalize().unwrap().join("drivers/ruby/kit");
    let program = format!(
        "require {kit:?}\nrequire 'net/http'\nKit.calls('method') {{ |call| {body} }}\n\
         Kit.run(Object, name: {name:?}, version: '1', engine: 'none', models: ['threads'], max_concurrency: 1)\n"
    );
    write(folder.join(format!("{name}.rb")), program).unwrap();
    let manifest = format!(
        "client = {name:?}\nlanguage = \"ruby\"\nhomepage = \"https://example.com\"\napproach = \"tuned\"\n\
         version = [\"ruby\", \"-e\", \"puts 1\"]\nrun = [\"ruby\", \"{name}.rb\"]\ncan = [\"http1\"]\n"
    );
    write(folder.join(format!("{name}.toml")), manifest).unwrap();
}

/// A project with the cases, and no clients but those in its folder `clients`.
fn project_of(folder: &Path) -> Command {
    use std::os::unix::fs::{PermissionsExt, symlink};
    // A driver of root runs as another user.
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["scenarios", "audit"] {
        symlink(root().canonicalize().unwrap().join(name), folder.join(name)).unwrap();
    }
    std::fs::create_dir(folder.join("drivers")).unwrap();
    std::fs::create_dir(folder.join("clients")).unwrap();
    let mut command = hecaton("cheats");
    command
        .env("HECATON_ROOT", folder)
        .env("HECATON_DRIVERS", folder.join("clients"));
    command
}

#[test]
fn a_client_that_breaks_is_named_and_the_others_go_on() {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = project_of(temporary.path());
    let clients = temporary.path().join("clients");
    let get =
        "response = Net::HTTP.get_response(URI(call.url)); [response.code.to_i, response.body]";
    driver(&clients, "works", get);
    driver(&clients, "works-too", get);
    driver(&clients, "ends", "exit!(3)");
    let out = temporary.path().join("out");
    // Ten cases: each breaks the driver, and it is given up before the last.
    let cases = "short-length,short-chunked,cut-chunk,two-lengths,length-plus,length-minus,chunk-end,chunk-minus,\
                 status-words,interim-103";
    let ended = command
        .args(["audit", "--all", "--runs", "1", "--case", cases, "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let shown = text(&ended);
    assert!(ended.status.success(), "{shown}");
    assert!(shown.contains("ends is left out: ends broke"), "{shown}");
    let run: Value = serde_json::from_str(&read_to_string(out.join("run.json")).unwrap()).unwrap();
    let names: Vec<&Value> = run
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["client"])
        .collect();
    assert_eq!(names, ["works", "works-too"]);
}
