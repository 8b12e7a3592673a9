//! A request that acts is sent once where nobody may send it again, wherever redirects lead it.

use std::net::TcpListener;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::scripted_server::{Came, Scripted, Sent, good, response};
use crate::support::{World, end_of, ending, hecaton, until};

const POST: [&str; 4] = ["-X", "POST", "--redirects-to", "any"];

/// A server that redirects everything to this URL, and a list of one of its URLs.
fn leading(world: &World, status: u16, to: String) -> (Scripted, std::path::PathBuf) {
    let server = Scripted::start(move |_, _| response(status, &format!("Location: {to}\r\n"), ""));
    let list = world.write("urls.txt", std::iter::once(server.url("/order")));
    (server, list)
}

fn again(world: &World, condition: &str) -> std::process::Command {
    let mut again = hecaton(&["fetch", "again", "--where", condition]);
    again.arg(world.out());
    again
}

fn methods(server: &Scripted) -> Vec<String> {
    let came = server.came().into_iter();
    came.map(|came| came.method).collect()
}

#[test]
fn a_post_whose_key_stayed_behind_is_not_sent_again() {
    let world = World::new();
    let end = Scripted::start(|_, _| Sent::Closed(Vec::new()));
    let (start, list) = leading(&world, 308, end.url("/act"));
    world.run_to(3, &list, &[&POST[..], &["--idempotency-key"]].concat());
    let (first, second) = (start.came(), end.came());
    let has_key = |came: &Came| {
        let mut names = came.headers.iter();
        names.any(|field| field.starts_with("Idempotency-Key:"))
    };
    assert!(has_key(&first[0]) && !has_key(&second[0]));
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_eq!(world.records()[&0]["outcome"], "unknown");
}

#[test]
fn a_post_whose_key_stayed_behind_is_not_sent_again_after_a_kill() {
    let world = World::new();
    let end = Scripted::start(|_, before| match before {
        0 => Sent::Kept(Vec::new()),
        _ => good(),
    });
    let (_start, list) = leading(&world, 308, end.url("/act"));
    let arguments = [&POST[..], &["--idempotency-key"]].concat();
    let child = world.fetch(&list, &arguments).spawn().unwrap();
    until(|| end.count("/act") == 1);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL).unwrap();
    end_of(child);
    world.run_to(3, &list, &arguments);
    assert_eq!(end.count("/act"), 1);
    assert_eq!(world.records()[&0]["outcome"], "unknown");
}

#[test]
fn what_became_a_get_is_tried_again() {
    let world = World::new();
    let end = Scripted::start(|_, before| match before {
        0 => Sent::Closed(Vec::new()),
        _ => good(),
    });
    let (start, list) = leading(&world, 303, end.url("/receipt"));
    world.run(&list, &POST);
    assert_eq!(world.records()[&0]["ok"], true);
    assert_eq!(
        (methods(&start), methods(&end)),
        (vec!["POST".into()], vec!["GET".into(); 2])
    );
}

#[test]
fn a_post_whose_receipt_is_not_there_is_not_sent_again() {
    let silent = Scripted::start(|_, _| Sent::Closed(Vec::new()));
    let cut =
        Scripted::start(|_, _| Sent::Closed(b"HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\n".into()));
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|nobody| nobody.local_addr());
    let nobody = nobody.unwrap();
    for (to, arguments, outcome) in [
        (silent.url("/receipt"), &POST[..], "unknown"),
        (cut.url("/receipt"), &POST, "unknown"),
        (format!("http://{nobody}/receipt"), &POST, "unknown"),
        (silent.url("/elsewhere"), &POST[..2], "response"),
        ("ftp://127.0.0.1/".into(), &POST, "response"),
    ] {
        let world = World::new();
        let (start, list) = leading(&world, 303, to.clone());
        world.run_to(3, &list, arguments);
        let record = &world.records()[&0];
        assert_eq!(record["outcome"], outcome, "{record}");
        assert!(record["why"].is_string(), "{record}");
        ending(hecaton(&["fetch", "again"]).arg(world.out()));
        assert_eq!(start.count("/order"), 1, "{to}");
    }
}

#[test]
fn a_post_whose_result_is_not_good_is_not_sent_again() {
    for (result, other_host) in [
        (404, false),
        (500, false),
        (502, false),
        (500, true),
        (503, false),
        (429, true),
    ] {
        let world = World::new();
        let end = Scripted::start(move |_, _| response(result, "", ""));
        let server = Scripted::start(move |path, _| match path {
            "/order" if other_host => {
                response(303, &format!("Location: {}\r\n", end.url("/result")), "")
            }
            "/order" => response(303, "Location: /result\r\n", ""),
            _ => response(result, "", ""),
        });
        let list = world.write("urls.txt", std::iter::once(server.url("/order")));
        let tries = ["--retries", "0", "--wait-out", "0s"];
        world.run_to(3, &list, &[&POST[..], &tries].concat());
        let record = &world.records()[&0];
        assert_eq!(record["outcome"], "unknown", "{record}");
        assert!(record["why"].is_string(), "{record}");
        ending(hecaton(&["fetch", "again"]).arg(world.out()));
        assert_eq!(server.count("/order"), 1, "{result}");
    }
}

#[test]
fn a_post_whose_result_robots_forbid_is_not_sent_again() {
    let world = World::new();
    let server = Scripted::start(|path, _| match path {
        "/robots.txt" => response(200, "", "User-agent: *\nDisallow: /result\n"),
        "/order" => response(303, "Location: /result\r\n", ""),
        _ => good(),
    });
    let list = world.write("urls.txt", std::iter::once(server.url("/order")));
    world.run_to(3, &list, &[&POST[..], &["--robots"]].concat());
    let record = &world.records()[&0];
    assert_eq!(
        (&record["outcome"], &record["why"]),
        (&"unknown".into(), &"robots".into())
    );
    ending(&mut again(&world, "not ok"));
    assert_eq!(server.count("/order"), 1);
}

#[test]
fn what_is_unknown_is_sent_again_only_by_its_name() {
    let world = World::new();
    let server = Scripted::start(|_, before| match before {
        0 => response(206, "", "part"),
        _ => good(),
    });
    let list = world.write("urls.txt", std::iter::once(server.url("/order")));
    world.run_to(3, &list, &POST);
    let record = &world.records()[&0];
    assert_eq!(
        (&record["outcome"], &record["status"]),
        (&"unknown".into(), &206.into())
    );
    for (condition, left) in [
        ("not ok", true),
        ("status and not ok", true),
        ("outcome != 'response'", true),
        ("status == 404", false),
    ] {
        let said = ending(&mut again(&world, condition)).stderr;
        assert_eq!(said.contains("1 input is left"), left, "{said}");
        assert!(said.contains("--where \"outcome == 'unknown'\""), "{said}");
        assert_eq!(server.count("/order"), 1, "{condition}");
    }
    let all = ["fetch", "again", "--if-changed"];
    let said = ending(hecaton(&all).arg(world.out())).stderr;
    assert!(said.contains("1 input is left"), "{said}");
    assert_eq!(server.count("/order"), 1);
    ending(&mut again(&world, "outcome == 'unknown'"));
    assert_eq!(server.count("/order"), 2);
    assert_eq!(world.records()[&0]["ok"], true);
}

#[test]
fn a_redirect_of_a_post_is_its_response_with_and_without_a_key() {
    for (status, to) in [
        (301, "/moved"),
        (302, "/moved"),
        (303, "http://other.localhost:1/result"),
    ] {
        for key in [&[][..], &["--idempotency-key"]] {
            let world = World::new();
            let (_server, list) = leading(&world, status, to.to_owned());
            world.run_to(3, &list, &[&POST[..2], key].concat());
            let record = &world.records()[&0];
            assert_eq!(
                (&record["outcome"], &record["status"]),
                (&"response".into(), &status.into()),
                "{record}"
            );
            assert!(record["why"].is_string(), "{record}");
            assert!(record["location"].is_string(), "{record}");
        }
    }
}

#[test]
fn a_post_whose_response_is_of_no_use_is_not_sent_again() {
    let world = World::new();
    let server = Scripted::start(|_, _| response(200, "", &"x".repeat(100)));
    let list = world.write("urls.txt", std::iter::once(server.url("/order")));
    world.run_to(
        3,
        &list,
        &[&POST[..], &["--max-body", "10", "--keep-body", "files"]].concat(),
    );
    assert_eq!(world.records()[&0]["outcome"], "unknown");
    ending(hecaton(&["fetch", "again"]).arg(world.out()));
    assert_eq!(server.count("/order"), 1);
}
