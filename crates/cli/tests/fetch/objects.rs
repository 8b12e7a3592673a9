//! Object storage, tried on a server of S3: moto, which `bin/setup fetch` installs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{World, ending};

/// A server with the bucket `bucket`.
struct S3 {
    server: Child,
    address: String,
}

impl S3 {
    /// None where there is no server, which the test then says.
    fn start() -> Option<S3> {
        let installed =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fetch-peers/bin/moto_server");
        let program = match installed.exists() {
            true => installed,
            false => "moto_server".into(),
        };
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", "0"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let Ok(mut server) = command.spawn() else {
            println!("no moto_server: `bin/setup fetch` installs it; this test tried nothing");
            return None;
        };
        let said = BufReader::new(server.stderr.take()?);
        let mut lines = said.lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let (_, address) = line.split_once("Running on http://")?;
            Some(address.trim().to_owned())
        });
        // The server must not be stopped by a full pipe.
        std::thread::spawn(move || lines.count());
        let address = address.expect("the server names its address");
        let s3 = S3 { server, address };
        s3.put("/bucket", "");
        Some(s3)
    }

    /// Writes an object, without a signature.
    fn put(&self, path: &str, body: &str) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: s3.amazonaws.com\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        assert!(response.contains(" 200 "), "{response}");
    }

    /// Has a command use the server.
    fn with<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let settings = [
            ("AWS_ENDPOINT_URL", &*format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "us-east-1"),
        ];
        command.envs(settings)
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn a_list_is_read_from_a_bucket_in_pieces() {
    let Some(s3) = S3::start() else { return };
    let world = World::new();
    let base = world.server.base_url();
    // Longer than a piece: the same ten requests, each with a comment behind it.
    let filler = "f".repeat(100_000);
    let lines = (0..100).map(|id| format!("{base}/r/{}#{filler}{id}\n", id % 10));
    s3.put("/bucket/lists/urls.txt", &lines.collect::<String>());
    let list = Path::new("s3://bucket/lists/urls.txt");
    for _ in 0..2 {
        let ended = ending(s3.with(&mut world.fetch(list, &[])));
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
        assert_eq!(world.records().len(), 100);
        assert_eq!(world.server.summary().requests, 10);
    }
    let other = World::new();
    let missing = Path::new("s3://bucket/lists/none.txt");
    let ended = ending(s3.with(&mut other.fetch(missing, &[])));
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("no such object"), "{}", ended.stderr);
}
