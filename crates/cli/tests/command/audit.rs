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
    let shown = text(&gone);
    for says in [
        "1 verdict differs from ",
        "stale-post-fin is better: `pass`, and the file expects `deviation` (it sins)",
        "take it out of the file",
    ] {
        assert!(
            gone.status.code() == Some(3) && shown.contains(says),
            "{shown}"
        );
    }
    let other = expect(
        "repeats-stale-post-after-fin",
        &listed.replace("deviation", "violation"),
    );
    let shown = text(&other);
    assert!(shown.contains("write `deviation` in the file"), "{shown}");
    write(&file, listed).unwrap();
    let anew = ["--write-expect", file.to_str().unwrap()];
    sinner("repeats-stale-post-after-fin", temporary.path(), &anew);
    let written = read_to_string(&file).unwrap();
    assert!(written.contains("it sins"), "{written}");
}

/// The document for systems of continuous integration fails if, and only if, the command does.
#[test]
fn junit_fails_for_what_differs_from_the_expectations_and_for_nothing_else() {
    let temporary = tempfile::tempdir().unwrap();
    let file = temporary.path().join("expected.toml");
    let listed =
        "client = 'sinner'\n[[expected]]\ncase = 'RT02'\nverdict = 'deviation'\nwhy = 'it sins'\n";
    let junit = |sin: &str, expected: &str| {
        write(&file, expected).unwrap();
        sinner(sin, temporary.path(), &["--expect", file.to_str().unwrap()]);
        read_to_string(temporary.path().join("junit.xml")).unwrap()
    };
    let sin = "repeats-stale-post-after-fin";
    for (sin, expected, counts, result) in [
        (
            sin,
            listed,
            "failures=\"0\" skipped=\"1\"",
            "RT02 stale-post-fin\"><skipped message=\"expected deviation: it sins\"/>",
        ),
        (
            sin,
            "client = 'sinner'",
            "failures=\"1\" skipped=\"0\"",
            "<failure type=\"deviation\" message=\"stale-post-fin is `deviation`, and the file does not list it",
        ),
        (
            "follows-for-ever",
            listed,
            "failures=\"1\" skipped=\"0\"",
            "<failure type=\"pass\" message=\"stale-post-fin is better",
        ),
    ] {
        let shown = junit(sin, expected);
        assert!(shown.contains(counts) && shown.contains(result), "{shown}");
    }
}

/// Places that are written after minutes are tried before the first request.
#[test]
fn places_that_cannot_be_written_are_refused_before_the_audit() {
    let temporary = tempfile::tempdir().unwrap();
    let nowhere = temporary.path().join("nowhere/expected.toml");
    let file = temporary.path().join("file");
    write(&file, "kept").unwrap();
    for (option, place) in [
        ("--write-expect", &nowhere),
        ("--write-expect", &temporary.path().to_path_buf()),
        ("--out", &file),
        ("--out", &file.join("below")),
    ] {
        let ended = audit(&["saint", "--case", "rt02", option, place.to_str().unwrap()]);
        let shown = text(&ended);
        assert_eq!(ended.status.code(), Some(2), "{option}: {shown}");
        assert!(
            shown.contains(option)
                && shown.contains("cannot be written")
                && !shown.contains("built in"),
            "{shown}"
        );
    }
    assert_eq!(read_to_string(&file).unwrap(), "kept");
    assert_eq!(temporary.path().read_dir().unwrap().count(), 1);
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
            "there is no case `short-lenght`; did you mean short-length",
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
    write(&file, listed("short-length")).unwrap();
    let expect = [
        "--sin",
        "follows-for-ever",
        "--expect",
        file.to_str().unwrap(),
    ];
    let ended = audit(&[&["sinner", "--case", "rt02"][..], &expect].concat());
    assert_eq!(ended.status.code(), Some(2), "{}", text(&ended));
    assert!(
        text(&ended).contains("none of the cases of `--case`, so nothing would be compared"),
        "{}",
        text(&ended)
    );
    for (line, says) in [
        ("saint --case stale-post-fni", "did you mean stale-post-fin"),
        (
            "sinner --sin follows-forever",
            "did you mean follows-for-ever",
        ),
        ("net-htp --essential", "did you mean net-http"),
        ("mine --essential", "`--drivers FOLDER` adds your own"),
        (
            "mine --drivers /nowhere",
            "/nowhere: cannot list the folder",
        ),
    ] {
        let ended = audit(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(ended.status.code(), Some(2), "{}", text(&ended));
        assert!(text(&ended).contains(says), "{}", text(&ended));
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
    assert!(text(&same).contains("expects."), "{}", text(&same));
    let some = ["--runs", "1", "--case", "fr17", "--write-expect", file];
    audit(&[&["sinner", "--sin", sin], &some[..]].concat());
    let kept = read_to_string(file).unwrap();
    assert_eq!(kept, expected, "a case that did not run is kept");
    let other = sinner("follows-for-ever", temporary.path(), &["--expect", file]);
    assert_eq!(other.status.code(), Some(3), "{}", text(&other));
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
            &["--essential", "--group", "proxies"][..],
            "no case of these groups is essential",
        ),
        (&["--essential", "--case", "fr01"], "cannot be used with"),
        (
            &["--group", "framing", "--case", "fr01"],
            "cannot be used with",
        ),
    ] {
        let ended = audit(&[&["saint"][..], wrong].concat());
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
        worse.status.code() == Some(3) && text(&worse).contains("pass → deviation"),
        "{}",
        text(&worse)
    );
    let better = audit(&["compare", &run(&after), &run(&before), "--fail-if-worse"]);
    let shown = text(&better);
    assert!(
        better.status.success()
            && shown.contains("better  sinner  stale-post-fin: deviation → pass"),
        "{shown}"
    );
    assert!(
        shown.contains("Nothing is worse, and 1 verdict is better."),
        "{shown}"
    );
}

/// A folder of `--out` stands for the document in it, which may be compressed.
#[test]
fn a_run_is_named_by_its_folder() {
    let temporary = tempfile::tempdir().unwrap();
    let (before, after) = (
        temporary.path().join("before"),
        temporary.path().join("after"),
    );
    sinner("follows-for-ever", &before, &[]);
    std::fs::create_dir(&after).unwrap();
    let run = std::fs::read(before.join("run.json")).unwrap();
    write(
        after.join("run.json.zst"),
        zstd::encode_all(&run[..], 1).unwrap(),
    )
    .unwrap();
    let folder = |path: &Path| path.to_str().unwrap().to_owned();
    let same = text(&audit(&["compare", &folder(&before), &folder(&after)]));
    assert_eq!(same, "The verdicts are the same.\n");
    let none = text(&audit(&[
        "compare",
        &folder(&before),
        &folder(temporary.path()),
    ]));
    assert!(
        none.contains("give the run.json of a run, or its folder"),
        "{none}"
    );
}

#[test]
fn a_driver_makes_a_call_and_refuses_what_its_client_cannot() {
    let ended = audit(&["saint,net-http", "--runs", "1", "--case", "rt02,fr01,ck04"]);
    let shown = text(&ended);
    assert!(ended.status.success(), "{shown}");
    assert!(
        shown.contains("unsupported  CK04")
            && shown.contains("2 of 3 cases were tried. The other one needs what"),
        "{shown}"
    );
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
    in_project_of(folder)
}

/// The command in that project.
fn in_project_of(folder: &Path) -> Command {
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

/// Its verdict would be about the driver, not about the client.
#[test]
fn a_driver_that_ends_in_one_case_says_nothing_of_its_client() {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = project_of(temporary.path());
    let ends_at_the_second = "$calls = $calls.to_i + 1; exit!(7) if $calls == 2; \
         [Net::HTTP.get_response(URI(call.url)).code.to_i, '']";
    driver(
        &temporary.path().join("clients"),
        "ends",
        ends_at_the_second,
    );
    let file = temporary.path().join("expected");
    write(&file, "client = 'ends'").unwrap();
    let out = temporary.path().join("out");
    command.args(["audit", "ends", "--runs", "1", "--case", "fr01,fr17"]);
    command.arg("--expect").arg(&file).arg("--out").arg(&out);
    let ended = command.output().unwrap();
    let shown = text(&ended);
    assert_eq!(ended.status.code(), Some(3), "{shown}");
    let report = read_to_string(out.join("report.md")).unwrap();
    let junit = read_to_string(out.join("junit.xml")).unwrap();
    for document in [&shown, &report, &junit] {
        for says in [
            "setup failed",
            "Nothing is known of the client",
            "ended (exit status: 7) during `call`",
        ] {
            assert!(document.contains(says), "{document}");
        }
    }
}

#[test]
fn a_folder_of_results_has_none_of_an_earlier_audit() {
    let temporary = tempfile::tempdir().unwrap();
    project_of(temporary.path());
    let clients = temporary.path().join("clients");
    let get = "[Net::HTTP.get_response(URI(call.url)).code.to_i, '']";
    driver(&clients, "changes", get);
    let out = temporary.path().join("out");
    let audit = || {
        let mut command = in_project_of(temporary.path());
        command.args(["audit", "changes", "--runs", "1", "--case", "fr01", "--out"]);
        command.arg(&out).output().unwrap()
    };
    audit();
    assert!(out.join("junit.xml").is_file());
    write(clients.join("changes.rb"), "exit!(3)").unwrap();
    assert_eq!(audit().status.code(), Some(1));
    assert!(!out.join("junit.xml").exists() && !out.join("run.json").exists());
}

#[test]
fn an_audit_that_could_not_be_made_is_not_a_finding() {
    let temporary = tempfile::tempdir().unwrap();
    project_of(temporary.path());
    let clients = temporary.path().join("clients");
    driver(&clients, "mistyped", "sned(call)");
    driver(&clients, "dies", "[200, '']");
    write(clients.join("dies.rb"), "exit!(3)").unwrap();
    let file = temporary.path().join("expected");
    for (client, options, says) in [
        ("mistyped", "--expect", "no fault of a server was applied"),
        ("dies", "--expect", "dies"),
        ("dies", "--all", "no client could be audited"),
    ] {
        write(&file, format!("client = '{client}'")).unwrap();
        let mut command = in_project_of(temporary.path());
        command.args(["audit", "--case", "fr01"]);
        match options {
            "--all" => {
                std::fs::remove_file(clients.join("mistyped.toml")).unwrap();
                command.arg("--all")
            }
            _ => command.arg(client).arg("--expect").arg(&file),
        };
        let ended = command.output().unwrap();
        let shown = text(&ended);
        assert!(
            ended.status.code() == Some(1) && shown.contains(says),
            "{shown}"
        );
    }
}

/// A driver that accepts every word would pass every case; one without words cannot be audited.
#[test]
fn a_driver_that_cannot_be_audited_is_refused_in_words() {
    let temporary = tempfile::tempdir().unwrap();
    project_of(temporary.path());
    let clients = temporary.path().join("clients");
    let changed = |name: &str, instead: &str| {
        driver(&clients, name, "[200, '']");
        let program = clients.join(format!("{name}.rb"));
        let text = read_to_string(&program).unwrap();
        write(&program, text.replace("Kit.run(Object,", instead)).unwrap();
    };
    let reply = "{ ok: true, status: 200, bytes: 0, sha256: '', ms: 1 }";
    changed(
        "accepts",
        &format!("def Kit.call_reply(_) = {reply}\nKit.run(Object,"),
    );
    changed("wordless", "Kit.run(Object, calls: [],");
    driver(&clients, "mistyped", "sned(call)");
    for (client, says) in [
        ("accepts", "and reports 200 with 0 bytes after 1 ms"),
        ("wordless", "`hello` has no `calls`"),
        (
            "mistyped",
            "no fault of a server was applied; its call said NoMethodError: undefined method",
        ),
    ] {
        let mut command = in_project_of(temporary.path());
        let ended = command.args(["audit", client, "--case", "fr01"]).output();
        let ended = ended.unwrap();
        let shown = text(&ended);
        assert!(
            ended.status.code() == Some(1) && shown.contains(says),
            "{shown}"
        );
    }
}
