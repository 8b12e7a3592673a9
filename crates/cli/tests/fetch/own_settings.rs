//! Settings of single hosts: `--hosts`.

use std::path::Path;

use serde_json::Value;

use crate::support::{Ending, World, ending};

/// Writes a file of settings.
pub fn hosts(world: &World, text: &str) -> String {
    let path = world.path("hosts.toml");
    std::fs::write(&path, text.replace("PORT", &world.port())).unwrap();
    path.to_str().unwrap().to_owned()
}

fn run_with_secrets(world: &World, list: &Path, arguments: &[&str]) -> Ending {
    let mut command = world.fetch(list, arguments);
    command.env("KEY_A", "hidden").env("LOGIN_A", "joe:secret");
    ending(&mut command)
}

/// The request that the server received, as its echo says.
fn echo(record: &Value) -> String {
    let body = record["body"]["text"].as_str();
    body.unwrap_or_else(|| panic!("{record}"))
        .to_ascii_lowercase()
}

#[test]
fn a_host_has_its_own_headers_and_credentials_and_no_redirect_borrows_them() {
    let world = World::new();
    let port = world.port();
    let file = hosts(
        &world,
        r#"
            ["a.localhost:PORT"]
            headers = ["X-Shop: own", "X-Api-Key: env:KEY_A"]
            auth = "env:LOGIN_A"
            ["*.localhost:PORT"]
            headers = ["X-Shop: zone"]
        "#,
    );
    let to = format!("http%3A%2F%2Fa.localhost%3A{port}%2Fecho");
    let urls = [
        format!("http://a.localhost:{port}/echo"),
        format!("http://b.localhost:{port}/echo"),
        format!("http://127.0.0.1:{port}/echo"),
        format!("http://b.localhost:{port}/redirect/302/1?to={to}"),
    ];
    let list = world.write("urls.txt", urls.into_iter());
    let mut arguments = vec![
        "--hosts",
        &file,
        "-H",
        "X-Shop: job",
        "-H",
        "Accept: text/all",
    ];
    arguments.extend(["--keep-body", "inline", "--redirects-to", "any"]);
    let ended = run_with_secrets(&world, &list, &arguments);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let records = world.records();
    // "joe:secret" in Base64.
    let credentials = "am9lonnly3jlda==";
    for (number, shop, is_own) in [
        (0, Some("own"), true),
        (1, Some("zone"), false),
        (2, Some("job"), false),
        (3, None, false),
    ] {
        let echo = echo(&records[&number]);
        assert!(echo.contains("text/all"), "{number}: {echo}");
        for value in ["own", "zone", "job"] {
            let is_there = echo.contains(&format!("\"{value}\""));
            assert_eq!(is_there, shop == Some(value), "{number}: {value} in {echo}");
        }
        assert_eq!(echo.contains("hidden"), is_own, "{number}: {echo}");
        assert_eq!(echo.contains(credentials), is_own, "{number}: {echo}");
    }
    let job = std::fs::read_to_string(world.out().join("job.toml")).unwrap();
    assert!(
        !job.contains("hidden") && job.contains("env:KEY_A"),
        "{job}"
    );
    // Other credentials make other records.
    let other = hosts(&world, "[\"a.localhost:PORT\"]\nauth = \"env:KEY_A\"\n");
    let refused = run_with_secrets(&world, &list, &["--hosts", &other]);
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("credentials of hosts"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_host_has_its_own_limits() {
    let (world, other) = (World::new(), World::new());
    let bases = [&world, &other].map(|world| world.server.base_url().to_owned());
    let lines = (0..60).flat_map(|n| bases.clone().map(|base| format!("{base}/delay/5?{n}")));
    let list = world.write("urls.txt", lines);
    let file = hosts(&world, "[\"127.0.0.1:PORT\"]\nper_host = 2\nrate = 500\n");
    // Parts of ten are shards, of which there may be only two.
    world.run(
        &list,
        &["--hosts", &file, "--per-host", "5", "--part-size", "10"],
    );
    assert_eq!(world.records().len(), 120);
    assert_eq!(world.server.summary().peak_in_flight, 2);
    assert_eq!(other.server.summary().peak_in_flight, 5);
}

#[test]
fn a_host_with_a_rate_of_its_own_needs_no_other() {
    let world = World::new();
    let port = world.port();
    let urls = (0..20).map(|n| format!("http://shop.example:{port}/r/{n}"));
    let list = world.write("urls.txt", urls);
    let known = format!("shop.example:{port}:127.0.0.1");
    let refused = world.run_to(2, &list, &["--resolve", &known]);
    assert!(refused.stderr.contains("--rate"), "{}", refused.stderr);
    let file = hosts(&world, "[\"*.example:PORT\"]\nrate = 200\n");
    world.run(&list, &["--resolve", &known, "--hosts", &file]);
    assert_eq!(world.server.summary().requests, 20);
}

#[test]
fn a_file_that_cannot_be_used_is_refused_with_its_line() {
    let world = World::new();
    let list = world.list(0..3);
    for (text, word) in [
        ("[\"a.example\"]\nrat = 5\n", "hosts.toml: line 2"),
        ("[\"http://a.example\"]\nrate = 5\n", "is not a host"),
        (
            "[\"a.example\"]\nrate = -5\n",
            "hosts.\"a.example\": rate is -5",
        ),
        ("[\"a.example\"]\nper_host = 0\n", "per_host is 0"),
        ("[\"a.example\"]\nauth = \"joe:secret\"\n", "env:NAME"),
        (
            "[\"a.example\"]\nbearer = \"env:NOT_SET_ANYWHERE\"\n",
            "NOT_SET_ANYWHERE",
        ),
        (
            "[\"a.example\"]\nproxy = \"localhost\"\n",
            "proxy is not a URL",
        ),
    ] {
        let file = hosts(&world, text);
        let refused = world.run_to(2, &list, &["--hosts", &file]);
        assert!(refused.stderr.contains(word), "{text}: {}", refused.stderr);
        assert!(!refused.stderr.contains("joe:secret"), "{}", refused.stderr);
    }
    assert_eq!(world.server.summary().requests, 0);
}
