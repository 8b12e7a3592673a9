//! The access log of one's own service as a witness: what it confirms, what it refutes, and what it cannot say.

use std::fs::File;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::service::{Service, with_ruby};
use crate::support::{Ending, document, hecaton, run};

/// The id in a request's header field; empty where it has none.
fn id(request: &str) -> String {
    let field = request
        .lines()
        .find(|line| line.to_lowercase().starts_with("x-request-id:"));
    field.map_or(String::new(), |line| line[13..].trim().to_owned())
}

fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs_f64()
}

/// A service that writes lines in JSON; `lines` says how often, and `status` what they say.
fn in_json(
    path: &Path,
    lines: impl Fn(usize) -> u32 + Send + Sync + 'static,
    status: u16,
) -> Service {
    let file = Mutex::new(File::create(path).unwrap());
    Service::logging(
        |_| 200,
        move |number, request, _| {
            let line =
                json!({ "msec": format!("{:.6}", now()), "status": status, "id": id(request) });
            for _ in 0..lines(number) {
                writeln!(file.lock().unwrap(), "{line}").unwrap();
            }
        },
    )
}

fn sweep(url: &str, log: &Path, options: &str, folder: &Path) -> Ending {
    let line = format!("sweep {url} --client net-http --json --quiet {options} --access-log");
    let mut command = with_ruby(&line);
    run(command.arg(log).arg("--out").arg(folder))
}

fn row(ending: &Ending) -> Value {
    let printed: Value = serde_json::from_str(&ending.stdout).expect(&ending.stderr);
    let mut rows = printed["rows"].as_array().unwrap().iter();
    rows.find(|row| row["client"] == "net-http")
        .unwrap()
        .clone()
}

#[test]
fn the_log_confirms_the_numbers_of_a_client() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    let service = in_json(&log, |_| 1, 200);
    let ending = sweep(&service.url, &log, "40 2 -c 2", &folder.path().join("run"));
    ending.assert(0, &[]);
    let row = row(&ending);
    assert_eq!(
        (&row["logged"], &row["rejected"]),
        (&true.into(), &Value::Null),
        "{row}"
    );
    assert_eq!(
        (&row["verified"], &row["duplicates"]),
        (&false.into(), &0.into()),
        "{row}"
    );
    let page = std::fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    for words in ["numbers agree", "confirmed by the service&#39;s access log"] {
        let plain = words.replace("&#39;", "'");
        assert!(page.contains(words) || page.contains(&plain), "{words}");
    }
}

#[test]
fn what_the_log_does_not_have_and_what_it_has_as_failed_refutes_a_client() {
    let folder = tempfile::tempdir().unwrap();
    let (log, out) = (folder.path().join("access.log"), folder.path().join("run"));
    // Each tenth line is missing.
    let service = in_json(&log, |number| u32::from(number % 10 != 9), 200);
    let ending = sweep(&service.url, &log, "40 1 -c 2", &out);
    let why = row(&ending)["rejected"].to_string();
    assert!(why.contains("not in the access log"), "{why}");
    let service = in_json(&log, |_| 1, 500);
    let ending = sweep(
        &service.url,
        &log,
        "40 1 -c 2",
        &folder.path().join("failed"),
    );
    let why = row(&ending)["rejected"].to_string();
    assert!(
        why.contains("has 0 with a status that counts as success"),
        "{why}"
    );
}

#[test]
fn requests_that_came_twice_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    let service = in_json(&log, |number| 1 + u32::from(number % 10 == 9), 200);
    let ending = sweep(&service.url, &log, "40 1 -c 2", &folder.path().join("run"));
    let row = row(&ending);
    assert_eq!(
        (&row["duplicates"], &row["rejected"]),
        (&4.into(), &Value::Null),
        "{row}"
    );
    let says = row["warnings"].to_string();
    assert!(
        says.contains("more than once: its access log has 44 lines for 40 requests"),
        "{says}"
    );
}

/// A HEAD has the id of a GET, and no body that must be read.
#[test]
fn who_sends_something_cheaper_with_the_right_id_is_refuted() {
    let folder = tempfile::tempdir().unwrap();
    let (log, out) = (folder.path().join("access.log"), folder.path().join("run"));
    let file = Mutex::new(File::create(&log).unwrap());
    let service = Service::logging(
        |_| 200,
        move |_, request, _| {
            let first = request.lines().next().unwrap_or_default();
            let line = json!({ "request": first, "status": 200, "id": id(request) });
            writeln!(file.lock().unwrap(), "{line}").unwrap();
        },
    );
    let mut command = hecaton("cheats");
    let line = format!(
        "sweep {}users 40 2 -c 2 --client sends-each-request,sends-heads --json --quiet --access-log",
        service.url
    );
    command
        .args(line.split(' '))
        .arg(&log)
        .arg("--out")
        .arg(&out);
    let ending = run(&mut command);
    let printed: Value = serde_json::from_str(&ending.stdout).expect(&ending.stderr);
    let reason = |client: &str| {
        let mut rows = printed["rows"].as_array().unwrap().iter();
        let row = rows.find(|row| row["client"] == client).unwrap();
        row["rejected"].to_string()
    };
    assert_eq!(reason("sends-each-request"), "null");
    let says = reason("sends-heads");
    assert!(
        says.contains("another method or path in the access log"),
        "{says}"
    );
}

/// The service writes the line of a request of the first round once more, when a request of the second arrives.
#[test]
fn lines_that_come_when_their_round_is_over_are_counted_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (log, out) = (folder.path().join("access.log"), folder.path().join("run"));
    let file = Mutex::new((File::create(&log).unwrap(), String::new()));
    let service = Service::logging(
        |_| 200,
        move |number, request, _| {
            let line = json!({ "msec": format!("{:.6}", now()), "status": 200, "id": id(request) });
            let (file, early) = &mut *file.lock().unwrap();
            writeln!(file, "{line}").unwrap();
            // A round has 40 requests. One try, twelve that time the service, and two that open connections, come before
            // the first.
            match number {
                20 => *early = line.to_string(),
                60 => writeln!(file, "{early}").unwrap(),
                _ => {}
            }
        },
    );
    let ending = sweep(&service.url, &log, "40 2 -c 2", &out);
    ending.assert(0, &[]);
    let row = row(&ending);
    assert_eq!(
        (&row["duplicates"], &row["rejected"]),
        (&0.into(), &Value::Null),
        "{row}"
    );
    let says = row["warnings"].to_string();
    assert!(
        says.contains("1 line of the access log came when their round was over"),
        "{says}"
    );
    let document = document(&out);
    let late = document["rounds"].as_array().unwrap().iter();
    let late: Vec<&Value> = late.map(|round| &round["logged"]["late"]).collect();
    assert_eq!(late, [&Value::from(1), &Value::Null]);
}

#[test]
fn a_log_without_the_id_ends_the_run_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (log, out) = (folder.path().join("access.log"), folder.path().join("run"));
    let service = in_json(&log, |_| 0, 200);
    sweep(&service.url, &log, "40 1 -c 2", &out)
        .assert(1, &["has no line with the id", "X-Request-Id: hecaton-"]);
    let missing = folder.path().join("missing.log");
    sweep(&service.url, &missing, "40 1 -c 2", &out).assert(1, &["cannot read the access log"]);
    // A client whose driver sets header fields once.
    let mut command = with_ruby(&format!(
        "sweep {} 10 1 -c 2 --client curb-easy --quiet --access-log",
        service.url
    ));
    run(command.arg(&log).arg("--out").arg(&out))
        .assert(2, &["curb-easy cannot give each request an id"]);
}

/// The service says how late each request arrived: by at least the stall for those that were due meanwhile.
#[test]
fn at_a_rate_the_log_says_how_late_requests_arrived() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    let file = Mutex::new(File::create(&log).unwrap());
    let service = Service::logging(
        // The round has the numbers from 6 on: one try, four that time the service, and one that opens a connection.
        |number| {
            if number == 20 {
                std::thread::sleep(Duration::from_secs(1));
            }
            200
        },
        move |_, request, _| {
            let line = json!({ "msec": format!("{:.6}", now()), "status": 200, "id": id(request) });
            writeln!(file.lock().unwrap(), "{line}").unwrap();
        },
    );
    let ending = sweep(
        &service.url,
        &log,
        "80 1 -c 1 --rate 40",
        &folder.path().join("run"),
    );
    ending.assert(0, &[]);
    let printed: Value = serde_json::from_str(&ending.stdout).unwrap();
    let rate = printed["rates"]
        .as_array()
        .unwrap()
        .iter()
        .find(|rate| rate["client"] == "net-http");
    let behind = rate.unwrap()["behind_p99_ms"].as_f64().unwrap();
    assert!(behind > 900.0, "{behind}");
}

/// The real thing: nginx, whose log has the header field in the format that the documentation names.
#[test]
fn the_logs_of_nginx_and_its_cpu_time_are_read() {
    for format in [
        r#"'$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_x_request_id"'"#,
        r#"escape=json '{"msec":$msec,"request_time":$request_time,"status":$status,"id":"$http_x_request_id"}'"#,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let Some(nginx) = Nginx::start(folder.path(), format) else {
            eprintln!("skipped: nginx is not installed or does not start here");
            return;
        };
        let (log, out) = (folder.path().join("access.log"), folder.path().join("run"));
        let pid = nginx.child.id();
        let ending = sweep(
            &nginx.url,
            &log,
            &format!("200 2 -c 4 --server-pid {pid}"),
            &out,
        );
        ending.assert(0, &[]);
        let row = row(&ending);
        assert_eq!(
            (&row["logged"], &row["duplicates"]),
            (&true.into(), &0.into()),
            "{row}"
        );
        let cpu = row["server_cpu_ms_per_request"].as_f64().unwrap();
        assert!(cpu > 0.0, "{row}");
    }
}

struct Nginx {
    url: String,
    child: Child,
}

impl Nginx {
    /// On a port that was free a moment ago; another is tried where it is taken meanwhile.
    fn start(folder: &Path, format: &str) -> Option<Nginx> {
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
                .port();
            let text = format!(
                "daemon off;\nmaster_process on;\nworker_processes 1;\npid nginx.pid;\nerror_log stderr warn;\nevents {{}}\nhttp {{\n\
                 log_format ids {format};\naccess_log access.log ids;\nclient_body_temp_path body;\nproxy_temp_path proxy;\n\
                 fastcgi_temp_path fastcgi;\nuwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\nkeepalive_requests 100000;\n\
                 server {{ listen 127.0.0.1:{port}; location / {{ return 200 ok; }} }}\n}}\n"
            );
            std::fs::write(folder.join("nginx.conf"), text).unwrap();
            let mut command = Command::new("nginx");
            command
                .arg("-p")
                .arg(folder)
                .args(["-c", "nginx.conf", "-e", "stderr"]);
            let mut child = command
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .ok()?;
            while child.try_wait().unwrap().is_none() {
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return Some(Nginx {
                        url: format!("http://127.0.0.1:{port}/"),
                        child,
                    });
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        None
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        let _ = self.child.wait();
    }
}
