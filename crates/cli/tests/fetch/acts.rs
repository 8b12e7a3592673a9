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
