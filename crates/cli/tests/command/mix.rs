//! URLs of a file that take turns.

use crate::service::{Service, with_ruby};
use crate::support::{document, run};

/// How many requests a service got that begin with this line.
fn count(service: &Service, begins: &str) -> usize {
    let requests = service.requests();
    let own = requests.iter();
    own.filter(|request| request.starts_with(begins)).count()
}

#[test]
fn comparisons_and_shootouts_take_urls_of_a_file() {
    for verb in [
        "compare net-http net-http --set keepalive=off --rounds 6",
        "shootout net-http --requests 90 --rounds 6",
    ] {
        let service = Service::start(|_| 200);
        let folder = tempfile::tempdir().unwrap();
        let urls = folder.path().join("urls.txt");
        std::fs::write(&urls, format!("{0}/a\n{0}/b\n", service.url)).unwrap();
        let line = format!("{verb} --url @{} --quiet --out", urls.display());
        run(with_ruby(&line).arg(folder.path().join("run"))).assert(0, &[]);
        let (a, b) = (
            count(&service, "GET /api/a "),
            count(&service, "GET /api/b "),
        );
        assert_eq!(a + b, service.requests().len());
        assert!(a >= 15 && b >= 15, "{a} {b}");
        let target = &document(&folder.path().join("run"))["plan"]["target"];
        assert_eq!(target["urls"], 2, "{target}");
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
