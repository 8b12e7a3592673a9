//! The loader's end of the driver protocol.

use std::io::{self, BufRead, Write};

use serde::Deserialize;
use serde_json::{Value, json};

use super::loader::Loader;
use crate::run::{Claim, Go, PROTO, Prepare};
use crate::spec::BASELINE_LOADER;

/// Most connections that the loader opens.
const MAX_CONCURRENCY: usize = 50_000;

/// The parts of a command that every command has.
#[derive(Deserialize)]
struct Command {
    id: u64,
    cmd: String,
}

/// Why a command failed: the kind of the error, and a message.
type Refusal = (&'static str, String);

/// Replies to commands until `bye` or the end of the input.
///
/// # Errors
/// When the response cannot be written.
pub fn serve(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut loader = None;
    for line in input.lines() {
        let line = line?;
        let requested: Command = match serde_json::from_str(&line) {
            Ok(requested) => requested,
            Err(error) => {
                let response = json!({"id": 0, "ok": false, "error": "bad_request", "what": error.to_string()});
                writeln!(output, "{response}")?;
                output.flush()?;
                continue;
            }
        };
        let mut response = match reply_to(&requested.cmd, &line, &mut loader) {
            Ok(response) => response,
            Err((error, what)) => json!({"ok": false, "error": error, "what": what}),
        };
        response["id"] = requested.id.into();
        writeln!(output, "{response}")?;
        output.flush()?;
        if requested.cmd == "bye" {
            break;
        }
    }
    Ok(())
}

fn reply_to(cmd: &str, line: &str, loader: &mut Option<Loader>) -> Result<Value, Refusal> {
    match cmd {
        "hello" => Ok(hello()),
        "prepare" => {
            *loader = None; // the old connections close before new ones are opened
            *loader =
                Some(Loader::new(&read::<Prepare>(line)?).map_err(|what| ("unsupported", what))?);
            Ok(json!({"ok": true}))
        }
        "go" => {
            let loader = loader
                .as_mut()
                .ok_or(("bad_request", "go without prepare".to_string()))?;
            let claim = loader
                .go(read::<Go>(line)?)
                .map_err(|error| ("failed", error.to_string()))?;
            Ok(reply(&claim))
        }
        "bye" => Ok(json!({"ok": true})),
        _ => Err(("unsupported", format!("cmd={cmd}"))),
    }
}

fn read<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, Refusal> {
    serde_json::from_str(line).map_err(|error| ("bad_request", error.to_string()))
}

fn hello() -> Value {
    json!({
        "ok": true, "proto": PROTO, "name": BASELINE_LOADER, "version": env!("CARGO_PKG_VERSION"), "runtime": "native code",
        "engine": "mio", "http": ["1.1"], "tls": false, "models": ["events"], "keepalive": [true, false],
        "retries": "off", "max_concurrency": MAX_CONCURRENCY, "cores": 1, "verify": ["tail", "none"], "sends": ["fields", "body"], "paces": ["rate"],
        "methods": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    })
}

fn reply(claim: &Claim) -> Value {
    json!({
        "ok": true, "done": claim.done, "errors": claim.errors, "errors_by": claim.errors_by, "bytes": claim.bytes,
        "sum": claim.sum, "lat_us": claim.latencies_us,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converse(lines: &str) -> Vec<Value> {
        let mut output = Vec::new();
        serve(lines.as_bytes(), &mut output).unwrap();
        output
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    #[test]
    fn says_hello_refuses_what_it_does_not_know_and_ends_on_bye() {
        let responses = converse(
            "{\"id\":1,\"cmd\":\"hello\",\"proto\":1}\n{\"id\":2,\"cmd\":\"unknown_command\"}\n{\"id\":3,\"cmd\":\"go\",\"first\":1}\n\
             nonsense\n{\"id\":5,\"cmd\":\"bye\"}\n{\"id\":6,\"cmd\":\"hello\",\"proto\":1}\n",
        );
        assert_eq!(responses.len(), 5);
        assert_eq!(
            (responses[0]["id"].as_u64(), responses[0]["name"].as_str()),
            (Some(1), Some(BASELINE_LOADER))
        );
        assert_eq!(responses[1]["error"], "unsupported");
        assert_eq!(responses[2]["error"], "bad_request");
        assert_eq!(responses[3]["error"], "bad_request");
        assert_eq!(responses[4], json!({"id": 5, "ok": true}));
    }

    #[test]
    fn refuses_https() {
        let responses = converse(
            "{\"id\":1,\"cmd\":\"prepare\",\"method\":\"GET\",\"url\":\"https://127.0.0.1/\",\"append_id\":false,\
             \"concurrency\":1,\"keepalive\":true,\"verify\":\"none\",\"timeout_ms\":100}\n",
        );
        assert_eq!(responses[0]["error"], "unsupported");
    }
}
