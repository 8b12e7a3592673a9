//! Requests of a file in turn: URLs of a list, or methods, header fields and bodies of a HAR.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::service::{Service, with_ruby};
use crate::support::{document, run};

/// A HAR of three requests to a service, and one to another origin.
fn har(folder: &Path, url: &str) -> PathBuf {
    let path = folder.join("requests.har");
    let request = |request: Value| json!({ "request": request, "response": {} });
    let har = json!({ "log": { "version": "1.2", "entries": [
        request(json!({ "method": "GET", "url": format!("{url}/list"), "headers": [
            { "name": "Host", "value": "wrong" }, { "name": "X-Kind", "value": "from the HAR" },
            { "name": "Cookie", "value": "session=secret" } ] })),
        request(json!({ "method": "GET", "url": "http://127.0.0.2:1/elsewhere" })),
        request(json!({ "method": "POST", "url": format!("{url}/create"), "headers": [
            { "name": "Content-Type", "value": "application/json" }, { "name": "Content-Length", "value": "999" } ],
            "postData": { "mimeType": "application/json", "text": "{\"name\": \"é\"}" } })),
        request(json!({ "method": "DELETE", "url": format!("{url}/old") })),
    ] } });
    std::fs::write(&path, har.to_string()).unwrap();
    path
}

/// How many requests a service got that begin with this line, and have all of these words.
fn count(service: &Service, begins: &str, words: &[&str]) -> usize {
    let requests = service.requests.lock().unwrap();
    let own = requests
        .iter()
        .filter(|request| request.starts_with(begins));
    own.filter(|request| words.iter().all(|word| request.contains(word)))
        .count()
}

/// Each of the three was sent at least so often, as the HAR says, and nothing else was.
fn assert_mix(service: &Service, least: usize) {
    let get = count(
        service,
        "GET /api/list ",
        &["from the HAR", "session=secret"],
    );
    let post = count(
        service,
        "POST /api/create ",
        &["application/json", "{\"name\": \"é\"}"],
    );
    let delete = count(service, "DELETE /api/old ", &[]);
    let all = service.requests.lock().unwrap().len();
    assert_eq!(
        get + post + delete,
        all,
        "{:?}",
        service.requests.lock().unwrap().first()
    );
    assert!(
        get >= least && post >= least && delete >= least,
        "{get} {post} {delete}"
    );
    assert_eq!(
        count(service, "", &["wrong"]) + count(service, "", &["999"]),
        0
    );
}

#[test]
fn requests_of_a_har_take_turns_with_their_methods_fields_and_bodies() {
    for client in ["net-http", "typhoeus", "hecaton-ruby"] {
        let service = Service::start(|_| 200);
        let folder = tempfile::tempdir().unwrap();
        let har = har(folder.path(), &service.url);
        let line = format!(
            "sweep @{} 60 1 --client {client} -c 3 --quiet --out",
            har.display()
        );
        run(with_ruby(&line).arg(folder.path().join("run"))).assert(0, &[]);
        assert_mix(&service, 20);
        let page = std::fs::read_to_string(folder.path().join("run/report.html")).unwrap();
        assert!(
            page.contains("and 2 requests more in turn (1 of other origins left out)"),
            "{page}"
        );
        for name in ["run.json", "report.html"] {
            let text = std::fs::read_to_string(folder.path().join("run").join(name)).unwrap();
            assert!(!text.contains("session=secret"), "{name}");
        }
    }
}

#[test]
fn header_fields_of_the_command_line_replace_those_of_a_har() {
    let service = Service::start(|_| 200);
    let folder = tempfile::tempdir().unwrap();
    let har = har(folder.path(), &service.url);
    let mut command = with_ruby(&format!(
        "sweep @{} 30 1 --client net-http -c 1 --quiet",
        har.display()
    ));
    command
        .args(["-H", "x-kind: mine", "--out"])
        .arg(folder.path().join("run"));
    run(&mut command).assert(0, &[]);
    assert_eq!(count(&service, "", &["from the HAR"]), 0);
    assert_eq!(
        count(&service, "", &["mine"]),
        service.requests.lock().unwrap().len()
    );
}

#[test]
fn comparisons_and_shootouts_take_urls_and_requests_of_a_file() {
    for is_har in [true, false] {
        for verb in [
            "compare net-http net-http --set keepalive=off --rounds 6",
            "shootout net-http --requests 90 --rounds 6",
        ] {
            let service = Service::start(|_| 200);
            let folder = tempfile::tempdir().unwrap();
            let file = match is_har {
                true => har(folder.path(), &service.url),
                false => {
                    let path = folder.path().join("urls.txt");
                    std::fs::write(&path, format!("{0}/a\n{0}/b\n", service.url)).unwrap();
                    path
                }
            };
            let line = format!("{verb} --url @{} --quiet --out", file.display());
            run(with_ruby(&line).arg(folder.path().join("run"))).assert(0, &[]);
            match is_har {
                true => assert_mix(&service, 15),
                false => {
                    let (a, b) = (
                        count(&service, "GET /api/a ", &[]),
                        count(&service, "GET /api/b ", &[]),
                    );
                    assert_eq!(a + b, service.requests.lock().unwrap().len());
                    assert!(a >= 15 && b >= 15, "{a} {b}");
                }
            }
            let target = &document(&folder.path().join("run"))["plan"]["target"];
            let key = if is_har { "requests_in_turn" } else { "urls" };
            assert_eq!(target[key], if is_har { 3 } else { 2 }, "{target}");
        }
    }
}

/// One of several that take turns may fail: that is a figure. If all fail, the run ends.
#[test]
fn one_url_of_several_that_fails_is_no_end() {
    let service = Service::start(|number| if number % 2 == 0 { 404 } else { 200 });
    let folder = tempfile::tempdir().unwrap();
    let urls = folder.path().join("urls");
    std::fs::write(&urls, format!("{0}/a\n{0}/b\n", service.url)).unwrap();
    let line = format!(
        "sweep @{} 20 1 --client net-http -c 1 --quiet --out",
        urls.display()
    );
    run(with_ruby(&line).arg(folder.path().join("run"))).assert(0, &[]);
    let service = Service::start(|_| 404);
    std::fs::write(&urls, format!("{0}/a\n{0}/b\n", service.url)).unwrap();
    run(with_ruby(&line).arg(folder.path().join("all"))).assert(1, &["responds with status 404"]);
}

#[test]
fn a_har_is_refused_with_a_method_and_for_clients_that_cannot() {
    let service = Service::start(|_| 200);
    let folder = tempfile::tempdir().unwrap();
    let har = har(folder.path(), &service.url);
    let refused = |line: &str, words: &[&str]| {
        let line = line.replace("HAR", &format!("@{}", har.display()));
        run(with_ruby(&line).arg("--out").arg(folder.path().join("run"))).assert(2, words);
    };
    refused(
        "sweep POST HAR 10 1 -c 2 --client net-http --quiet",
        &["leave a method out"],
    );
    refused(
        "sweep HAR 10 1 -c 2 --client net-http --data x --quiet",
        &["leave --data out"],
    );
    refused(
        "sweep HAR 10 1 -c 2 --client excon --quiet",
        &["excon cannot send the requests of a HAR"],
    );
    std::fs::write(&har, "{}").unwrap();
    refused(
        "sweep HAR 10 1 -c 2 --client net-http --quiet",
        &["not a HAR"],
    );
}
